package mutants

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is the file of a module with its list.
const File = "testdata/mutants.yaml"

// List is a module's mutants.
type List struct {
	// Runs are the arguments of `go test`. Try makes one run after another until a run is red.
	Runs [][]string `json:"runs"`
	// Mutants are the module's mutants. The name of a mutant is the broken behaviour.
	Mutants []Mutant `json:"mutants"`
}

// Mutant is a change that removes one safeguard.
type Mutant struct {
	Name string `json:"name"`
	// File is changed by Edits; its path is relative to the module.
	File  string `json:"file"`
	Edits []Edit `json:"edits"`
	// By is the test that has to turn red. In is its package; "" = ".". If By is
	// empty, any test of Runs may turn red.
	By string `json:"by,omitempty"`
	In string `json:"in,omitempty"`
}

// runs are the arguments of `go test` for the mutant.
func (l List) runs(m Mutant) [][]string {
	if m.By == "" {
		return l.Runs
	}
	return [][]string{{"-run", "^" + m.By + "$", cmp.Or(m.In, ".")}}
}

// Edit replaces the first occurrence of Old.
type Edit struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Load reads the list of the module in a directory, and refuses a list that does not fit
// the module's source. A change that rewrites a safeguard has to correct the list, too.
func Load(module string) (List, error) {
	text, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(File)))
	if err != nil {
		return List{}, err
	}
	var list List
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return List{}, fmt.Errorf("%s: %w", File, err)
	}
	if len(list.Runs) == 0 || len(list.Mutants) == 0 {
		return List{}, fmt.Errorf("%s: has %d runs and %d mutants; it needs one of each at least", File, len(list.Runs), len(list.Mutants))
	}
	seen := map[string]bool{}
	for i, m := range list.Mutants {
		if m.Name == "" || seen[m.Name] {
			return List{}, fmt.Errorf("%s: mutants[%d].name: %q is missing or not unique", File, i, m.Name)
		}
		seen[m.Name] = true
		if _, err := m.mutated(module); err != nil {
			return List{}, fmt.Errorf("%s: mutants[%d] (%s): %w", File, i, m.Name, err)
		}
	}
	return list, nil
}

// mutated is the text of the mutant's file without the safeguard.
func (m Mutant) mutated(module string) (string, error) {
	file, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(m.File)))
	if err != nil {
		return "", err
	}
	text := string(file)
	for i, e := range m.Edits {
		if e.Old == "" || !strings.Contains(text, e.Old) {
			return "", fmt.Errorf("edits[%d].old: %s does not contain %q", i, m.File, e.Old)
		}
		text = strings.Replace(text, e.Old, e.New, 1)
	}
	if text == string(file) {
		return "", fmt.Errorf("edits: they change nothing in %s", m.File)
	}
	return text, nil
}
