package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/mutants"
)

func TestEveryListFitsItsModule(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "modules", "*", filepath.FromSlash(mutants.File)))
	if err != nil || len(files) < 2 {
		t.Fatalf("lists: %q, %v", files, err)
	}
	for _, file := range files {
		if _, err := mutants.Load(filepath.Dir(filepath.Dir(file))); err != nil {
			t.Error(err)
		}
	}
}

// module has one safeguard whose loss its test notices, and one whose loss the test does not notice.
func module(t *testing.T, list string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go": "package m\n\nfunc Limit(n int) int {\n\tif n > 10 {\n\t\treturn 10\n\t}\n\tif n < 0 {\n\t\treturn 0\n\t}\n\treturn " +
			"n\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestTheLimitHolds(t *testing.T) {\n\tif Limit(11) != 10 {\n\t\tt.Error(\"no " +
			"limit\")\n\t}\n}\n",
		mutants.File:  list,
		"other/x.txt": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const list = `
runs: [[./...]]
mutants:
  - {name: no upper limit, file: m.go, edits: [{old: "n > 10", new: "n > 100"}]}
  - {name: no lower limit, file: m.go, edits: [{old: "n < 0", new: "n < -100"}]}
  - {name: no code, file: m.go, edits: [{old: "return n", new: "return"}]}
`

func TestAMutantThatATestNoticesIsRedAndAnotherSurvives(t *testing.T) {
	dir := module(t, list)
	all, err := mutants.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"TestTheLimitHolds", ""} {
		if o, err := all.Try(t.Context(), dir, all.Mutants[i]); err != nil || o.Red != want || o.CPU == 0 {
			t.Errorf("%s: %+v, %v", all.Mutants[i].Name, o, err)
		}
	}
	if _, err := all.Try(t.Context(), dir, all.Mutants[2]); err == nil || !strings.Contains(err.Error(), "does not build") {
		t.Errorf("a mutant that does not build: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "m.go"))
	if err != nil || !strings.Contains(string(text), "n > 10 {") {
		t.Errorf("the module was changed: %s, %v", text, err)
	}
}

// The test that a mutant names has to notice it: that another one does is not enough.
func TestAMutantIsRedByTheTestThatItNames(t *testing.T) {
	for by, want := range map[string]string{"TestTheLimitHolds": "TestTheLimitHolds", "TestNothing": ""} {
		dir := module(t, strings.Replace(list, "no upper limit,", "no upper limit, by: "+by+",", 1))
		all, err := mutants.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := all.Try(t.Context(), dir, all.Mutants[0]); err != nil || o.Red != want {
			t.Errorf("by %s: red by %q, %v", by, o.Red, err)
		}
	}
}

func TestAListThatDoesNotFitIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"rewritten source": {`old: "n > 10"`, `old: "n > 11"`, `mutants[0] (no upper limit): edits[0].old: m.go does not contain "n > 11"`},
		"no change":        {`new: "n > 100"`, `new: "n > 10"`, "they change nothing in m.go"},
		"a name twice":     {"name: no lower", "name: no upper", "mutants[1].name"},
		"an unknown field": {"runs:", "run:", "unknown field"},
		"no file":          {"file: m.go", "file: n.go", "n.go"},
		"no runs":          {"[[./...]]", "[]", "has 0 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := mutants.Load(module(t, strings.Replace(list, test.old, test.new, 1))); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
