package lkepool_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What a reader has to keep in mind stays small: 300 lines a file, 12 fields a
// struct, settings apart, and 1,900 lines in the root package.
func TestFilesAndStructsStaySmall(t *testing.T) {
	const longestFile, mostFields, rootLines = 300, 12, 1900
	root := 0
	for _, pattern := range []string{"*.go", "internal/engine/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			lines := set.File(file.FileStart).LineCount()
			if lines > longestFile {
				t.Errorf("%s has %d lines; at most %d are allowed", name, lines, longestFile)
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if pattern == "*.go" {
				root += lines
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
	if root > rootLines {
		t.Errorf("the root package has %d lines; at most %d are allowed", root, rootLines)
	}
}
