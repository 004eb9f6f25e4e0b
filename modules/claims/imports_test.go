package claims_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOnlyTheStandardLibraryIsImported holds for tests too: every program with an
// engine imports this module.
func TestOnlyTheStandardLibraryIsImported(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if path := strings.TrimSpace(line); !strings.HasPrefix(path, "github.com/karpenter-linode/karpenter-linode/modules/claims") {
			t.Errorf("%s is imported", path)
		}
	}
}
