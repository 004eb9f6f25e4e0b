package controlplane_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// fakeGo stands in for the go command: it answers `env` from a file and writes
// the output file of `build`, unless a file tells it how to fail.
const fakeGo = `#!/bin/sh
here=$(dirname "$0")
if [ "$1" = env ]; then cat "$here/version"; exit; fi
echo some/package >&2
if [ -s "$here/failure" ]; then cat "$here/failure" >&2; exit 1; fi
while [ "$1" != -o ]; do shift; done
echo built > "$2"
`

type world struct {
	root    string
	program controlplane.Program
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{root: t.TempDir(), program: controlplane.Program{
		Name: "prog", Module: "m", Package: "example.com/prog", Pinned: true,
	}}
	w.write(t, "go", fakeGo)
	w.write(t, "version", "go1.26.8")
	w.write(t, "m/go.mod", "module m\n")
	w.write(t, "m/go.sum", "")
	return w
}

func (w *world) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (w *world) build(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := controlplane.Build(t.Context(), controlplane.Options{
		Root: w.root, Out: &out, Go: filepath.Join(w.root, "go"), Programs: []controlplane.Program{w.program},
	})
	return out.String(), err
}

func TestBuildSkipsOnlyWhatIsUpToDate(t *testing.T) {
	cases := map[string]struct {
		change func(*testing.T, *world)
		builds bool
	}{
		"nothing changed":    {func(*testing.T, *world) {}, false},
		"go.mod changed":     {func(t *testing.T, w *world) { w.write(t, "m/go.mod", "module m // x\n") }, true},
		"go.sum changed":     {func(t *testing.T, w *world) { w.write(t, "m/go.sum", "x") }, true},
		"Go changed":         {func(t *testing.T, w *world) { w.write(t, "version", "go1.27.0") }, true},
		"flags changed":      {func(_ *testing.T, w *world) { w.program.LDFlags = "-s" }, true},
		"package changed":    {func(_ *testing.T, w *world) { w.program.Package += "2" }, true},
		"program is ours":    {func(t *testing.T, w *world) { w.program.Pinned = false; w.ours(t) }, true},
		"program is gone":    {func(t *testing.T, w *world) { w.remove(t, ".bin/prog") }, true},
		"stamp is gone":      {func(t *testing.T, w *world) { w.remove(t, ".bin/.stamps/prog") }, true},
		"last build failed":  {func(t *testing.T, w *world) { w.failOnce(t) }, true},
		"unrelated new file": {func(t *testing.T, w *world) { w.write(t, "m/notes.txt", "x") }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if out, err := w.build(t); err != nil || !strings.Contains(out, "[1/1] prog: built in") {
				t.Fatalf("first build: %v, %q", err, out)
			}
			c.change(t, w)
			out, err := w.build(t)
			if err != nil {
				t.Fatal(err)
			}
			if built := strings.Contains(out, "built in"); built != c.builds {
				t.Errorf("built = %v, want %v: %q", built, c.builds, out)
			}
		})
	}
}

func (w *world) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.root, name)); err != nil {
		t.Fatal(err)
	}
}

// ours gives the program sources in the repository, as the operator has.
func (w *world) ours(t *testing.T) {
	w.program.Package = "./cmd"
	w.write(t, "m/cmd/main.go", "package main")
}

// failOnce makes one build fail after a change and takes the change back: the
// old program is still there, but its state is not known.
func (w *world) failOnce(t *testing.T) {
	t.Helper()
	w.write(t, "failure", "go: broken")
	w.write(t, "version", "go1.27.0")
	if _, err := w.build(t); err == nil {
		t.Fatal("want a failure")
	}
	w.write(t, "failure", "")
	w.write(t, "version", "go1.26.8")
}

func TestBuildFailureIsOneLineWithCauseAndLog(t *testing.T) {
	cases := map[string]struct{ output, says string }{
		"disk full":      {"write /x/y: no space left on device\n", "the disk is full"},
		"proxy away":     {"go: a@v1: Get \"https://p/\": dial tcp: lookup p: no such host\n", "proxy cannot be reached"},
		"compiler error": {"# example.com/prog\nmain.go:3:1: undefined: x\n", "main.go:3:1: undefined: x"},
		"Go is too old":  {"go: go.mod requires go >= 1.26.6 (running go 1.20)\n", "go.mod requires go >= 1.26.6"},
		"says nothing":   {"\n", "exit status 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(t, "failure", c.output)
			_, err := w.build(t)
			if err == nil {
				t.Fatal("want an error")
			}
			log := controlplane.LogFile(w.root, "prog")
			for _, part := range []string{"build prog: ", c.says, log} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if content, err := os.ReadFile(log); err != nil || !strings.Contains(string(content), strings.TrimSpace(c.output)) {
				t.Errorf("the log lacks the output: %v %q", err, content)
			}
		})
	}
}

func TestBuildRefusesBeforeItStarts(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct {
		opts controlplane.Options
		says string
	}{
		"no Go":           {controlplane.Options{Root: w.root, Go: "no-such-go"}, "no Go found in PATH"},
		"unknown program": {controlplane.Options{Root: w.root, Only: []string{"etdc"}}, `no program "etdc"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.opts.Out = &bytes.Buffer{}
			err := controlplane.Build(t.Context(), c.opts)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// TestRealGoBuildsAProgram runs the real go command on a program without
// dependencies, with the live line of a terminal.
func TestRealGoBuildsAProgram(t *testing.T) {
	w := newWorld(t)
	w.write(t, "m/go.mod", "module example.com/m\n\ngo 1.26\n")
	w.write(t, "m/main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
	w.program.Package = "."
	var out bytes.Buffer
	opts := controlplane.Options{Root: w.root, Out: &out, Live: true, Programs: []controlplane.Program{w.program}}
	if err := controlplane.Build(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if missing := controlplane.Missing(controlplane.BinDir(w.root), "prog"); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	if !strings.Contains(out.String(), "\r\x1b[K[1/1] prog: built in") {
		t.Errorf("output %q", out.String())
	}
}

func TestPinnedVersionIsTheModulesVersion(t *testing.T) {
	for _, module := range []string{"kubernetes", "kubectl"} {
		t.Run(module, func(t *testing.T) { versionIsPinned(t, module) })
	}
}

func versionIsPinned(t *testing.T, module string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`k8s.io/kubernetes (\S+)`).FindSubmatch(content)
	if want == nil || string(want[1]) != controlplane.KubernetesVersion {
		t.Errorf("%s/go.mod requires %s, the flags have %s", module, want, controlplane.KubernetesVersion)
	}
	staging := "v0" + strings.TrimPrefix(controlplane.KubernetesVersion, "v1")
	for _, line := range strings.Split(string(content), "\n") {
		if _, to, found := strings.Cut(line, "=> "); found && !strings.HasSuffix(to, staging) {
			t.Errorf("%s: want %s", strings.TrimSpace(line), staging)
		}
	}
}
