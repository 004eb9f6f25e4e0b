package selection_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

func TestPricesOfPlans(t *testing.T) {
	prices, err := selection.ParsePrices("g1-gpu-rtx4000a-1=0.52, g2-gpu-*=1.5,g2-gpu-large=9")
	if err != nil {
		t.Fatal(err)
	}
	for plan, want := range map[string]float64{"g1-gpu-rtx4000a-1": 0.52, "g2-gpu-large": 1.5, "g1-gpu-rtx4000a-2": 0, "g6-standard-1": 0} {
		if got := prices.Of(plan); got != want {
			t.Errorf("%s costs %v, want %v", plan, got, want)
		}
	}
	for _, text := range []string{"g1", "g1=", "g1=x", "g1=0", "g1=-1", "g1=NaN", "g1=Inf", "=1", "class=gpu=1", "g1=1,", "a b=1", "none=1"} {
		if prices, err := selection.ParsePrices(text); err == nil {
			t.Errorf("%q is read as %v", text, prices)
		}
	}
	if prices, err := selection.ParsePrices(""); err != nil || prices.Of("g1") != 0 {
		t.Errorf("nothing is read as %v, %v", prices, err)
	}
}
