package karpentercore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestStartsOfControllersAreAtTheDebugLevel(t *testing.T) {
	for verbosity, want := range []int{1, 4} {
		var lines []string
		logger := withoutStarts(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: verbosity}))
		logger = logger.WithName("controller").WithValues("controller", "nodepool.status") // as controller-runtime does for each controller
		for _, message := range []string{"Starting EventSource", "Starting Controller", "Starting workers", "discovered the LKE cluster"} {
			logger.Info(message)
		}
		if len(lines) != want {
			t.Errorf("at verbosity %d: %q", verbosity, lines)
		}
	}
}

func TestControllerRuntimeStillWritesTheseLines(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg/internal/controller/controller.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{`Info("Starting EventSource"`, `Info("Starting Controller"`, `Info("Starting workers"`} {
		if !strings.Contains(string(source), message) {
			t.Errorf("controller-runtime has no %s: withoutStarts has to follow it", message)
		}
	}
}
