package clusterapi_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports bounds the imports of every program with this engine: of this repository only module claims, and of Kubernetes only a
// client.
func TestImports(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	const repository = "github.com/karpenter-linode/karpenter-linode/modules/"
	for line := range strings.Lines(string(out)) {
		path := strings.TrimSpace(line)
		ours := strings.HasPrefix(path, repository) && !strings.HasPrefix(path, repository+"claims") &&
			!strings.HasPrefix(path, repository+"clusterapi")
		if ours || strings.HasPrefix(path, "sigs.k8s.io/controller-runtime") || strings.HasPrefix(path, "sigs.k8s.io/karpenter") {
			t.Errorf("%s is imported", path)
		}
	}
}
