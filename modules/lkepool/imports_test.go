package lkepool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowedModules lists what the packages of this module, tests aside, may pull
// in. A module that is added here is added to every program that imports this module.
var allowedModules = []string{
	"github.com/karpenter-linode/karpenter-linode/modules/claims",
	"github.com/karpenter-linode/karpenter-linode/modules/linode",
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool",
	"k8s.io/utils",
}

// allowedEngine lists what the engine itself may pull in: no client of any API.
var allowedEngine = []string{
	"github.com/karpenter-linode/karpenter-linode/modules/claims",
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool",
	"k8s.io/utils",
}

func TestDirectImportsStayFew(t *testing.T) {
	check(t, allowedModules, `{{join .Imports "\n"}}`, "./...")
}

func TestTheEngineKnowsNoClient(t *testing.T) {
	check(t, allowedEngine, `{{join .Deps "\n"}}`, ".", "./allocator", "./memory")
}

// The engine is a state machine: no clock, no context, no lock and no I/O.
func TestTheEngineIsAStateMachine(t *testing.T) {
	const engine = "./internal/core/..."
	pure := []string{"cmp", "errors", "fmt", "iter", "maps", "slices", "strconv", "strings", "time"}
	ours := regexp.MustCompile(`/modules/(claims|claims/record|lkepool|lkepool/pacing|lkepool/internal/(plan|core/.*))$`)
	for _, path := range list(t, `{{join .Imports "\n"}}`, engine) {
		if !slices.Contains(pure, path) && !ours.MatchString(path) {
			t.Errorf("%s imports %s", engine, path)
		}
	}
	reads := regexp.MustCompile(`\btime\.(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)\(|\bgo func|\bchan\b`)
	for _, file := range list(t, `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, engine) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := reads.Find(text); found != nil {
			t.Errorf("%s has %s", filepath.Base(file), found)
		}
	}
}

// Only the allocator uses the engine: what importers need is declared in the root.
func TestOnlyTheAllocatorUsesTheEngine(t *testing.T) {
	const module = "github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	for _, line := range list(t, `{{.ImportPath}}{{range .Imports}},{{.}}{{end}}`, "./...") {
		importer, imports, _ := strings.Cut(line, ",")
		inside := strings.HasPrefix(importer, module+"/internal/core")
		for path := range strings.SplitSeq(imports, ",") {
			shell := importer == module+"/allocator" && path == module+"/internal/core"
			if strings.HasPrefix(path, module+"/internal/core") && !inside && !shell {
				t.Errorf("%s imports %s", importer, path)
			}
		}
	}
}

func TestNoKubernetesAPIAnywhere(t *testing.T) {
	for _, path := range list(t, `{{join .Deps "\n"}}`, "./...") {
		for _, banned := range []string{"k8s.io/api", "sigs.k8s.io/", "k8s.io/client-go"} {
			if strings.HasPrefix(path, banned) {
				t.Errorf("imports %s", path)
			}
		}
	}
}

func check(t *testing.T, allowed []string, format string, packages ...string) {
	t.Helper()
	for _, path := range list(t, format, packages...) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") {
			continue // the standard library
		}
		if !slices.ContainsFunc(allowed, func(module string) bool { return path == module || strings.HasPrefix(path, module+"/") }) {
			t.Errorf("imports %s, which is not allowed here", path)
		}
	}
}

func list(t *testing.T, format string, packages ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", format}, packages...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(string(out))
}
