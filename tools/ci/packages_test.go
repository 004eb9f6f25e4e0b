package ci_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

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
