package vulncheck_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
)

// program calls net/url.Parse, and nothing else in a database of these tests.
const program = `package main

import (
	"fmt"
	"net/url"
)

func main() { fmt.Println(url.Parse("https://example.com")) }
`

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// database has one vulnerability, of all versions of a function of the standard library.
func database(t *testing.T, pkg, symbol string) string {
	t.Helper()
	const id, modified = "GO-2026-9999", "2026-01-02T03:04:05Z"
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"index/db.json":      fmt.Sprintf(`{"modified": %q}`, modified),
		"index/vulns.json":   fmt.Sprintf(`[{"id": %q, "modified": %q}]`, id, modified),
		"index/modules.json": fmt.Sprintf(`[{"path": "stdlib", "vulns": [{"id": %q, "modified": %q}]}]`, id, modified),
		"ID/" + id + ".json": fmt.Sprintf(`{"schema_version": "1.3.1", "id": %q, "modified": %q, "published": %q, "summary": "made for a test", "details": "made for a test",
			"affected": [{"package": {"name": "stdlib", "ecosystem": "Go"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
			"ecosystem_specific": {"imports": [{"path": %q, "symbols": [%q]}]}}], "database_specific": {"url": "https://pkg.go.dev/vuln/%s"}}`, id, modified, modified, pkg, symbol, id),
	})
	return "file://" + dir
}

// check runs the script over a module and returns its exit code and its output.
func check(t *testing.T, db, module string) (int, string) {
	t.Helper()
	root, err := controlplane.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "make", "vulncheck.sh"), module)
	command.Env = append(os.Environ(), "VULNDB="+db)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

func TestVulnerabilitiesThatAProgramReachesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what builds govulncheck and analyses a program")
	}
	module := t.TempDir()
	write(t, module, map[string]string{"go.mod": "module example.com/checked\n\ngo 1.26.0\n", "main.go": program})
	for _, test := range []struct {
		name, db string
		exit     int
		prints   []string
	}{
		{"a function that is called", database(t, "net/url", "Parse"), 1,
			[]string{"GO-2026-9999", "url.Parse", "known vulnerabilities in " + module}},
		{"a function that is not called", database(t, "net/url", "ParseQuery"), 0, []string{"nothing known in 1 modules"}},
		{"another package", database(t, "archive/zip", "OpenReader"), 0, []string{"nothing known in 1 modules"}},
		{"no database", "file:///does/not/exist", 2, []string{"was not checked", "file:///does/not/exist", "VULNDB="}},
		{"no network", "http://127.0.0.1:1", 2, []string{"was not checked", "VULNDB="}},
	} {
		t.Run(test.name, func(t *testing.T) {
			exit, out := check(t, test.db, module)
			if exit != test.exit {
				t.Errorf("exit code %d, want %d:\n%s", exit, test.exit, out)
			}
			for _, words := range test.prints {
				if !strings.Contains(out, words) {
					t.Errorf("%q is missing in:\n%s", words, out)
				}
			}
		})
	}
}

func TestAModuleThatDoesNotBuildIsNotTakenForClean(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what builds govulncheck")
	}
	module := t.TempDir()
	write(t, module, map[string]string{"go.mod": "module example.com/broken\n\ngo 1.26.0\n",
		"main.go": "package main\n\nfunc main() { missing() }\n"})
	if exit, out := check(t, database(t, "net/url", "Parse"), module); exit != 2 || !strings.Contains(out, "was not checked") {
		t.Errorf("exit code %d:\n%s", exit, out)
	}
}
