package options

import "strings"

// Error is the reason why the program cannot start: the setting, the problem and the cure. Its message is a single line. It does not
// recognise secrets, so code that makes an Error must not put a secret into it.
type Error struct {
	Name  string // the setting as the user writes it, mostly an environment variable
	Found string // the problem, without secrets
	Fix   string // the cure
	Err   error  // the cause, if there is one; it is part of the message
}

// Error returns one line: "NAME: found (cause); fix".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Name + ": " + e.Found)
	if e.Err != nil {
		b.WriteString(" (" + e.Err.Error() + ")")
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FixKubernetes is the Fix of an Error about the Kubernetes cluster.
const FixKubernetes = "check that the API server answers, and the kubeconfig or ServiceAccount"
