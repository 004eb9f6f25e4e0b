package moduleproxy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Environment is the environment of a project that reaches the repository only through the proxy.
// It has its own module cache, because the published module changes under the same version. Every other module
// comes from the machine's cache first, so that no network is needed. With -trimpath a compiled package does not depend on the folder of
// the module cache, so each package is compiled once on a machine.
func Environment(ctx context.Context, proxy, cache string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	settings := strings.Fields(string(out))
	if len(settings) != 2 {
		return nil, fmt.Errorf("go env printed %q, want GOMODCACHE and GOPROXY", settings)
	}
	sources := []string{"file://" + filepath.ToSlash(proxy), "file://" + filepath.ToSlash(filepath.Join(settings[0], "cache", "download")),
		settings[1]}
	return []string{
		"GOWORK=off", "GOFLAGS=-modcacherw -trimpath", "CGO_ENABLED=0", "GOMODCACHE=" + cache,
		"GOPROXY=" + strings.Join(sources, ","),
		// The checksum database does not have our own modules, and it is not available without a
		// network.
		"GOSUMDB=off",
		// Without the database the go command refuses to fetch a newer toolchain, so the project uses the
		// running one: `go test` and tools/make/release.sh put the toolchain of tools/go.mod first in PATH.
		"GOTOOLCHAIN=local",
	}, nil
}

var programBlock = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// Program is the first Go program in a README.
func Program(readme string) ([]byte, error) {
	text, err := os.ReadFile(readme)
	if err != nil {
		return nil, err
	}
	found := programBlock.FindSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("%s has no Go program", readme)
	}
	return found[1], nil
}
