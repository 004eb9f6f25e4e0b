package boundaries_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The most fields and methods of a type. A type with more has several subjects under one name, however short its files are.
const (
	mostMethods  = 40
	mostOfEngine = 30 // of a type of the claim engines
	mostFields   = 15
)

// size counts what a type of a package has.
type size struct {
	methods, fields int
	at              string // file of its declaration
}

// TestTypesStaySmall counts methods and fields of each type that is written by hand, tests apart.
func TestTypesStaySmall(t *testing.T) {
	root := repositoryRoot(t)
	checked := 0
	for folder, files := range goFolders(t, root) {
		for name, is := range typesOf(t, root, files) {
			checked++
			most := mostMethods
			if strings.HasPrefix(folder, "modules/lkepool/") || folder == "modules/instances" ||
				strings.HasPrefix(folder, "modules/instances/internal/") {
				most = mostOfEngine
			}
			if !listsSettings(folder, name) && (is.methods > most || is.fields > mostFields) {
				t.Errorf("%s: %s has %d methods and %d fields; at most %d and %d are allowed: split it", is.at, name, is.methods, is.fields,
					most, mostFields)
			}
		}
	}
	if checked < 500 {
		t.Errorf("only %d types were found", checked)
	}
}

// listsSettings reports whether a type has one field for each setting of users, who name them one by one: the options of a program, and the
// fields of LinodeNodeClass, which are the fields of its schema.
func listsSettings(folder, name string) bool {
	return strings.EqualFold(name, "Options") || folder == "modules/nodeclass/v1alpha1" && name == "LinodeNodeClassSpec"
}

// typesOf returns the types of the files of one package. Generated files do not count.
func typesOf(t *testing.T, root string, files []string) map[string]size {
	t.Helper()
	types, methods := map[string]size{}, map[string]int{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(file) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[receiver(d.Recv.List[0].Type)]++
				}
			case *ast.TypeSpec:
				is := size{at: name}
				switch of := d.Type.(type) {
				case *ast.StructType:
					is.fields = of.Fields.NumFields()
				case *ast.InterfaceType:
					is.methods = of.Methods.NumFields()
				}
				types[d.Name.Name] = is
			}
			return true
		})
	}
	for name, n := range methods {
		if is, declared := types[name]; declared {
			is.methods += n
			types[name] = is
		}
	}
	return types
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
