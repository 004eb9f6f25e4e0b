package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A safeguard that was rewritten has to be found here again.
func TestEveryMutantFitsTheSource(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutants {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(m.file)))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n == 0 || m.old == m.new || seen[m.name] {
			t.Errorf("%s: %s contains %q %d times", m.name, m.file, m.old, n)
		}
		seen[m.name] = true
	}
}
