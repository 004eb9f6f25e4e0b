package boundaries_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFoldersFormLayers: at every level of the tree, what lies in one folder imports another in one direction alone. Go refuses circles of
// packages and takes circles of folders, in which a reader finds no lowest one to begin with.
func TestFoldersFormLayers(t *testing.T) {
	root := repositoryRoot(t)
	imports := map[string][]string{}
	for folder, files := range goFolders(t, root) {
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if ours, is := strings.CutPrefix(imported, prefix); is {
					imports[folder] = append(imports[folder], ours)
				}
			}
		}
	}
	if len(imports) < 50 {
		t.Fatalf("only %d folders were found", len(imports))
	}
	levels := map[string]bool{}
	for folder := range imports {
		for above := folder; above != "."; above = path.Dir(above) {
			levels[above] = true
		}
	}
	for level := range levels {
		if circle := circleAt(level, imports); circle != nil {
			t.Errorf("in %s these import each other: %s", level, strings.Join(circle, " -> "))
		}
	}
}

// circleAt returns children of a folder that import each other in a circle, whatever is below them; nil if none do.
func circleAt(level string, imports map[string][]string) []string {
	arrows := map[string]map[string]bool{}
	for folder, imported := range imports {
		for _, other := range imported {
			from, to := childOf(level, folder), childOf(level, other)
			if from == "" || to == "" || from == to {
				continue
			}
			if arrows[from] == nil {
				arrows[from] = map[string]bool{}
			}
			arrows[from][to] = true
		}
	}
	done := map[string]bool{}
	var visit func(at string, way []string) []string
	visit = func(at string, way []string) []string {
		if begun := slices.Index(way, at); begun >= 0 {
			return append(slices.Clone(way[begun:]), at)
		}
		if done[at] {
			return nil
		}
		done[at] = true
		for _, next := range slices.Sorted(maps.Keys(arrows[at])) {
			if circle := visit(next, append(way, at)); circle != nil {
				return circle
			}
		}
		return nil
	}
	for _, from := range slices.Sorted(maps.Keys(arrows)) {
		if circle := visit(from, nil); circle != nil {
			return circle
		}
	}
	return nil
}

// childOf returns the child of a folder that a package lies in, the folder itself for its own files, "" for a package outside of it.
func childOf(level, folder string) string {
	rest, inside := strings.CutPrefix(folder+"/", level+"/")
	if !inside {
		return ""
	}
	child, _, _ := strings.Cut(rest, "/")
	return path.Join(level, child)
}

// goFolders returns the Go files, without tests, of each package in modules and tools, relative to the root.
func goFolders(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, below := range []string{"modules", "tools"} {
		err := filepath.WalkDir(filepath.Join(root, below), func(at string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return filepath.SkipDir
			case entry.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go"):
				return nil
			}
			name, err := filepath.Rel(root, at)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			found[path.Dir(name)] = append(found[path.Dir(name)], name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestACircleOfFoldersIsFound(t *testing.T) {
	imports := map[string][]string{"m/a/x": {"m/b"}, "m/b": {"m/c"}, "m/c/y": {"m/a/z"}, "m/c": {"m/c/y"}}
	if circle := circleAt("m", imports); len(circle) != 4 {
		t.Errorf("a circle over three folders gives %q", circle)
	}
	delete(imports, "m/c/y")
	if circle := circleAt("m", imports); circle != nil {
		t.Errorf("without a way back there is %q", circle)
	}
}
