package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linkedGroups lets a simulated go command link the end-to-end tests: the program is the command itself.
const linkedGroups = `
case "$1 $2" in
"test -c") exec ln "$0" "$5" ;;
"tool test2json") shift 5; exec "$@" ;;
esac
`

// listingGo stands in for the go command: it lists six packages of a module, and `go test` writes down the packages and end-to-end tests
// that it is given.
const listingGo = `#!/bin/sh` + linkedGroups + `
if [ "$1" = list ]; then
	case $PWD in
	*/tools) for p in ci docs localcluster e2e; do echo example.com/tools/$p; done ;;
	*) for p in a b c d e f; do echo example.com/modules/claims/$p; done ;;
	esac
	exit
fi
for word; do
	case $word in
	example.com/*) echo "$word" >>"$RAN" ;;
	./docs) echo pages >>"$RAN" ;;
	"^("* | "^TestGroup"*) echo "$word" | tr -d '^()$' | tr '|' '\n' >>"$RAN" ;;
	esac
done
`

// The parts of a circle are the circle: nothing is left out, and nothing but what another circle has runs twice.
func TestThePartsAreTheWhole(t *testing.T) {
	root := withSuites(t, map[string]string{
		"bin/go": listingGo,
		"tools/e2e/suites_test.go": strings.Join([]string{"func TestA(t *testing.T) {", "func TestBurst(t *testing.T) {",
			"func TestGroupA(t *testing.T) {", "func TestGroupB(t *testing.T) {", "func TestMain(m *testing.M) {",
			"func TestMatrix(t *testing.T) {", ""}, "\n"),
	})
	ran := func(circle, part string) []string {
		file := filepath.Join(t.TempDir(), "ran")
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "tools/make/suites.sh"), "modules/claims", "tools")
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"), "RAN="+file, "CPU=",
			"CIRCLE="+circle, "PART="+part)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", circle, part, err, out)
		}
		content, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		lines := strings.Fields(string(content))
		slices.Sort(lines)
		return lines
	}
	for circle, has := range map[string][]string{"shared": {"TestGroupA", "TestGroupB", "pages"}, "deep": {"TestA", "TestBurst", "pages"}} {
		whole := ran(circle, "1/1")
		parts := slices.Concat(ran(circle, "1/3"), ran(circle, "2/3"), ran(circle, "3/3"))
		slices.Sort(parts)
		if !slices.Equal(parts, whole) {
			t.Errorf("%s: the parts have %v, the whole %v", circle, parts, whole)
		}
		for _, name := range append(has, "example.com/modules/claims/a", "example.com/modules/claims/f") {
			if !slices.Contains(whole, name) {
				t.Errorf("%s lacks %s: %v", circle, name, whole)
			}
		}
		if len(slices.Compact(slices.Clone(whole))) != len(whole) {
			t.Errorf("%s runs a thing twice: %v", circle, whole)
		}
	}
}
