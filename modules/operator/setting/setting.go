// Package setting holds the one way in which the program reports that it cannot start: which setting,
// what was found, what to do.
//
// It guarantees that such a message is a single line. It does not recognise secrets: code that builds an
// Error must not put one into it. Used by options (what the user typed) and discovery (what the
// Linode API returns for it); read by cmd/controller, which prints it and exits.
package setting

import "strings"

// Error is the reason why the program cannot start.
type Error struct {
	Name  string // the setting as the user writes it, an environment variable mostly
	Found string // what was found, without secrets
	Fix   string // what the user can do about it
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
