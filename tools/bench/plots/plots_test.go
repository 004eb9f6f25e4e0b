package plots_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/tools/bench/plots"
)

const page = "../../../docs/performance.md"

// The pictures are drawn from the table that the page has now, and small enough to be committed.
func TestThePicturesShowThePagesFigures(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := plots.Draw(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pictures {
		if !strings.Contains(string(text), "](images/"+name+")") {
			t.Errorf("the page does not show %s", name)
		}
		got, err := os.ReadFile(filepath.Join(filepath.Dir(page), "images", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/images/%s is not what the page's table gives (%v): run `make pictures`", name, err)
		}
		if len(want) > 150<<10 || !bytes.Contains(want, []byte("enterprise, slow")) {
			t.Errorf("%s has %d bytes", name, len(want))
		}
	}
}

func TestAPageWithoutTheTableIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, words string }{
		"no section":    {"# Performance\n", "no section of bursts"},
		"another table": {"\n## Bursts\n| a | b |\n|---|---|\n| 1 | 2 |\n", "another table"},
		"a short row":   {"\n## Bursts\n| n | floor_s |\n|---|---|\n| 1 |\n", "1 cells for 2 columns"},
		"no rows":       {"\n## Bursts\n| n | floor_s |\n|---|---|\n", "no rows for standard, realistic"},
		"no number": {"\n## Bursts\n| tier | profile | n | calls | floor_s |\n|---|---|---|---|---|\n| standard | realistic | x | 1 | 1 |\n",
			`"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := plots.Draw(c.text); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
		})
	}
}
