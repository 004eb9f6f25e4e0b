// Command mutants proves that the tests of this module can fail: it takes one
// safeguard after another out of a copy of the module and expects the tests to
// turn red. It ends with status 1 when a mutant survives. Run it in the module's
// folder:
//
//	go run ./internal/mutants [-schedules 5000] [-only name]
//
// It changes nothing but a temporary directory, which it removes.
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
	survivors, err := run(ctx, *schedules, *only)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
	case len(survivors) > 0:
		fmt.Fprintf(os.Stderr, "mutants: %d survived: %s\n", len(survivors), strings.Join(survivors, "; "))
	default:
		fmt.Println("mutants: ok, none survived")
		return
	}
	os.Exit(1)
}

func run(ctx context.Context, schedules int, only string) (survivors []string, err error) {
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		why, err := m.try(ctx, schedules)
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		if why == "" {
			survivors = append(survivors, m.name)
			why = "SURVIVED"
		}
		fmt.Printf("%-60s %s\n", m.name, why)
	}
	return survivors, ctx.Err()
}

// try runs the tests over a copy with the mutation, the schedules first, and
// returns which test turned red, "" for none.
func (m mutant) try(ctx context.Context, schedules int) (why string, err error) {
	home, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, os.DirFS(home)); err != nil {
		return "", err
	}
	if err := replace(filepath.Join(dir, "go.mod"), "=> ../", "=> "+filepath.Dir(home)+"/", -1); err != nil {
		return "", err
	}
	if err := replace(filepath.Join(dir, m.file), m.old, m.new, 1); err != nil {
		return "", err
	}
	if out, err := command(ctx, dir, "vet", "."); err != nil {
		return "", fmt.Errorf("the mutant does not build: %w: %s", err, out)
	}
	for _, tests := range [][]string{
		{"-run", "^TestSchedules$", ".", fmt.Sprintf("-schedules=%d", schedules), "-failures=1"},
		{"-skip", "^TestSchedules$", ".", "./linodes", "./bootstrap"},
	} {
		out, err := command(ctx, dir, append([]string{"test", "-failfast", "-timeout", "3m"}, tests...)...)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return firstFailure(out), nil
		}
	}
	return "", nil
}

func command(ctx context.Context, dir string, args ...string) (string, error) {
	run := exec.CommandContext(ctx, "go", args...)
	run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := run.CombinedOutput()
	return string(out), err
}

// firstFailure names the test that failed, and for a schedule what it broke.
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

func replace(file, old, new string, times int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s does not contain %q: the list of mutants is out of date", filepath.Base(file), old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), old, new, times)), 0o600)
}
