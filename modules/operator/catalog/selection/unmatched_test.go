package selection_test

import (
	"maps"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

func TestUnmatchedIsTheFirstPatternWithoutAPlan(t *testing.T) {
	plans := map[string][]string{"g6-standard-4": {"standard"}, "g6-dedicated-4": {"dedicated"}}
	for list, want := range map[string]string{
		"*": "", "g6-standard-4": "", "class=dedicated,g6-*": "", "g6-standrd-4": "g6-standrd-4", "g6-*,class=gpu,g7-*": "class=gpu",
	} {
		patterns, err := selection.ParsePatterns(list)
		if got := patterns.Unmatched(maps.All(plans)); err != nil || got != want {
			t.Errorf("%s: got %q, want %q, %v", list, got, want, err)
		}
	}
}
