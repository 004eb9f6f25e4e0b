package lkepool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Shape is measured by coupling, not by length: at most 15 fields in a struct,
// settings apart.
func TestStructsStaySmall(t *testing.T) {
	const mostFields = 15
	for _, pattern := range []string{"*.go", "*/*.go", "internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || spec.Name.Name == "Config" {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok && s.Fields.NumFields() > mostFields {
					t.Errorf("%s: %s has %d fields; at most %d are allowed", name, spec.Name.Name, s.Fields.NumFields(), mostFields)
				}
				return true
			})
		}
	}
}
