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
	const engine = "internal/engine/"
	allowed := map[string][]string{
		"event": {}, "tagging": {}, "tuning": {},
		"belief":  {"event", "tagging", "tuning"},
		"callers": {"event", "tagging", "tuning"},
		"decide":  {"event", "tagging", "tuning", "belief", "callers"},
	}
	for _, file := range sources(t, engine) {
		of := filepath.Base(filepath.Dir(file.name))
		may, known := allowed[of]
		if of == "engine" {
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

// Package decide reads the record, and changes nothing in it: it assigns to no field that
// a type of package belief has.
func TestDecideChangesNothingThatIsKnown(t *testing.T) {
	known := exportedFields(t, "internal/engine/belief")
	for _, file := range sources(t, "internal/engine/decide") {
		ast.Inspect(file.File, func(n ast.Node) bool {
			var changed []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				changed = n.Lhs
			case *ast.IncDecStmt:
				changed = []ast.Expr{n.X}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") {
					changed = n.Args[:1]
				}
			}
			for _, to := range changed {
				if index, ok := to.(*ast.IndexExpr); ok {
					to = index.X
				}
				field, ok := to.(*ast.SelectorExpr)
				if ok && slices.Contains(known, field.Sel.Name) {
					t.Errorf("%s: %s is assigned to; what is known is changed by package belief alone", file.name, field.Sel.Name)
				}
			}
			return true
		})
	}
}

func exportedFields(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, file := range sources(t, dir) {
		ast.Inspect(file.File, func(n ast.Node) bool {
			if fields, ok := n.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						if name.IsExported() {
							names = append(names, name.Name)
						}
					}
				}
			}
			return true
		})
	}
	if len(names) < 20 {
		t.Fatalf("%s has %v alone", dir, names)
	}
	return names
}
