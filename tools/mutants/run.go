package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Outcome describes a trial of a mutant.
type Outcome struct {
	// Red names the test that failed, "" for a mutant that survived.
	Red string
	// CPU is the processor time that building and running the tests took.
	CPU time.Duration
}

// Try runs the module's tests with the mutation until a run is red. Only the compiler sees
// the mutation: the module stays as it is, and packages that do not depend on the file come
// from the build cache.
func (l List) Try(ctx context.Context, module string, m Mutant) (o Outcome, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := m.plant(module, dir)
	if err != nil {
		return o, err
	}
	for _, run := range l.runs(m) {
		// A binary without symbols is linked in less time.
		args := append([]string{"-overlay", overlay, "-ldflags=-s -w", "-vet=off", "-failfast", "-timeout", "5m"}, run...)
		out, cpu, err := goTest(ctx, module, args)
		o.CPU += cpu
		switch {
		case ctx.Err() != nil:
			return o, ctx.Err()
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return o, fmt.Errorf("the mutant does not build: %s", out)
		case err == nil:
		case !failed(out):
			return o, fmt.Errorf("no test failed, and the tests did not run to their end: %w: %s", err, out)
		default:
			o.Red = firstFailure(out)
			return o, nil
		}
	}
	return o, nil
}

// failed reports whether a test failed, panicked or ended its program. Other errors show
// nothing about a mutant: the go command may fail to start the tests, and on a busy machine
// there may be a timeout or a lack of memory.
func failed(out string) bool {
	has := func(text string) bool { return strings.Contains(out, text) }
	return !has("panic: test timed out") && !has("out of memory") && (has("--- FAIL: ") || has("panic: ") || has("fatal error: "))
}

// plant writes the mutated file into a directory, with an overlay for the go command that
// puts it in the place of the module's file.
func (m Mutant) plant(module, dir string) (overlay string, err error) {
	module, err = filepath.Abs(module)
	if err != nil {
		return "", err
	}
	text, err := m.mutated(module)
	if err != nil {
		return "", err
	}
	mutant := filepath.Join(dir, "mutant.go")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, filepath.FromSlash(m.File)): mutant}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(mutant, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600))
}

func goTest(ctx context.Context, module string, args []string) (out string, cpu time.Duration, err error) {
	run := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	// With RAPID_NOFAILFILE, a property test that fails writes no file into the module's testdata.
	run.Dir, run.Env = module, append(os.Environ(), "GOWORK=off", "RAPID_NOFAILFILE=true")
	text, err := run.CombinedOutput()
	if run.ProcessState != nil {
		cpu = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	}
	return string(text), cpu, err
}

// firstFailure names the innermost test that failed. For a random schedule it adds the seed
// and the broken rule.
func firstFailure(out string) string {
	name := "a panic"
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
