package lkepool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source is a file of this module that is no test.
type source struct {
	name string
	*ast.File
}

func sources(t *testing.T, dir string) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		all = append(all, source{name, file})
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// Cyclomatic complexity: one, and one more for each branch and each && and ||.
func TestFunctionsStaySimple(t *testing.T) {
	const most = 15
	for _, file := range sources(t, ".") {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := complexity(f); n > most {
				t.Errorf("%s: %s has complexity %d; at most %d is allowed", file.name, f.Name.Name, n, most)
			}
		}
	}
}

func complexity(f *ast.FuncDecl) int {
	all := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CommClause:
			all++
		case *ast.CaseClause:
			if n.List != nil {
				all++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				all++
			}
		}
		return true
	})
	return all
}

// The packages of the engine import downwards only: see its doc.
func TestTheEnginesPackagesImportDownwards(t *testing.T) {
	const engine = "internal/core/"
	allowed := map[string][]string{
		"event": {}, "tagging": {}, "tuning": {}, "pace": {},
		"known":   {"event", "tagging", "tuning", "pace"},
		"callers": {"event", "tagging", "tuning"},
		"decide":  {"event", "tagging", "tuning", "known", "callers"},
	}
	for _, file := range sources(t, engine) {
		of := filepath.Base(filepath.Dir(file.name))
		may, known := allowed[of]
		if of == "core" {
			continue
		}
		if !known {
			t.Errorf("%s: what package %s may import is not stated here", file.name, of)
		}
		for _, imported := range file.Imports {
			_, below, ours := strings.Cut(strings.Trim(imported.Path.Value, `"`), "/lkepool/"+engine)
			if ours && !slices.Contains(may, below) {
				t.Errorf("%s imports %s", file.name, below)
			}
		}
	}
}

// Package decide cannot change the record: the compiler holds it, as long as the records export no field.
func TestTheRecordsExportNoField(t *testing.T) {
	for _, dir := range []string{"internal/core/known", "internal/core/callers"} {
		for _, name := range []string{"Known", "Node", "Pool", "Key", "Claim", "Request", "Callers"} {
			for _, field := range fields(t, dir, name) {
				// A View returns copies of Request of package known.
				if ast.IsExported(field) && (!strings.HasSuffix(dir, "known") || name != "Request") {
					t.Errorf("%s: %s.%s is exported", dir, name, field)
				}
			}
		}
	}
}

// A reader has to keep 15 fields of a node or a pool in mind: the fields of the record of module claims, of the claim, and of this type.
func TestTheRecordsStaySmall(t *testing.T) {
	const most = 15
	leaves := map[string][]string{
		"rec": fields(t, "../claims/record", "Record"), "claim": fields(t, "../claims/record", "Claim"),
		"coming": fields(t, "internal/core/known", "coming"),
	}
	for _, name := range []string{"Node", "Pool"} {
		n := 0
		for _, field := range fields(t, "internal/core/known", name) {
			n += max(1, len(leaves[field]))
		}
		if n > most {
			t.Errorf("%s has %d fields, and at most %d are allowed", name, n, most)
		}
	}
}

// fields returns the fields of a struct by their names; nil if the package has no such type.
func fields(t *testing.T, dir, name string) []string {
	t.Helper()
	var names []string
	for _, file := range sources(t, dir) {
		if filepath.Dir(file.name) != filepath.Clean(dir) {
			continue
		}
		ast.Inspect(file.File, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range of.Fields.List {
					for _, id := range field.Names {
						names = append(names, id.Name)
					}
				}
			}
			return false
		})
	}
	return names
}
