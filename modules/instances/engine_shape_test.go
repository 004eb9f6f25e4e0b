package instances_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	coreDir    = "internal/core"
	coreModule = "github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core"
)

// sources returns the files below a folder that are no tests, by their paths.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		all[filepath.ToSlash(path)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// The packages of the engine import downwards only: see its doc.
func TestTheEnginesPackagesImportDownwards(t *testing.T) {
	may := map[string][]string{
		"event": {}, "tuning": {}, "byclaim": {},
		"tagging": {"event"},
		"known":   {"event", "tuning", "byclaim", "tagging"},
		"callers": {"event", "tuning", "byclaim"},
		"decide":  {"event", "tuning", "tagging", "known", "callers"},
		"core":    {"event", "tuning", "tagging", "known", "callers", "decide"},
	}
	for path, file := range sources(t, coreDir) {
		of := filepath.Base(filepath.Dir(path))
		allowed, known := may[of]
		if !known {
			t.Errorf("%s: the imports of package %s are not stated here", path, of)
		}
		for _, spec := range file.Imports {
			below, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), coreModule+"/")
			if ours && !slices.Contains(allowed, below) {
				t.Errorf("%s imports %s", path, below)
			}
		}
	}
}

// The engine is a state machine: no clock, no context, no lock and no I/O, and nothing of
// the package whose shell runs it.
func TestTheEngineIsAStateMachine(t *testing.T) {
	const claims = "github.com/karpenter-linode/karpenter-linode/modules/claims"
	pure := []string{"cmp", "errors", "fmt", "maps", "slices", "strings", "time", claims, claims + "/record"}
	clock := regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)$`)
	for path, file := range sources(t, coreDir) {
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if !slices.Contains(pure, name) && !strings.HasPrefix(name, coreModule+"/") {
				t.Errorf("%s imports %s", path, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
				t.Errorf("%s has a goroutine or channel", path)
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && clock.MatchString(n.Sel.Name) {
					t.Errorf("%s reads the clock: time.%s", path, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// Only the shell, which is in the root, uses the engine, and only by its front package.
func TestOnlyTheShellUsesTheEngine(t *testing.T) {
	for path, file := range sources(t, ".") {
		if strings.HasPrefix(path, coreDir+"/") {
			continue
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if strings.HasPrefix(name, coreModule) && (name != coreModule || strings.Contains(path, "/")) {
				t.Errorf("%s imports %s", path, name)
			}
		}
	}
}

// Package decide cannot change the records: the compiler holds it, as long as they export no field.
func TestTheRecordsExportNoField(t *testing.T) {
	found := 0
	for of, names := range map[string][]string{
		"known":   {"Known", "View", "Objects", "Times", "Requests", "Node", "claim", "Building", "Purchase", "Note"},
		"callers": {"Callers", "View", "Claimant", "Call", "Note"},
	} {
		for _, name := range names {
			for _, field := range fields(t, coreDir+"/"+of, name) {
				found++
				if ast.IsExported(field) {
					t.Errorf("%s.%s.%s is exported", of, name, field)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d fields were found", found)
	}
}

// A person can hold 15 fields of an instance in mind. The fields of record.Record and of the claim count with the fields of Node.
func TestTheRecordOfAnInstanceStaysSmall(t *testing.T) {
	const most = 15
	leaves := map[string][]string{
		"rec": fields(t, "../claims/record", "Record"), "claim": fields(t, coreDir+"/known", "claim"),
	}
	n := 0
	for _, field := range fields(t, coreDir+"/known", "Node") {
		n += max(1, len(leaves[field]))
	}
	if n > most || len(leaves["rec"]) < 9 || len(leaves["claim"]) == 0 {
		t.Errorf("a Node has %d fields, and at most %d are allowed: %v", n, most, leaves)
	}
}

// fields returns the names of the fields of a struct.
func fields(t *testing.T, dir, name string) []string {
	t.Helper()
	var names []string
	for path, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			of, ok := spec.Type.(*ast.StructType)
			if !ok {
				t.Fatalf("%s: %s is no struct", path, name)
			}
			for _, field := range of.Fields.List {
				if len(field.Names) == 0 {
					names = append(names, "embedded")
				}
				for _, id := range field.Names {
					names = append(names, id.Name)
				}
			}
			return false
		})
	}
	if len(names) == 0 {
		t.Fatalf("%s has no type %s", dir, name)
	}
	return names
}

// A function has at most complexity 15, one and one more for each branch and each && and
// ||; a type of the engine at most 30 methods.
func TestFunctionsAndTypesStaySmall(t *testing.T) {
	const mostBranches, mostMethods = 15, 30
	methods := map[string]int{}
	for path, file := range sources(t, ".") {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := complexity(f); n > mostBranches {
				t.Errorf("%s: %s has complexity %d; at most %d is allowed", path, f.Name.Name, n, mostBranches)
			}
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				if name, ok := of.(*ast.Ident); ok {
					methods[filepath.Dir(path)+" "+name.Name]++
				}
			}
		}
	}
	if methods["internal/core/known Objects"] < 10 {
		t.Fatalf("the methods were not found: %v", methods)
	}
	for of, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods; at most %d are allowed", of, n, mostMethods)
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
