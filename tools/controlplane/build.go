package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildFlags are common to all programs. Pinned ones are built with -trimpath
// besides, and so is the optional one, which shares most of its packages with
// them; ours are not, so that they share the build cache with `go test`.
var buildFlags = []string{"-buildvcs=false", "-mod=readonly"}

// Options of a build.
type Options struct {
	Root string    // the repository's root
	Out  io.Writer // progress is written here
	Live bool      // Out is a terminal: one line that is rewritten; else plain lines
	Only []string  // names to build; empty = all that are not optional
	With []string  // names of optional ones to build besides

	// Programs replaces the list of Programs(); nil = that list.
	Programs []Program
	// Go is the go command; "" = the one in PATH.
	Go string
}

// BinDir is where the programs are put and looked for.
func BinDir(root string) string { return filepath.Join(root, ".bin") }

// LogFile is where the output of a program's build goes.
func LogFile(root, name string) string {
	return filepath.Join(root, ".local", "logs", "build-"+name+".log")
}

// Build builds what is not up to date, one program after the other: `go build`
// uses all cores by itself. It stops at the first failure.
func Build(ctx context.Context, opts Options) error {
	programs, err := selected(opts)
	if err != nil {
		return err
	}
	goCommand, toolchain, err := toolchain(ctx, opts)
	if err != nil {
		return err
	}
	for _, dir := range []string{BinDir(opts.Root), filepath.Dir(LogFile(opts.Root, "x"))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	b := builder{opts: opts, goCommand: goCommand, toolchain: toolchain}
	b.progress = newProgress(opts.Out, opts.Live, len(programs))
	defer b.progress.close()
	for i, p := range programs {
		b.progress.start(i+1, p.Name)
		if err := b.one(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// selected returns the programs to build, in their order.
func selected(opts Options) ([]Program, error) {
	all := opts.Programs
	if all == nil {
		all = Programs()
	}
	for _, name := range slices.Concat(opts.Only, opts.With) {
		if !slices.ContainsFunc(all, func(p Program) bool { return p.Name == name }) {
			return nil, fmt.Errorf("build: there is no program %q", name)
		}
	}
	var programs []Program
	for _, p := range all {
		wanted := len(opts.Only) == 0 && !p.Optional || slices.Contains(opts.Only, p.Name) || slices.Contains(opts.With, p.Name)
		if wanted && p.present(opts.Root) {
			programs = append(programs, p)
		}
	}
	return programs, nil
}

// toolchain finds the go command and what identifies its output.
func toolchain(ctx context.Context, opts Options) (command, identity string, err error) {
	command = opts.Go
	if command == "" {
		command = "go"
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return "", "", errors.New("build: no Go found in PATH: install Go (https://go.dev/dl) and run it again")
	}
	version := exec.CommandContext(ctx, path, "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS")
	version.Dir = opts.Root
	version.Env = environment()
	out, err := version.Output()
	if err != nil {
		return "", "", fmt.Errorf("build: %s env: %w", path, err)
	}
	return path, string(out), nil
}

type builder struct {
	opts      Options
	goCommand string
	toolchain string
	progress  *progress
}

// one brings one program up to date.
func (b *builder) one(ctx context.Context, p Program) error {
	if !p.Pinned {
		return b.compile(ctx, p)
	}
	bin := BinDir(b.opts.Root)
	want, err := stamp(b.opts.Root, p, b.toolchain)
	if err != nil {
		return err
	}
	if upToDate(bin, p, want) {
		b.progress.done("up to date")
		return nil
	}
	if err := clearStamp(bin, p); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	if err := b.compile(ctx, p); err != nil {
		return err
	}
	if err := writeStamp(bin, p, want); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	return nil
}

// compile runs `go build` with its output in the program's log.
func (b *builder) compile(ctx context.Context, p Program) error {
	began := time.Now()
	logFile := LogFile(b.opts.Root, p.Name)
	log, err := os.Create(logFile)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer log.Close()
	counter := &counter{progress: b.progress}
	args := append([]string{"build", "-v"}, buildFlags...)
	if p.Pinned || p.Optional {
		args = append(args, "-trimpath")
	}
	args = append(args, "-ldflags", p.LDFlags, "-o", filepath.Join(BinDir(b.opts.Root), p.Name), p.Package)
	cmd := exec.CommandContext(ctx, b.goCommand, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = filepath.Join(b.opts.Root, p.Module)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, counter)
	fmt.Fprintf(log, "%s: go %s\n", p.Module, strings.Join(args, " "))
	err = cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: stopped", p.Name)
	}
	if err != nil {
		return fmt.Errorf("build %s: %s; log: %s", p.Name, cause(logFile, err), logFile)
	}
	b.progress.done("built in " + round(time.Since(began)))
	return nil
}

// environment: pure Go, and each module by itself, whatever the caller has set.
func environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
}
