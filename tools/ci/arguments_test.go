package ci_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Each is refused before anything is built, in one line that names the argument and what it can be.
func TestArgumentsOfMakeAreCheckedFirst(t *testing.T) {
	for name, c := range map[string]struct{ verb, env, words string }{
		"the defaults":            {"demo", "", ""},
		"a mode":                  {"demo", "MODE=foo", "demo: MODE=foo: it must be one of lke instance"},
		"a mode to build for":     {"build", "MODE=foo", "build: MODE=foo"},
		"a tier":                  {"up", "TIER=premium", "up: TIER=premium: it must be one of standard enterprise"},
		"a profile":               {"up", "PROFILE=warp", "it must be one of fast realistic slow stale hostile a report of verify, FILE.json"},
		"a report":                {"up", "PROFILE=none.json", "PROFILE=none.json: there is no such file"},
		"a Kubernetes":            {"demo", "KUBERNETES=1.37.2", ""},
		"an old Kubernetes":       {"demo", "KUBERNETES=1.30.1", "demo: KUBERNETES=1.30.1: it must be a release of 1.31 to 1.37, such as 1.37.2"},
		"a Kubernetes of suites":  {"e2e", "KUBERNETES=latest", "e2e: KUBERNETES=latest: it must be a release"},
		"a name":                  {"up", "CLUSTER=My_Cluster", "CLUSTER=My_Cluster: it must be lower case letters"},
		"values":                  {"demo", "VALUES=none.yaml", "demo: VALUES=none.yaml: there is no such file"},
		"pools":                   {"up", "POOLS=g6-standard-2:2:1-4,g6-dedicated-4:1", ""},
		"pools that are none":     {"up", "POOLS=g6-standard-2", "POOLS=g6-standard-2: it must be plan:nodes or plan:nodes:least-most"},
		"pools of no LKE":         {"up", "POOLS=g6-standard-2:1 MODE=instance", "mode instance has no LKE pools"},
		"all suites":              {"e2e", "", ""},
		"a suite":                 {"e2e", "SUITE=trouble TIER=standard", ""},
		"a scenario of a suite":   {"e2e", "SUITE=trouble/labels", ""},
		"a suite of one tier":     {"e2e", "SUITE=kubelets", ""},
		"a suite that is none":    {"e2e", "SUITE=foo", "e2e: SUITE=foo: there is no such suite; there are"},
		"a suite of the other":    {"e2e", "SUITE=drift TIER=standard", "no such suite for tier standard"},
		"a tier of suites":        {"e2e", "SUITE=trouble TIER=gold", "e2e: TIER=gold"},
		"plans without a cluster": {"plans", "CLUSTER=nowhere", "or start a local cluster with make up CLUSTER=nowhere"},
		"plans for a NodePool":    {"plans", "REGIONS=all NODEPOOL=default CLUSTER=nowhere", "plans: set KUBECONFIG"},
		"plans of a cluster":      {"plans", "KUBECONFIG=own.yaml", ""},
		"plans of regions":        {"plans", "REGIONS=us-ord,id-cgk", ""},
		"plans of all regions":    {"plans", "REGIONS=all", ""},
		"a region that is none":   {"plans", "REGIONS=chicago", "REGIONS=chicago: it must be all, or regions such as us-ord"},
		"a NodePool that is none": {"plans", "REGIONS=all NODEPOOL=My_Pool", "it must be the name of a NodePool"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "../make/arguments.sh", c.verb)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, strings.Fields(c.env)...)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (c.words == "") || !strings.Contains(string(out), c.words) || strings.Count(string(out), "\n") > 1 {
				t.Errorf("%v, got %q, want %q", err, out, c.words)
			}
		})
	}
}

// A shell that evaluates the output where nothing was built must not go on with the cluster that kubectl had before.
func TestStatusBeforeAnythingIsBuiltExportsAKubeconfigThatIsNotThere(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "status", "LOCALCLUSTER=.bin/not-built", "CLUSTER=own")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	var hint strings.Builder
	cmd.Stderr = &hint
	out, err := cmd.Output()
	path, exported := strings.CutPrefix(strings.TrimSpace(string(out)), "export KUBECONFIG='")
	if err == nil || !exported || !strings.HasSuffix(path, "/.local/not-running'") || strings.Contains(path, "\n") {
		t.Errorf("%v, printed %q", err, out)
	}
	if _, err := os.Stat(strings.TrimSuffix(path, "'")); err == nil {
		t.Errorf("%s is there", path)
	}
	if !strings.Contains(hint.String(), "make up CLUSTER=own") {
		t.Errorf("the hint is %q", hint.String())
	}
}
