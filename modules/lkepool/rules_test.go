package lkepool_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const engineDir = "internal/core"

// rule is a row of the table in RULES.md: what stands in code type.
type rule struct {
	text                 string
	code, tests, mutants []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// rules reads the table of RULES.md.
func rules(t *testing.T) []rule {
	t.Helper()
	_, section, found := strings.Cut(readFile(t, "RULES.md"), "| rule | in the code | test | mutant |\n")
	if !found {
		t.Fatal("RULES.md has no table of rules")
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
		all = append(all, rule{text: cells[1], code: parts[0], tests: parts[1], mutants: parts[2]})
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

// The table names code, tests and mutants that exist, and has every mutant.
func TestEveryRuleHasItsCodeItsTestAndItsMutant(t *testing.T) {
	all := rules(t)
	if len(all) < 17 {
		t.Fatalf("%d rules were found", len(all))
	}
	tests, mutants := testsHere(t), mutantsHere(t)
	used := map[string]bool{}
	for _, r := range all {
		if len(r.code) < 2 || len(r.code)%2 != 0 || len(r.tests) == 0 || len(r.mutants) == 0 {
			t.Errorf("a row lacks its code, test or mutant: %+v", r)
			continue
		}
		for pair := range slices.Chunk(r.code, 2) {
			file := pair[0]
			if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
				file = engineDir + "/" + file
			}
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + pair[1] + `\(`).MatchString(readFile(t, file)) {
				t.Errorf("%s has no function %s", file, pair[1])
			}
		}
		for _, name := range r.tests {
			if !tests[name] {
				t.Errorf("there is no test or situation %s", name)
			}
		}
		for _, name := range r.mutants {
			if used[name] = true; !slices.Contains(mutants, name) {
				t.Errorf("there is no mutant %q", name)
			}
		}
	}
	for _, name := range mutants {
		if !used[name] {
			t.Errorf("the mutant %q breaks no rule of RULES.md's table", name)
		}
	}
}

// testsHere are the tests of the module and of what it shares with the other engine, and the situations by their files' names.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "internal/*/*_test.go", "internal/*/*/*_test.go", "../claims/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(readFile(t, file), -1) {
				tests[m[1]] = true
			}
		}
	}
	situations, err := filepath.Glob(engineDir + "/testdata/situations/*.txt")
	if err != nil || len(situations) == 0 {
		t.Fatalf("%d situations, %v", len(situations), err)
	}
	for _, file := range situations {
		tests[strings.TrimSuffix(filepath.Base(file), ".txt")] = true
	}
	return tests
}

// mutantsHere are the names of the mutants in testdata/mutants.yaml.
func mutantsHere(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  - name: (.+)$`).FindAllStringSubmatch(readFile(t, "testdata/mutants.yaml"), -1) {
		names = append(names, m[1])
	}
	if len(names) < 60 {
		t.Fatalf("%d mutants were found", len(names))
	}
	return names
}
