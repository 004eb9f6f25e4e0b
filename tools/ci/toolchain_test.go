package ci_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A packaging of Go may set GOTOOLCHAIN to local, with which go refuses the modules that need a newer Go.
func TestEveryScriptThatCallsGoLetsItFetchItsToolchain(t *testing.T) {
	calls := regexp.MustCompile(`(?m)^[^#\n]*(\bgo (-C|build|run|test|list|tool|env|mod|vet)\b|tools/make/tool\.sh|"\$go")`)
	found := 0
	for _, folder := range []string{"../make", "../codegen", "../../charts", "../../.ci"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".sh" {
				return err
			}
			script, err := os.ReadFile(path)
			if err != nil || !calls.Match(script) {
				return err
			}
			found++
			if !regexp.MustCompile(`(?m)^export .*GOTOOLCHAIN=auto`).Match(script) {
				t.Errorf("%s calls go and does not export GOTOOLCHAIN=auto", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("only %d scripts call go", found)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "\nexport GOTOOLCHAIN = auto\n") {
		t.Error("the Makefile does not export GOTOOLCHAIN, which the verbs of the workflows and .ci/run need")
	}
}

// A script that only a workflow or a maintainer calls keeps the name of a package that has moved, unless a test reads it.
func TestScriptsNamePackagesThatExist(t *testing.T) {
	// A folder that a variable names is only known when the script runs.
	call := regexp.MustCompile(`(?:cd |go -C )((?:modules|tools)[\w/-]*)\b[^\n]*?\b(?:build|run|test|vet)\b([^\n]*)`)
	local := regexp.MustCompile(` (\./[\w/-]+)`)
	scripts, err := filepath.Glob("../make/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, script := range append(scripts, "../../Makefile") {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range call.FindAllStringSubmatch(string(text), -1) {
			for _, name := range local.FindAllStringSubmatch(c[2], -1) {
				found++
				if _, err := os.Stat(filepath.Join("../..", c[1], name[1])); err != nil {
					t.Errorf("%s names package %s of %s: %v", script, name[1], c[1], err)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names of packages were found", found)
	}
}
