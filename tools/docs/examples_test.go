package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The program on the page of a module is its Example, whose output `go test`
// compares.
func TestTheProgramsOfModulesAreTheirExamples(t *testing.T) {
	for _, module := range []string{"lkepool", "instances"} {
		t.Run(module, func(t *testing.T) {
			between := func(file, begin, end string) string {
				t.Helper()
				text, err := os.ReadFile(filepath.Join("..", "..", "modules", module, file))
				if err != nil {
					t.Fatal(err)
				}
				_, rest, begins := strings.Cut(string(text), begin)
				part, _, ends := strings.Cut(rest, end)
				if !begins || !ends {
					t.Fatalf("%s has no %q ... %q", file, begin, end)
				}
				return strings.TrimSpace(part)
			}
			page := between("README.md", "\nfunc main() {\n", "\n}\n```")
			if example := between("example_test.go", "\nfunc Example() {\n", "\n\t// Output:"); page != example {
				t.Errorf("README.md has\n%s\nthe Example\n%s", page, example)
			}
			output := strings.ReplaceAll(between("example_test.go", "// Output:\n", "\n}"), "\t// ", "")
			if page := between("README.md", "\nIt prints:\n\n```\n", "\n```"); page != strings.TrimPrefix(output, "// ") {
				t.Errorf("README.md prints\n%s\nthe Example\n%s", page, output)
			}
		})
	}
}

// The README of each library names each module that a program needs beside it: `go mod tidy` reads the tests of a module, too.
func TestReadmesOfLibrariesNameTheModulesThatTheyNeed(t *testing.T) {
	replaced := regexp.MustCompile(`(?m)^(?:replace )?\s*github\.com/karpenter-linode/karpenter-linode/modules/([a-z]+) => (?:\.\./|\.\./karpenter-linode/modules/)([a-z]+)$`)
	for _, module := range []string{"claims", "clusterapi", "instances", "linode", "linodesim", "lkepool", "nodeclass"} {
		needed, named := []string{module}, []string(nil)
		for _, m := range replaced.FindAllStringSubmatch(read(t, "modules/"+module+"/go.mod"), -1) {
			needed = append(needed, m[1])
		}
		for _, m := range replaced.FindAllStringSubmatch(read(t, "modules/"+module+"/README.md"), -1) {
			if m[1] != m[2] {
				t.Errorf("%s/README.md: %s", module, m[0])
			}
			named = append(named, m[1])
		}
		slices.Sort(needed)
		slices.Sort(named)
		if !slices.Equal(needed, named) {
			t.Errorf("modules/%s/README.md names %v, needed are %v", module, named, needed)
		}
	}
}

// The first report on the page of whatif is the report of the package's test, without the notes and with another source of the prices.
func TestTheReportOnThePageOfWhatifIsToday(t *testing.T) {
	_, report, found := strings.Cut(read(t, "modules/advisor/whatif/testdata/many.txt"), "\n\n")
	report, _, ends := strings.Cut(report, "\n\nNote: ")
	if !found || !ends || len(report) < 300 {
		t.Fatalf("no report in many.txt: %q", report)
	}
	if page := read(t, "docs/whatif.md"); !strings.Contains(page, "\n\n"+report+"\n```") {
		t.Errorf("docs/whatif.md has another report than\n%s", report)
	}
}
