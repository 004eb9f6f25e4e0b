package follow_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/docs/follow"
)

func TestABlockIsReadAsItsReaderWould(t *testing.T) {
	for name, c := range map[string]struct {
		language, text string
		want           []follow.Step
	}{
		"commands": {"sh", "make up   # wait\n\n# a comment\nkubectl get nodes\n",
			[]follow.Step{{Command: "make up"}, {Command: "kubectl get nodes"}}},
		"two lines": {"sh", "helm install \\\n  --wait\nmake down\n",
			[]follow.Step{{Command: "helm install \\\n  --wait"}, {Command: "make down"}}},
		"output": {"console", "$ make up\ndev: tier standard\nlogs\n$ make down\n",
			[]follow.Step{{"make up", "dev: tier standard\nlogs\n"}, {Command: "make down"}}},
		"quoted":        {"sh", "echo 'a # b'\n", []follow.Step{{Command: "echo 'a # b'"}}},
		"an apostrophe": {"sh", "make logs  # the operator's log\n", []follow.Step{{Command: "make logs"}}},
		"no shell":      {"yaml", "a: b\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := follow.Steps(c.language, c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestOutputIsComparedByItsShape(t *testing.T) {
	const claims = "NAME            TYPE            NODE                            READY   AGE\ndefault-xp8x5   g6-standard-6   " +
		"lke584601-855403-0fa498db0000   True    70s\n"
	for name, c := range map[string]struct {
		shown, printed string
		want           bool
	}{
		"another node": {claims, "NAME            TYPE            NODE                            READY   AGE\ndefault-aaaaa   " +
			"g6-standard-6   lke584601-855404-999999999999   True    2m5s\n\n", true},
		"another plan":   {claims, strings.Replace(claims, "standard-6", "standard-4", 1), false},
		"not ready":      {claims, strings.Replace(claims, "True ", "False", 1), false},
		"one more":       {claims, claims + "default-aaaaa   g6-standard-6   lke584601-855404-999999999999   True    2m5s\n", false},
		"any lines":      {"a\n...\nd\n", "a\nb\nc\nd\n", true},
		"no lines":       {"a\n...\nd\n", "a\nd\n", true},
		"lines before":   {"...\nd\n", "a\nb\nd\n", true},
		"lines after":    {"a\n...\n", "a\nb\nd\n", true},
		"anything":       {"...\n", "a\nb\n", true},
		"part of a line": {"error: ... too few\n", "error: 5 are too few\n", true},
		"another process": {"dev: tier standard, LKE cluster 584601, process 20968\n", "pages: tier standard, LKE cluster 584602, process 1\n",
			true},
		"a folder": {"export KUBECONFIG=.local/dev/state/kubeconfig/admin\n",
			"export KUBECONFIG=/home/me/it/.local/pages/state/kubeconfig/admin\n", true},
		"another tier": {"dev: tier standard, LKE\n", "dev: tier enterprise, LKE\n", false},
		"a token":      {"export LINODE_TOKEN=ABC234\n", "export LINODE_TOKEN=XYZ567\n", true},
		"a number":     {"5 pods\n", "6 pods\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := follow.Matches(c.shown, c.printed); got != c.want {
				t.Errorf("%v, shapes:\n%s\n%s", got, follow.Shape(c.shown), follow.Shape(c.printed))
			}
		})
	}
}

func TestAShellFollowsStepsAndReportsWhatDiffers(t *testing.T) {
	shell, err := follow.Start(t.Context(), t.TempDir(), "GREETING=hello")
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	for _, c := range []struct{ command, shown, problem string }{
		{"export OTHER=world", "", ""},
		{`echo "$GREETING $OTHER"`, "hello world\n", ""},
		{"echo to stderr >&2", "to stderr\n", ""},
		{`printf 'no line end'`, "no line end\n", ""},
		{"echo one", "two\n", "printed:\none"},
		{"ls nowhere", "", "exit status 2"},
		{"cat", "", ""},
	} {
		_, err := shell.Do(t.Context(), follow.Step{Command: c.command, Shown: c.shown})
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", c.command, err, c.problem)
		}
	}
	if _, err := shell.Do(t.Context(), follow.Step{Command: "exit 3"}); err == nil || !strings.Contains(err.Error(), "the shell ended") {
		t.Errorf("a shell that ends: %v", err)
	}
}

func TestOnlyReadingIsRepeated(t *testing.T) {
	for command, want := range map[string]bool{
		"kubectl get nodeclaims": true, "kubectl events --for nodepool/default": true,
		"kubectl --namespace kube-system logs deployment/karpenter": true,
		"make -s status": true, `curl -s "$LINODESIM_ADMIN/audit"`: true,
		"kubectl delete node a": false, "make break NAME=api-down": false, "kubectl apply -f a.yaml": false,
	} {
		if got := (follow.Step{Command: command}).Reads(); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
	if !(follow.Step{Command: "kubectl get nodeclaims --watch"}).Watches() || (follow.Step{Command: "kubectl get nodes"}).Watches() {
		t.Error("which commands go on is wrong")
	}
}
