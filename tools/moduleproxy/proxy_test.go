package moduleproxy_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/moduleproxy"
)

// outside lists the modules of others that importers of lkepool get. A longer list
// is a decision: every program that imports the library gets it too.
var outside = []string{
	"github.com/apapsch/go-jsonmerge/v2",
	"github.com/google/uuid",
	"github.com/hashicorp/go-cleanhttp",
	"github.com/hashicorp/go-retryablehttp",
	"github.com/oapi-codegen/nullable",
	"github.com/oapi-codegen/runtime",
	"k8s.io/utils",
}

// The example of lkepool's README is a program. It builds, and prints the page's output,
// in a project that has this repository only by its module paths.
func TestReadmeExampleInAnEmptyProject(t *testing.T) {
	p := newProject(t, "modules/claims", "modules/linode", "modules/linodesim", "modules/lkepool")
	program, err := moduleproxy.Program(filepath.Join(p.root, "modules", "lkepool", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "main.go"), program, 0o644); err != nil {
		t.Fatal(err)
	}
	p.run("mod", "init", "example.com/importer")
	p.run("get", moduleproxy.Prefix+"modules/lkepool@"+moduleproxy.Version, moduleproxy.Prefix+"modules/linodesim@"+moduleproxy.Version)
	p.run("mod", "tidy")
	p.run("vet", "./...")
	readme, err := os.ReadFile(filepath.Join(p.root, "modules", "lkepool", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, printed, _ := strings.Cut(string(readme), "\nIt prints:\n\n```\n")
	printed, _, _ = strings.Cut(printed, "```")
	if out := p.run("run", "."); strings.TrimSpace(out) != strings.TrimSpace(printed) || printed == "" {
		t.Errorf("the program printed %q, the page has %q", out, printed)
	}
	if mod := p.read("go.mod"); strings.Contains(mod, "replace") || !strings.Contains(mod, "modules/lkepool "+moduleproxy.Version) {
		t.Errorf("go.mod is\n%s", mod)
	}
}

func TestImportersGetFewModules(t *testing.T) {
	p := newProject(t, "modules/claims", "modules/linode", "modules/linodesim", "modules/lkepool")
	main := "package main\n\nimport (\n\t_ \"" + moduleproxy.Prefix + "modules/lkepool\"\n\t_ \"" + moduleproxy.Prefix +
		"modules/lkepool/lke\"\n)\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(p.dir, "main.go"), []byte(main), 0o644); err != nil {
		t.Fatal(err)
	}
	p.run("mod", "init", "example.com/importer")
	p.run("get", moduleproxy.Prefix+"modules/lkepool@"+moduleproxy.Version)
	p.run("mod", "tidy")
	var got []string
	for path := range strings.FieldsSeq(p.run("list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		if !strings.HasPrefix(path, moduleproxy.Prefix) && path != "example.com/importer" && !slices.Contains(got, path) {
			got = append(got, path)
		}
	}
	for _, path := range got {
		if !slices.Contains(outside, path) {
			t.Errorf("importers of lkepool now get %s", path)
		}
	}
}

// project is an empty folder outside the repository, and a Go command that finds
// the repository only through a proxy.
type project struct {
	t         *testing.T
	root, dir string
	env       []string
}

func newProject(t *testing.T, published ...string) *project {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what fills a module cache of its own")
	}
	p := &project{t: t, root: repositoryRoot(t), dir: t.TempDir()}
	proxy := t.TempDir()
	for _, dir := range published {
		if err := moduleproxy.Publish(proxy, p.root, dir); err != nil {
			t.Fatal(err)
		}
	}
	env, err := moduleproxy.Environment(t.Context(), proxy, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), env...)
	return p
}

// run runs a go command in the project.
func (p *project) run(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "go", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return p.output(cmd)
}

func (p *project) output(cmd *exec.Cmd) string {
	p.t.Helper()
	out, err := cmd.Output()
	if err != nil {
		var text []byte
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			text = failed.Stderr
		}
		p.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return string(out)
}

func (p *project) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := controlplane.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
