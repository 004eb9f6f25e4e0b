package catalog_test

import (
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

func TestOnlyAllowedPlansThatAreNotDeniedAreOffered(t *testing.T) {
	for name, test := range map[string]struct {
		allow, deny string
		in, out     []string
	}{
		"the default": {selection.DefaultAllow, selection.DefaultDeny,
			[]string{"g6-standard-1", "g6-dedicated-2", "g2-gpu-rtx4000a1-s"}, []string{"g6-nanode-1", "g1-gpu-rtx6000-1"}},
		"a plan is denied": {"*", selection.DefaultDeny + ",g6-standard-1", []string{"g6-standard-2"},
			[]string{"g6-standard-1", "g6-nanode-1"}},
		"one class is allowed":             {"class=dedicated", "none", []string{"g6-dedicated-2"}, []string{"g6-standard-1", "g6-nanode-1"}},
		"a class without one of its plans": {"class=dedicated", "g6-dedicated-2", []string{"g6-dedicated-4"}, []string{"g6-dedicated-2"}},
		"nothing is denied":                {"*", "none", []string{"g6-nanode-1", "g1-gpu-rtx6000-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := selection.Parse(test.allow, test.deny)
			if err != nil {
				t.Fatal(err)
			}
			_, c := simulated(t, catalog.Config{Region: "us-ord", Plans: chosen})
			var offered []string
			for _, it := range c.InstanceTypes(nil) {
				offered = append(offered, it.Name)
			}
			for _, plan := range test.in {
				if !slices.Contains(offered, plan) {
					t.Errorf("%s is not offered: %v", plan, offered)
				}
			}
			for _, plan := range test.out {
				if slices.Contains(offered, plan) {
					t.Errorf("%s is offered", plan)
				}
			}
		})
	}
}
