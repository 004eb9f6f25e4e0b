package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Try runs the tests over a copy of the module with the mutation, and returns
// what turned red, "" for a mutant that survived.
func (l List) Try(ctx context.Context, module string, m Mutant) (red string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := m.plant(module, dir); err != nil {
		return "", err
	}
	for _, run := range l.runs(m) {
		// Trimmed paths let the packages that did not change come from the cache.
		out, err := goTest(ctx, dir, append([]string{"-trimpath", "-vet=off", "-failfast", "-timeout", "5m"}, run...))
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return "", fmt.Errorf("the mutant does not build: %s", out)
		case err != nil:
			return firstFailure(out), nil
		}
	}
	return "", nil
}

// plant makes the copy.
func (m Mutant) plant(module, dir string) error {
	module, err := filepath.Abs(module)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		return err
	}
	siblings := "=> " + filepath.ToSlash(filepath.Dir(module)) + "/"
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(strings.ReplaceAll(string(mod), "=> ../", siblings)), 0o600); err != nil {
		return err
	}
	text, err := m.mutated(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.FromSlash(m.File)), []byte(text), 0o600)
}

func goTest(ctx context.Context, dir string, args []string) (string, error) {
	run := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := run.CombinedOutput()
	return string(out), err
}

// firstFailure names the innermost test that failed first, and for a random
// schedule what it broke. A timeout has its own name: on a busy machine it shows
// nothing about the mutant.
func firstFailure(out string) string {
	name := "a panic"
	if strings.Contains(out, "panic: test timed out") {
		name = "a timeout"
	}
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		if failed, ok := strings.CutPrefix(text, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(failed, " ")
		}
		if _, broken, ok := strings.Cut(text, ": seed "); ok {
			return name + ": seed " + broken
		}
	}
	return name
}
