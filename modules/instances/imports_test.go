package instances_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowedModules lists the modules that packages of this one may import, tests aside.
// Each entry is added to every program that imports this module.
var allowedModules = []string{
	"github.com/karpenter-linode/karpenter-linode/modules/claims",
	"github.com/karpenter-linode/karpenter-linode/modules/linode",
	"github.com/karpenter-linode/karpenter-linode/modules/instances",
	"go.yaml.in/yaml/v3", // bootstrap alone
	"k8s.io/utils",
}

// allowedEngine lists what the engine itself may depend on: no client of an API.
var allowedEngine = []string{
	"github.com/karpenter-linode/karpenter-linode/modules/claims",
	"github.com/karpenter-linode/karpenter-linode/modules/instances",
	"k8s.io/utils",
}

func TestDirectImportsStayFew(t *testing.T) {
	checkImports(t, allowedModules, `{{join .Imports "\n"}}`, "./...")
}

func TestTheEngineKnowsNoClient(t *testing.T) {
	checkImports(t, allowedEngine, `{{join .Deps "\n"}}`, ".")
}

func TestNoKubernetesAPIAnywhere(t *testing.T) {
	for _, path := range packages(t, `{{join .Deps "\n"}}`, "./...") {
		for _, banned := range []string{"k8s.io/api", "sigs.k8s.io/", "k8s.io/client-go"} {
			if strings.HasPrefix(path, banned) {
				t.Errorf("imports %s", path)
			}
		}
	}
}

func checkImports(t *testing.T, allowed []string, format string, of ...string) {
	t.Helper()
	for _, path := range packages(t, format, of...) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") {
			continue // the standard library
		}
		if !slices.ContainsFunc(allowed, func(module string) bool { return path == module || strings.HasPrefix(path, module+"/") }) {
			t.Errorf("imports %s, which is not allowed here", path)
		}
	}
}

func packages(t *testing.T, format string, of ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", format}, of...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(string(out))
}
