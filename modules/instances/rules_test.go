package instances

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is a row of the table in README.md: the names in code type.
type rule struct {
	text                string
	code, tests, mutant []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// rules reads the table.
func rules(t *testing.T) []rule {
	t.Helper()
	page := readFile(t, "README.md")
	_, section, found := strings.Cut(page, "| rule | in the code | test | mutant |\n")
	if !found {
		t.Fatal("README.md has no table of rules")
	}
	var all []rule
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			break
		}
		if strings.HasPrefix(cells[1], "-") {
			continue
		}
		var parts [][]string
		for _, cell := range cells[2:5] {
			var names []string
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				names = append(names, m[1])
			}
			parts = append(parts, names)
		}
		all = append(all, rule{text: cells[1], code: parts[0], tests: parts[1], mutant: parts[2]})
	}
	return all
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The table names code, tests and mutants that exist. If a mutant names the test that must fail for it, this test is in the mutant's row.
func TestEveryRuleHasItsCodeItsTestAndItsMutant(t *testing.T) {
	all := rules(t)
	if len(all) < 12 {
		t.Fatalf("%d rules were found", len(all))
	}
	tests, mutants := testsHere(t), mutantsHere(t)
	for _, r := range all {
		if len(r.code) < 2 || len(r.code)%2 != 0 || len(r.tests) == 0 || len(r.mutant) == 0 {
			t.Errorf("a row lacks its code, test or mutant: %+v", r)
			continue
		}
		for pair := range slices.Chunk(r.code, 2) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + pair[1] + `\(`).MatchString(readFile(t, fileOf(pair[0]))) {
				t.Errorf("%s has no function %s", pair[0], pair[1])
			}
		}
		for _, name := range r.tests {
			if !tests[name] {
				t.Errorf("there is no test %s", name)
			}
		}
		for _, name := range r.mutant {
			by, exists := mutants[name]
			switch {
			case !exists:
				t.Errorf("there is no mutant %q", name)
			case by == "" && !slices.Contains(r.tests, "TestSchedules"):
				t.Errorf("the mutant %q names no test, and its row not TestSchedules", name)
			case by != "" && !slices.Contains(r.tests, by):
				t.Errorf("the mutant %q is red by %s, which its row does not name", name, by)
			}
		}
	}
}

// fileOf returns the path of a file that the table names: all its packages but linodeapi
// are the engine's.
func fileOf(name string) string {
	if strings.Contains(name, "/") && !strings.HasPrefix(name, "linodeapi/") {
		return "internal/core/" + name
	}
	return name
}

// testsHere are the tests of the module.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "internal/core/*_test.go", "internal/core/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(readFile(t, file), -1) {
				tests[m[1]] = true
			}
		}
	}
	return tests
}

// mutantsHere are the mutants of testdata/mutants.yaml, with the test that each names.
func mutantsHere(t *testing.T) map[string]string {
	t.Helper()
	mutants := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  - name: (.+)\n(?:    by: (\w+)\n)?`).FindAllStringSubmatch(readFile(t,
		"testdata/mutants.yaml"), -1) {
		mutants[m[1]] = m[2]
	}
	if len(mutants) < 50 || !slices.ContainsFunc(slices.Collect(maps.Values(mutants)), func(by string) bool { return by != "" }) {
		t.Fatalf("%d mutants were found", len(mutants))
	}
	return mutants
}
