package docs_test

import (
	"os"
	"path/filepath"
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
