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
