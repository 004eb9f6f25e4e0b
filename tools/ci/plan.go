package ci

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Module is one of go.work.
type Module struct {
	Dir      string   // below the repository's root, with slashes
	Requires []string // folders of the siblings that its go.mod replaces
}

// Modules reads go.work and the modules' go.mod.
func Modules(root string) ([]Module, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var all []Module
	for _, use := range work.Use {
		m := Module{Dir: path.Clean(use.Path)}
		if text, err = os.ReadFile(filepath.Join(root, m.Dir, "go.mod")); err != nil {
			return nil, err
		}
		file, err := modfile.Parse(m.Dir+"/go.mod", text, nil)
		if err != nil {
			return nil, err
		}
		for _, replace := range file.Replace {
			if strings.HasPrefix(replace.New.Path, ".") {
				m.Requires = append(m.Requires, path.Join(m.Dir, replace.New.Path))
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// Concerned are the folders of the modules that a change of these files concerns. A page of the
// documentation concerns only tools, whose tests compare it with the code.
func Concerned(modules []Module, files []string) []string {
	changed := map[string]bool{}
	for _, file := range files {
		owner := owner(modules, file)
		if owner == "" {
			return dirs(modules)
		}
		changed[owner] = true
	}
	for again := true; again; {
		again = false
		for _, m := range modules {
			if !changed[m.Dir] && slices.ContainsFunc(m.Requires, func(dir string) bool { return changed[dir] }) {
				changed[m.Dir], again = true, true
			}
		}
	}
	return slices.DeleteFunc(dirs(modules), func(dir string) bool { return !changed[dir] })
}

// owner is the module that a file belongs to; "" = all.
func owner(modules []Module, file string) string {
	for _, m := range modules {
		if strings.HasPrefix(file, m.Dir+"/") {
			return m.Dir
		}
	}
	if strings.HasPrefix(file, "docs/") || strings.HasSuffix(file, ".md") {
		return "tools"
	}
	return ""
}

func dirs(modules []Module) []string {
	var all []string
	for _, m := range modules {
		all = append(all, m.Dir)
	}
	return all
}

// Suite is an end-to-end suite for one tier.
type Suite struct {
	Suite string `json:"suite"`
	Tier  string `json:"tier"`
}

var (
	suite = regexp.MustCompile(`(?m)^func Test([A-Z]\w*)\(t \*testing\.T\)`)
	tiers = []string{"standard", "enterprise"}
)

// Suites finds the test functions in a folder. A name that ends in no tier is a suite that runs
// on the standard tier only.
func Suites(dir string) ([]Suite, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no tests in %s (%w)", dir, err)
	}
	var found []Suite
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, match := range suite.FindAllSubmatch(text, -1) {
			found = append(found, suiteOf(strings.ToLower(string(match[1]))))
		}
	}
	slices.SortFunc(found, func(a, b Suite) int { return strings.Compare(a.Tier+a.Suite, b.Tier+b.Suite) })
	return found, nil
}

func suiteOf(name string) Suite {
	for _, tier := range tiers {
		if short, ok := strings.CutSuffix(name, tier); ok && short != "" {
			return Suite{short, tier}
		}
	}
	return Suite{name, tiers[0]}
}
