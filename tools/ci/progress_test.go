package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A step without output shows, every 30 seconds, that it goes on and how far it is. These lines end with the step.
func TestProgressIsShownWhileAStepRuns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("ok one\nFAIL two\nok three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `EVERY=1 ../make/progress.sh step "$0" '^ok ' 'packages tested' & while ! grep -q 2s "$0.out"; do sleep 0.2; done; kill $!`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, log)
	out, err := os.Create(log + ".out")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(out.Name())
	if want := "step: 1s, 2 packages tested\nstep: 2s, 2 packages tested\n"; err != nil || !strings.HasPrefix(string(printed), want) {
		t.Errorf("printed %q, want %q, %v", printed, want, err)
	}
}
