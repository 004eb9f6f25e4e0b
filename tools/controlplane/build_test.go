package controlplane_test

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// The tests run tools/make/build.sh.
//
// fakeGo stands in for the go command: it answers `env` from a file and writes
// its arguments as the output file of `build`, unless a file makes it fail.
const fakeGo = `#!/bin/sh
here=$(dirname "$0")
if [ "$1" = env ]; then cat "$here/version"; exit; fi
if [ "$1" = list ]; then echo "some/package v1"; exit; fi
echo some/package >&2
if [ -s "$here/failure" ]; then cat "$here/failure" >&2; exit 1; fi
all="$*"
while [ "$1" != -o ]; do shift; done
echo "$all" > "$2"
`

// world is a folder with one program to build.
type world struct {
	root, kind, pkg, flags string
	command                string // the go command; "" = fakeGo
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{root: t.TempDir(), kind: "pinned", pkg: "example.com/prog"}
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

func (w *world) build(t *testing.T, args ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../make/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Env = append(os.Environ(), "ROOT="+w.root, "GO="+cmp.Or(w.command, filepath.Join(w.root, "go")),
		"PROGRAMS=prog|m|"+w.pkg+"|"+w.kind+"|"+w.flags+"|.bin", "KUBERNETES=")
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(strings.TrimSpace(failure.String()))
	}
	return string(out), err
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
		"flags changed":      {func(_ *testing.T, w *world) { w.flags = "-s" }, true},
		"package changed":    {func(_ *testing.T, w *world) { w.pkg += "2" }, true},
		"program is ours":    {func(_ *testing.T, w *world) { w.kind = "own" }, true},
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

// A quick build is without inlining. It never replaces a program with inlining, and a build that is not quick replaces its programs.
func TestAQuickBuildIsOfQuickPrograms(t *testing.T) {
	const inlining, without = false, true
	for name, c := range map[string]struct {
		builds [][]string
		want   bool
	}{
		"not quick":                          {[][]string{{}}, inlining},
		"quick in an empty folder":           {[][]string{{"-quick"}}, without},
		"quick after quick":                  {[][]string{{"-quick"}, {"-quick"}}, without},
		"not quick after quick":              {[][]string{{"-quick"}, {}}, inlining},
		"quick after not quick":              {[][]string{{}, {"-quick"}}, inlining},
		"quick after all":                    {[][]string{{"-quick"}, {}, {"-quick"}}, inlining},
		"quick, of another list of programs": {[][]string{{"-quick", "prog"}, {"-quick", "-with", "prog"}}, without},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, args := range c.builds {
				if out, err := w.build(t, args...); err != nil {
					t.Fatal(out, err)
				}
			}
			built, err := os.ReadFile(filepath.Join(w.root, ".bin", "prog"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(built), "-gcflags=all=-l"); got != c.want {
				t.Errorf("without inlining: %v, want %v: %s", got, c.want, built)
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
			log := filepath.Join(w.root, ".local", "logs", "build-prog.log")
			for _, part := range []string{"build: prog: ", c.says, log} {
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
	if _, err := w.build(t, "porg"); err == nil || !strings.Contains(err.Error(), `no program "porg"; there are prog`) {
		t.Errorf("an unknown program: %v", err)
	}
	w.command = "no-such-go"
	if _, err := w.build(t); err == nil || !strings.Contains(err.Error(), "no Go found in PATH") {
		t.Errorf("no Go: %v", err)
	}
}

// TestRealGoBuildsAProgram runs the real go command on a program without dependencies.
func TestRealGoBuildsAProgram(t *testing.T) {
	w := newWorld(t)
	w.write(t, "m/go.mod", "module example.com/m\n\ngo 1.26\n")
	w.write(t, "m/main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
	w.pkg, w.command = ".", "go"
	out, err := w.build(t)
	if err != nil {
		t.Fatal(err)
	}
	if missing := controlplane.Missing(controlplane.BinDir(w.root), "prog"); len(missing) > 0 ||
		!strings.Contains(out, "[1/1] prog: built in") {
		t.Errorf("missing: %v, output %q", missing, out)
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

// Go compiles a package once for each version of its module and of the modules that it imports. Cluster API's controllers want a newer
// cel-go than Kubernetes and stay apart.
func TestSharedLibrariesHaveOneVersion(t *testing.T) {
	first := map[string][2]string{} // by module: version and the folder that has it
	for _, folder := range []string{"etcd", "kubernetes", "kubectl", "kwok", "csi", "machine", "../../modules/operator", ".."} {
		for module, version := range versions(t, folder) {
			if seen, is := first[module]; is && seen[0] != version {
				t.Errorf("%s: %s/go.mod has %s, %s/go.mod %s", module, folder, version, seen[1], seen[0])
			}
			first[module] = [2]string{version, folder}
		}
	}
}

// Each go.mod names the same toolchain: Go compiles a package again for another one, and a build from nothing would compile Kubernetes
// twice.
func TestModulesHaveOneToolchain(t *testing.T) {
	work, err := os.ReadFile(filepath.Join("..", "..", "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.ParseWork("go.work", work, nil)
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for _, pattern := range []string{"../../modules/*/go.mod", "../go.mod", "../*/go.mod", "*/go.mod"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		modules += len(names)
		for _, name := range names {
			if got := parsed(t, name).Toolchain; got == nil || got.Name != file.Toolchain.Name {
				t.Errorf("%s: toolchain %v, go.work has %s", name, got, file.Toolchain.Name)
			}
		}
	}
	if modules < 15 {
		t.Errorf("%d modules are compared, the repository has more", modules)
	}
}

func parsed(t *testing.T, name string) *modfile.File {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// versions returns the version of each module that a go.mod requires, as its replacements change it.
func versions(t *testing.T, folder string) map[string]string {
	t.Helper()
	file, all := parsed(t, filepath.Join(folder, "go.mod")), map[string]string{}
	for _, r := range file.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range file.Replace {
		if _, is := all[r.Old.Path]; is {
			all[r.Old.Path] = r.New.Version
		}
	}
	return all
}
