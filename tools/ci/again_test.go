package ci_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The simulated go command: `go list` prints a package of each kind, and `go test` the events of a run in which the tests
// that FAILING names fail: "PACKAGE TEST" the first time, "PACKAGE TEST always" each time, "PACKAGE -" the package alone.
const simulatedGo = `#!/bin/sh` + linkedGroups + `
if [ "$1" = list ]; then
	case $PWD in
	*/tools) for p in docs ci localcluster e2e; do echo example.com/tools/$p; done ;;
	*) echo example.com/modules/claims ;;
	esac
	exit
fi
code=0
for package in docs ci localcluster e2e claims; do
	case " $0 $* " in *"/$package "* | *"/$package.test "*) ;; *) continue ;; esac
	case " $* " in *" -run ^(TestBurst)"*) continue ;; esac
	path=example.com/tools/$package
	while read -r at test when; do
		[ "$at" = "$package" ] || continue
		[ ! -e "$SEEN/$package$test" ] || [ "$when" = always ] || continue
		touch "$SEEN/$package$test"
		code=1
		[ "$test" = - ] || printf '{"Action":"fail","Package":"%s","Test":"%s/part"}\n{"Action":"fail","Package":"%s","Test":"%s"}\n' $path $test $path $test
		printf '{"Action":"fail","Package":"%s"}\n' $path
	done <"$FAILING"
done
exit $code
`

// A test that starts clusters may fail once beside others; everything else that fails, fails the run.
func TestOnlyTestsOfClustersRunAgain(t *testing.T) {
	for _, c := range []struct {
		name, failing string
		passes        bool
		again         []string
		circle        string // "" = deep
	}{
		{name: "nothing fails", passes: true},
		{name: "a suite fails once", failing: "e2e TestStorage", passes: true, again: []string{"TestStorage"}},
		{name: "two packages fail once", failing: "e2e TestStorage\nlocalcluster TestStart", passes: true,
			again: []string{"TestStart", "TestStorage"}},
		{name: "a page fails once", failing: "docs TestPages", passes: true, again: []string{"TestPages"}},
		{name: "a group fails once in the shared circle", failing: "e2e TestGroupA", circle: "shared"},
		{name: "nothing fails in the shared circle", passes: true, circle: "shared"},
		{name: "a suite fails twice", failing: "e2e TestStorage always"},
		{name: "a test without clusters fails once", failing: "ci TestPlan"},
		{name: "a package fails and none of its tests", failing: "e2e -"},
		{name: "four suites fail once", failing: "e2e TestA\ne2e TestB\ne2e TestC\ne2e TestD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := withSuites(t, map[string]string{
				"bin/go": simulatedGo, "failing": c.failing + "\n", "seen/none": "",
				"tools/e2e/suites_test.go": "func TestStorage(t *testing.T) {\nfunc TestGroupA(t *testing.T) {\nfunc TestBurst(t *testing.T) {\n",
			})
			cmd := exec.CommandContext(t.Context(), filepath.Join(root, "tools/make/suites.sh"), "modules/claims", "tools")
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"), "AGAIN="+filepath.Join(root, "again"),
				"CIRCLE="+cmp.Or(c.circle, "deep"), "PART=1/1", "CPU=",
				"SEEN="+filepath.Join(root, "seen"), "FAILING="+filepath.Join(root, "failing"))
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.passes {
				t.Errorf("the run ended with %v, want passed=%t:\n%s", err, c.passes, out)
			}
			listed, err := os.ReadFile(filepath.Join(root, "again"))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			for _, name := range c.again {
				if !strings.Contains(string(listed), name+" (") {
					t.Errorf("%s is not listed as run again: %q", name, listed)
				}
			}
			if !c.passes && len(listed) > 0 {
				t.Errorf("listed as passed: %q", listed)
			}
		})
	}
}

// withSuites makes a repository of one module that has tools/make/suites.sh and the files, and returns its root.
func withSuites(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	script, err := os.ReadFile("../make/suites.sh")
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	files["tools/make/suites.sh"], files["modules/claims/go.mod"] = string(script), ""
	for name, content := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
