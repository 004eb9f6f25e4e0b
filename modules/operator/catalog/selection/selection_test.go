package selection_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

func TestPatternsThatMatchNoPlanAreRefused(t *testing.T) {
	for _, text := range []string{"", "g6-standard-1,", "class=", "class=a b", "g6 standard", "[a-z]"} {
		if list, err := selection.ParsePatterns(text); err == nil {
			t.Errorf("%q is read as %v", text, list)
		}
	}
}
