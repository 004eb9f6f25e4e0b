package boundaries_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

const prefix = "github.com/karpenter-linode/karpenter-linode/"

// rule lists the allowed imports of one module. Names are folders below the repository's root.
type rule struct {
	imports     []string // siblings that its programs and packages may import
	testImports []string // further siblings that only its tests may import
	testing     []string // folders, with the folders below, that only tests of any module import, so that they may import what tests may
	never       []string // outside import paths (and all below them) that it must not reach, even indirectly
	light       []string // folders of its packages that must not reach machinery, so that their tests are linked quickly
}

// lean lists what would turn a small library into a Kubernetes program.
var lean = []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter"}

// machinery lists packages that take a test binary seconds to link: the types of Karpenter's API import all of controller-runtime.
var machinery = []string{"sigs.k8s.io/karpenter/pkg/apis/v1", "sigs.k8s.io/controller-runtime"}

var rules = map[string]rule{
	"modules/claims": {
		testing: []string{"modules/claims/claimstest"}, never: append([]string{"k8s.io", "github.com/prometheus"}, lean...),
	},
	"modules/linode":    {imports: []string{"modules/claims"}, never: append([]string{"k8s.io", "github.com/prometheus"}, lean...)},
	"modules/linodesim": {imports: []string{"modules/linode"}, never: lean},
	"modules/lkeprobe":  {imports: []string{"modules/linode", "modules/linodesim"}, never: lean},
	"modules/lkepool": {
		imports: []string{"modules/claims", "modules/linode"}, testImports: []string{"modules/linodesim"}, never: lean,
	},
	"modules/instances": {
		imports: []string{"modules/claims", "modules/linode"}, testImports: []string{"modules/linodesim"}, never: lean,
	},
	// Its platform is the client and the types of Kubernetes' API, and no other part of Kubernetes.
	"modules/clusterapi": {
		imports: []string{"modules/claims"}, never: []string{"sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter"},
	},
	"modules/nodeclass": {},
	"modules/advisor": {
		imports:     []string{"modules/linode", "modules/nodeclass", "modules/operator", "modules/lkeprobe", "modules/linodesim"},
		testImports: []string{"modules/linodesim"},
	},
	"modules/operator": {
		imports: []string{"modules/claims", "modules/linode", "modules/instances", "modules/lkepool", "modules/clusterapi",
			"modules/nodeclass"},
		testImports: []string{"modules/linodesim"},
		testing:     []string{"modules/operator/controllers/controllertest"},
		light:       []string{"modules/operator/launches", "modules/operator/catalog/selection"},
	},
}

type pkg struct {
	ImportPath, ForTest string
	Standard            bool
	Module              *struct{ Path string }
	Imports             []string
	TestImports         []string
	XTestImports        []string
	Deps                []string
}

func TestModulesImportOnlyWhatTheyMay(t *testing.T) {
	root := repositoryRoot(t)
	for dir, r := range rules {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			for _, p := range list(t, filepath.Join(root, dir)) {
				forTests := isTesting(p.ImportPath)
				for _, imp := range p.Imports {
					if why := r.refuses(dir, imp, forTests); why != "" {
						t.Errorf("%s imports %s: %s", p.ImportPath, imp, why)
					}
					if isTesting(imp) && !forTests {
						t.Errorf("%s imports %s, which is for tests", p.ImportPath, imp)
					}
				}
				for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
					if why := r.refuses(dir, imp, true); why != "" {
						t.Errorf("a test of %s imports %s: %s", p.ImportPath, imp, why)
					}
				}
				if slices.Contains(r.light, strings.TrimPrefix(p.ImportPath, prefix)) {
					for _, heavy := range machinery {
						if slices.ContainsFunc(p.Deps, func(dep string) bool { return within(dep, heavy) }) {
							t.Errorf("%s depends on %s, with which its tests take seconds to link", p.ImportPath, heavy)
						}
					}
				}
				for _, dep := range p.Deps {
					for _, never := range r.never {
						if within(dep, never) {
							// k8s.io/utils has no dependency on Kubernetes' API and is allowed by name.
							if never == "k8s.io" && strings.HasPrefix(dep, "k8s.io/utils") {
								continue
							}
							t.Errorf("%s depends on %s, which importers of %s must not get", p.ImportPath, dep, dir)
						}
					}
				}
			}
		})
	}
}

// TestEveryModuleHasARule fails when a module is added without a line in rules.
func TestEveryModuleHasARule(t *testing.T) {
	root := repositoryRoot(t)
	found, err := filepath.Glob(filepath.Join(root, "modules", "*", "go.mod"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no modules below %s/modules (%v)", root, err)
	}
	for _, f := range found {
		if dir := "modules/" + filepath.Base(filepath.Dir(f)); rules[dir].isZero() && dir != "modules/nodeclass" {
			t.Errorf("%s has no rule in this test", dir)
		}
	}
}

func (r rule) isZero() bool { return r.imports == nil && r.testImports == nil && r.never == nil }

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// isTesting reports whether only tests import the package.
func isTesting(path string) bool {
	rest := strings.TrimPrefix(path, prefix)
	for _, r := range rules {
		if slices.ContainsFunc(r.testing, func(folder string) bool { return within(rest, folder) }) {
			return true
		}
	}
	return false
}

// refuses returns why the module in dir must not import path, or "" when it may.
func (r rule) refuses(dir, path string, test bool) string {
	rest, ours := strings.CutPrefix(path, prefix)
	switch {
	case !ours || within(rest, dir):
		return ""
	case strings.HasPrefix(rest, "tools/"):
		return "nothing in modules/ imports tools"
	}
	may := r.imports
	if test {
		may = slices.Concat(may, r.testImports)
	}
	for _, m := range may {
		if within(rest, m) {
			return ""
		}
	}
	return "it may import of ours only: " + strings.Join(may, ", ")
}

func list(t *testing.T, dir string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,ForTest,Standard,Module,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatalf("no packages in %s", dir)
	}
	return pkgs
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := controlplane.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
