package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A file or folder that a page names in backticks, below a folder of the repository.
var namedPath = regexp.MustCompile("`((?:modules|tools|charts|openapi|docs)/[A-Za-z0-9_./*-]+)`")

func TestPathsInPagesExist(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, m := range namedPath.FindAllStringSubmatch(p.prose, -1) {
			checked++
			if found, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s", p.path, m[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d paths were found", checked)
	}
}

// The page for readers of the code has at least twenty tasks, each with files: a folder leaves the reader to search.
func TestTasksNameFiles(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/where-to-change.md"), "\n| task | files |\n")
	if !found {
		t.Fatal("docs/where-to-change.md has no table of tasks")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	tasks := 0
	for line := range strings.Lines(table) {
		task, files, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !found || strings.HasPrefix(line, "|--") {
			continue
		}
		tasks++
		named := 0
		for _, m := range quoted.FindAllStringSubmatch(files, -1) {
			if !strings.Contains(m[1], ".") {
				continue
			}
			named++
			if found, err := os.Stat(filepath.Join(root, m[1])); err != nil || found.IsDir() {
				t.Errorf("docs/where-to-change.md: the task %q names %s, which is no file", task, m[1])
			}
		}
		if named == 0 {
			t.Errorf("docs/where-to-change.md: the task %q names no file", task)
		}
	}
	if tasks < 20 {
		t.Errorf("docs/where-to-change.md has %d tasks, want 20", tasks)
	}
}

// operatorFolders lists the packages of the operator, relative to its module, without packages for tests.
func operatorFolders(t *testing.T) (folders []string) {
	t.Helper()
	operator := filepath.Join(root, "modules", "operator")
	err := filepath.WalkDir(operator, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(operator, filepath.Dir(path))
		if folder = filepath.ToSlash(folder); !slices.Contains(folders, folder) && folder != "controllers/controllertest" {
			folders = append(folders, folder)
		}
		return err
	})
	if err != nil || len(folders) < 20 {
		t.Fatalf("only %q: %v", folders, err)
	}
	return folders
}

// rows returns the first cells of a page's table, without their backticks.
func rows(t *testing.T, page, head string) (cells []string) {
	t.Helper()
	_, table, found := strings.Cut(read(t, page), "\n"+head)
	if !found {
		t.Fatalf("%s has no table %s", page, head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		if cell, is := strings.CutPrefix(line, "| `"); is {
			cell, _, _ = strings.Cut(cell, " |")
			for _, m := range quoted.FindAllStringSubmatch("`"+cell, -1) {
				cells = append(cells, m[1])
			}
		}
	}
	return cells
}

// The table of the operator's folders has each package, or a folder above it, and no other.
func TestFoldersOfTheOperatorAreListed(t *testing.T) {
	listed := rows(t, "CONTRIBUTING.md", "| folder of `modules/operator` |")
	for _, folder := range operatorFolders(t) {
		if !slices.ContainsFunc(listed, func(row string) bool { return folder == row || strings.HasPrefix(folder, row+"/") }) {
			t.Errorf("CONTRIBUTING.md: the table of the operator's folders lacks %s", folder)
		}
	}
	for _, row := range listed {
		if _, err := os.Stat(filepath.Join(root, "modules", "operator", row)); err != nil {
			t.Errorf("CONTRIBUTING.md: the operator has no folder %s", row)
		}
	}
}

// The table of controllers has each package with a controller, and no folder that does not exist.
func TestControllersAreListed(t *testing.T) {
	listed := rows(t, "docs/controllers.md", "| package of `modules/operator` |")
	for _, folder := range operatorFolders(t) {
		controller := slices.ContainsFunc(goSources(t, filepath.Join(root, "modules", "operator", folder)), func(text string) bool {
			return strings.Contains(text, "\nfunc NewController(")
		})
		if controller && !slices.Contains(listed, folder) && !hasPackagesBelow(t, folder) {
			t.Errorf("docs/controllers.md: the table of controllers lacks %s", folder)
		}
	}
	for _, row := range listed {
		if _, err := os.Stat(filepath.Join(root, "modules", "operator", row)); err != nil {
			t.Errorf("docs/controllers.md: the operator has no folder %s", row)
		}
	}
}

// hasPackagesBelow reports whether other packages of the operator are in a folder: its own sources are no controller then.
func hasPackagesBelow(t *testing.T, folder string) bool {
	t.Helper()
	return slices.ContainsFunc(operatorFolders(t), func(other string) bool { return strings.HasPrefix(other, folder+"/") })
}
