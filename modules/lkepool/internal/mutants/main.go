// Command mutants proves that the tests of this module can fail: it takes one
// safeguard after another out of a copy of the engine and expects the tests to
// turn red. It ends with status 1 when a mutant survives. Run it in the module's
// folder:
//
//	go run ./internal/mutants [-schedules 5000] [-only name]
//
// A mutant is tried on the engine alone first, and ends with the first test that
// fails; what survives that meets the short tests of the whole module. It is called by people and by `make mutants`, and changes nothing but a
// temporary directory, which it removes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	schedules := flag.Int("schedules", 5_000, "random schedules per mutant")
	only := flag.String("only", "", "run the mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := run(ctx, *schedules, *only)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
	case len(survivors) > 0:
		fmt.Fprintf(os.Stderr, "mutants: %d survived: %s\n", len(survivors), strings.Join(survivors, "; "))
	default:
		fmt.Println("mutants: ok, none survived")
		return
	}
	stop()
	os.Exit(1)
}

func run(ctx context.Context, schedules int, only string) (survivors []string, err error) {
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		red, why, err := m.try(ctx, schedules)
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		if !red {
			survivors = append(survivors, m.name)
			why = "SURVIVED"
		}
		fmt.Printf("%-52s %s\n", m.name, why)
	}
	return survivors, ctx.Err()
}

// try runs the tests over a copy with the mutation: first the core alone, which
// takes seconds, and if that stays green all tests of the module.
func (m mutant) try(ctx context.Context, schedules int) (red bool, why string, err error) {
	home, err := filepath.Abs(".")
	if err != nil {
		return false, "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, os.DirFS(home)); err != nil {
		return false, "", err
	}
	if err := edit(filepath.Join(dir, "go.mod"), "=> ../", "=> "+filepath.Dir(home)+"/", -1); err != nil {
		return false, "", err
	}
	for _, c := range append([]change{{m.old, m.new}}, m.more...) {
		if err := edit(filepath.Join(dir, m.file), c.old, c.new, 1); err != nil {
			return false, "", err
		}
	}
	for _, tests := range [][]string{
		{"-run", "^(TestSituations|TestSchedules)$", "./internal/engine", fmt.Sprintf("-schedules=%d", schedules), "-failures=1"},
		{"-short", "-skip", "^TestSchedules$", "./..."},
	} {
		// Trimmed paths let the packages that did not change come from the cache.
		out, err := command(ctx, dir, append([]string{"test", "-trimpath", "-vet=off", "-failfast", "-timeout", "5m"}, tests...)...)
		switch {
		case ctx.Err() != nil:
			return false, "", ctx.Err()
		case strings.Contains(out, "[build failed]"):
			return false, "", fmt.Errorf("the mutant does not build: %s", out)
		case err != nil:
			return true, "red by " + firstFailure(out), nil
		}
	}
	return false, "", nil
}

func command(ctx context.Context, dir string, args ...string) (string, error) {
	run := exec.CommandContext(ctx, "go", args...)
	run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := run.CombinedOutput()
	return string(out), err
}

// firstFailure names the innermost test that failed first, and for a schedule
// what it broke.
func firstFailure(out string) string {
	name := "a panic or a timeout"
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

func edit(file, old, new string, times int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s does not contain %q: the list of mutants is out of date", filepath.Base(file), old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), old, new, times)), 0o600)
}
