package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/tools/moduleproxy"
)

// modules are the modules in the order of their tags: each comes after the modules that it requires.
var modules = []string{"modules/claims", "modules/linode", "modules/linodesim", "modules/lkeprobe", "modules/lkepool",
	"modules/instances", "modules/clusterapi", "modules/nodeclass", "modules/operator", "modules/advisor"}

// libraries are packages that other projects import, one for each module that is a library.
var libraries = []string{"modules/claims", "modules/instances", "modules/lkepool", "modules/linode", "modules/linodesim",
	"modules/nodeclass/v1alpha1"}

// tagModules tags every module of the repository in clone with its version. Before each tag it
// sets the required versions of the module's siblings, and commits the change if there is a change.
func tagModules(ctx context.Context, clone, version string) ([]string, error) {
	var tags []string
	for _, dir := range modules {
		if err := requireSiblings(ctx, clone, dir, version); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		tag := dir + "/" + version
		if _, err := git(ctx, clone, "tag", "--annotate", "--message", dir+" "+version, tag); err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func requireSiblings(ctx context.Context, clone, dir, version string) error {
	file := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(filepath.Join(clone, file))
	if err != nil {
		return err
	}
	for _, sibling := range modules {
		if sibling == dir || !bytes.Contains(text, []byte(moduleproxy.Prefix+sibling+" v")) {
			continue
		}
		if _, err := run(ctx, filepath.Join(clone, dir), nil, "go", "mod", "edit",
			"-require="+moduleproxy.Prefix+sibling+"@"+version); err != nil {
			return err
		}
	}
	changed, err := git(ctx, clone, "status", "--porcelain", "--", file)
	if err != nil || changed == "" {
		return err
	}
	_, err = git(ctx, clone, "commit", "--message", dir+": require siblings at "+version, "--", file)
	return err
}

// scratchClone clones the repository's HEAD into dir.
func scratchClone(ctx context.Context, root, dir string) error {
	if _, err := git(ctx, root, "clone", "--quiet", "--no-hardlinks", root, dir); err != nil {
		return err
	}
	for _, setting := range [][2]string{{"user.name", "release-check"}, {"user.email", "release-check@localhost"}, {"commit.gpgsign", "false"},
		{"tag.gpgsign", "false"}} {
		if _, err := git(ctx, dir, "config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	return nil
}

// importModules gets the libraries in an empty module below work, from a proxy that serves the
// tags of the clone, and runs the program of lkepool's README there.
func importModules(ctx context.Context, clone, work, version string) error {
	proxy, project := filepath.Join(work, "proxy"), filepath.Join(work, "importer")
	for _, dir := range modules {
		if err := moduleproxy.PublishTag(ctx, proxy, clone, dir, version); err != nil {
			return err
		}
	}
	program, err := moduleproxy.Program(filepath.Join(clone, "modules", "lkepool", "README.md"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(project, "main.go"), program, 0o644); err != nil {
		return err
	}
	env, err := moduleproxy.Environment(ctx, proxy, filepath.Join(work, "modcache"))
	if err != nil {
		return err
	}
	get, packages := []string{"get"}, []string{}
	for _, dir := range libraries {
		get = append(get, moduleproxy.Prefix+dir+"@"+version)
		packages = append(packages, moduleproxy.Prefix+dir)
	}
	for _, args := range [][]string{{"mod", "init", "example.com/importer"}, get, {"build", "-o", "program", "."},
		append([]string{"list", "-deps"}, packages...)} {
		if _, err := run(ctx, project, env, "go", args...); err != nil {
			return err
		}
	}
	_, err = run(ctx, project, nil, filepath.Join(project, "program"))
	return err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	return run(ctx, dir, nil, "git", args...)
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
