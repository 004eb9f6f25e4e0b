// Package shape checks how the module of an engine is built: its imports, its core as a state machine that decisions cannot bypass, and
// the size of its functions and records. Each engine's module has one test that calls [Check] with the lists of that engine.
package shape

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostBranches bounds the cyclomatic complexity of a function: one, and one more for each branch and each && and ||.
const mostBranches = 15

// mostFields bounds the record of an object: a person can hold so many fields in mind.
const mostFields = 15

const (
	modules = "github.com/karpenter-linode/karpenter-linode/modules/"
	core    = "internal/core"
)

// Engine describes the module in the working directory. Its core is in internal/core. Paths are import paths, and names of modules of this
// repository may stand without what comes before them, such as "claims".
type Engine struct {
	// Name is the name of the module, such as "lkepool".
	Name string
	// Imports lists the modules that packages of this module may import, tests aside. Each is added to every program with the engine.
	Imports []string
	// Clientless lists the packages that depend on no client of an API: of Imports they may reach only the names in Vocabulary.
	Clientless, Vocabulary []string
	// Core lists the packages that core may import besides its own, and Layers which of its own each of its folders may import. The folder
	// "core" is the core itself.
	Core   []string
	Layers map[string][]string
	// Shell is the only folder whose package imports the core.
	Shell string
	// Sealed lists, for each folder of the core, types without exported fields, so that the compiler keeps decisions from changing them.
	Sealed map[string][]string
	// Records lists types of folder known that have the record of an object. Embedded lists, for their fields, the type that counts with
	// its own fields: a folder and a name.
	Records  []string
	Embedded map[string][2]string
}

// Check fails the test for what the module has and the description does not allow.
func Check(t *testing.T, e Engine) {
	t.Run("imports", e.imports)
	t.Run("layers", e.layers)
	t.Run("state machine", e.stateMachine)
	t.Run("sealed records", e.sealed)
	t.Run("small records", e.smallRecords)
	t.Run("simple functions", e.simpleFunctions)
}

func (e Engine) imports(t *testing.T) {
	few(t, "{{join .Imports \"\\n\"}}", append([]string{e.Name}, e.Imports...), "./...")
	few(t, "{{join .Deps \"\\n\"}}", append([]string{e.Name}, e.Vocabulary...), e.Clientless...)
}

// few reports imports of packages outside the standard library that no allowed module has.
func few(t *testing.T, format string, allowed []string, packages ...string) {
	for _, imported := range list(t, format, packages...) {
		first, _, _ := strings.Cut(imported, "/")
		inside := func(module string) bool {
			if !strings.Contains(module, ".") {
				module = modules + module
			}
			return imported == module || strings.HasPrefix(imported, module+"/")
		}
		if strings.Contains(first, ".") && !slices.ContainsFunc(allowed, inside) {
			t.Errorf("%q import %s, which is not allowed there", packages, imported)
		}
	}
}

func (e Engine) layers(t *testing.T) {
	own := modules + e.Name + "/" + core
	for name, file := range sources(t, ".") {
		folder := path.Dir(name)
		allowed, stated := e.Layers[path.Base(folder)]
		inside := folder == core || strings.HasPrefix(folder, core+"/")
		if inside && !stated {
			t.Errorf("%s: it is not stated what package %s may import", name, path.Base(folder))
		}
		for _, imported := range importsOf(file) {
			below, ours := strings.CutPrefix(imported, own)
			switch {
			case !ours:
			case inside && !slices.Contains(allowed, strings.TrimPrefix(below, "/")), !inside && (below != "" || folder != e.Shell):
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}

// stateMachine: the core reads no clock, has no context, lock or goroutine, and does no I/O.
func (e Engine) stateMachine(t *testing.T) {
	allowed := append([]string{"cmp", "errors", "fmt", "iter", "maps", "slices", "strconv", "strings", "time"}, e.Core...)
	clock := regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)$`)
	for name, file := range sources(t, core) {
		for _, imported := range importsOf(file) {
			if short := strings.TrimPrefix(imported, modules); !slices.Contains(allowed, short) &&
				!strings.HasPrefix(short, e.Name+"/"+core) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
				t.Errorf("%s has a goroutine or a channel", name)
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && clock.MatchString(n.Sel.Name) {
					t.Errorf("%s reads the clock: time.%s", name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

func (e Engine) sealed(t *testing.T) {
	for folder, names := range e.Sealed {
		for _, name := range names {
			for _, field := range fieldsOf(t, core+"/"+folder, name) {
				if ast.IsExported(field) {
					t.Errorf("%s.%s.%s is exported", folder, name, field)
				}
			}
		}
	}
}

func (e Engine) smallRecords(t *testing.T) {
	for _, name := range e.Records {
		n := 0
		for _, field := range fieldsOf(t, core+"/known", name) {
			if of, counts := e.Embedded[field]; counts {
				n += len(fieldsOf(t, of[0], of[1]))
			} else {
				n++
			}
		}
		if n > mostFields {
			t.Errorf("%s has %d fields, and at most %d are allowed", name, n, mostFields)
		}
	}
}

func (e Engine) simpleFunctions(t *testing.T) {
	for name, file := range sources(t, ".") {
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && complexity(f) > mostBranches {
				t.Errorf("%s: %s has complexity %d; at most %d is allowed", name, f.Name.Name, complexity(f), mostBranches)
			}
		}
	}
}

func complexity(f *ast.FuncDecl) int {
	branches := 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.CommClause:
			branches++
		case *ast.CaseClause:
			if n.List != nil {
				branches++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				branches++
			}
		}
		return true
	})
	return branches
}

// sources returns the files below a folder that are no tests, by their paths.
func sources(t *testing.T, folder string) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	err := filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		all[filepath.ToSlash(name)], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("no source in %s: %v", folder, err)
	}
	return all
}

// fieldsOf returns the names of the fields of a type of a folder's package.
func fieldsOf(t *testing.T, folder, name string) []string {
	t.Helper()
	var names []string
	for file, source := range sources(t, folder) {
		if path.Dir(file) != path.Clean(folder) {
			continue
		}
		ast.Inspect(source, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range of.Fields.List {
					if len(field.Names) == 0 {
						names = append(names, "embedded")
					}
					for _, id := range field.Names {
						names = append(names, id.Name)
					}
				}
			}
			return false
		})
	}
	if len(names) == 0 {
		t.Fatalf("%s has no type %s with fields", folder, name)
	}
	return names
}

func importsOf(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

func list(t *testing.T, format string, packages ...string) []string {
	t.Helper()
	var problem bytes.Buffer
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", format}, packages...)...)
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &problem)
	}
	return strings.Fields(string(out))
}
