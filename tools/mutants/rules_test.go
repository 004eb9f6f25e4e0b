package mutants_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/mutants"
)

// rule is a row of the table of an engine's rules: the names in code type.
type rule struct {
	text                 string
	code, tests, mutants []string
}

// The table of an engine's rules names code, tests and mutants that exist. If a mutant names the test that must fail for it, this test is
// in the mutant's row. A complete table has every mutant; in the others a mutant that names no test is red by random schedules.
func TestTheTablesOfRulesHold(t *testing.T) {
	for page, of := range map[string]struct {
		least    int
		complete bool
	}{
		"lkepool/RULES.md":    {17, true},
		"instances/README.md": {12, false},
	} {
		t.Run(page, func(t *testing.T) {
			module := filepath.Join("..", "..", "modules", filepath.Dir(filepath.FromSlash(page)))
			list, err := mutants.Load(module)
			if err != nil {
				t.Fatal(err)
			}
			by, used := map[string]string{}, map[string]bool{}
			for _, m := range list.Mutants {
				by[m.Name] = m.By
			}
			tests, all := testsOf(t, module), rulesOf(t, filepath.Join(module, filepath.Base(page)))
			if len(all) < of.least {
				t.Errorf("%d rules were found, and there are %d at least", len(all), of.least)
			}
			for _, r := range all {
				r.check(t, module, tests, by, of.complete)
				for _, name := range r.mutants {
					used[name] = true
				}
			}
			for name := range by {
				if of.complete && !used[name] {
					t.Errorf("the mutant %q breaks no rule of the table", name)
				}
			}
		})
	}
}

func (r rule) check(t *testing.T, module string, tests map[string]bool, by map[string]string, complete bool) {
	if len(r.code) < 2 || len(r.code)%2 != 0 || len(r.tests) == 0 || len(r.mutants) == 0 {
		t.Errorf("%s: code, tests or mutants are missing: %q", r.text, r)
	}
	for pair := range slices.Chunk(r.code, 2) {
		file := filepath.Join(module, pair[0])
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(module, "internal/core", pair[0])
		}
		if len(pair) == 2 && !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+pair[1]+`[\[(]`).MatchString(read(t, file)) {
			t.Errorf("%s has no function %s", pair[0], pair[1])
		}
	}
	for _, name := range r.tests {
		if !tests[name] {
			t.Errorf("there is no test or situation %s", name)
		}
	}
	for _, name := range r.mutants {
		switch named, exists := by[name]; {
		case !exists:
			t.Errorf("there is no mutant %q", name)
		case named == "" && !complete && !slices.Contains(r.tests, "TestSchedules"):
			t.Errorf("the mutant %q names no test, and its row not TestSchedules", name)
		case named != "" && named != "TestSituations" && !slices.Contains(r.tests, named):
			t.Errorf("the mutant %q is red by %s, which its row does not name", name, named)
		}
	}
}

// rulesOf reads the table of a page.
func rulesOf(t *testing.T, page string) []rule {
	t.Helper()
	_, section, found := strings.Cut(read(t, page), "| rule | in the code | test | mutant |\n")
	if !found {
		t.Fatalf("%s has no table of rules", page)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	var all []rule
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			break
		}
		if strings.HasPrefix(cells[1], "-") {
			continue
		}
		var parts [3][]string
		for i, cell := range cells[2:5] {
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				parts[i] = append(parts[i], m[1])
			}
		}
		all = append(all, rule{cells[1], parts[0], parts[1], parts[2]})
	}
	return all
}

// testsOf returns the tests of an engine's module and of module claims, and the situations by the names of their files.
func testsOf(t *testing.T, module string) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, dir := range []string{module, filepath.Join(module, "..", "claims")} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case strings.HasSuffix(path, "_test.go"):
				for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
					tests[m[1]] = true
				}
			case filepath.Base(filepath.Dir(path)) == "situations":
				tests[strings.TrimSuffix(filepath.Base(path), ".txt")] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tests
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
