package cloudprovider_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestANodePoolThatCanBuyNothingHasItsReason(t *testing.T) {
	of := func(classes ...string) *karpv1.NodePool {
		p := nodePool(nil)
		p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: v1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: classes},
		}
		return p
	}
	for name, c := range map[string]struct {
		pool    *karpv1.NodePool
		refused bool
		soldOut bool
		silent  bool
		noClass bool
		says    string
	}{
		"plans to buy":         {pool: of("standard")},
		"no plan of the class": {pool: of("highmem"), says: "highmem"},
		"all are refused": {pool: of("gpu"), refused: true,
			says: "none of the 1 plans that meet its requirements can be bought now"},
		"what it launches is refused":   {pool: of("gpu"), refused: true, says: "no firewall 7"},
		"a plan is sold out":            {pool: of("gpu"), soldOut: true, says: "the region has no capacity: g1-gpu-rtx4000a-1"},
		"nothing came of a purchase":    {pool: of("gpu"), silent: true, says: "may be reached (LKE Enterprise reports neither): g1-gpu"},
		"its LinodeNodeClass is absent": {pool: of("standard"), noClass: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{c.pool}
			if !c.noClass {
				objects = append(objects, readyClass())
			}
			p := provider(t, "standard", &scripted{t: t, claim: func(context.Context, request) (node, error) {
				if c.soldOut {
					return node{}, failing(claims.KindInsufficientCapacity, "")
				}
				if c.silent {
					return node{}, neverCame(claims.EffectUnknown)
				}
				return node{}, refusing()
			}}, objects...)
			if c.refused || c.soldOut || c.silent {
				if _, err := p.Create(t.Context(), nodeClaim(requires(v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, "gpu"))); err == nil {
					t.Fatal("launched")
				}
			}
			if got := p.Unbuyable(t.Context(), c.pool); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
			if got := p.Overdue(c.pool); (got != "") != c.silent || c.silent && !strings.Contains(got, "g1-gpu-rtx4000a-1") {
				t.Errorf("overdue: %q", got)
			}
			if got := p.Overdue(of("standard")); got != "" {
				t.Errorf("another NodePool shows %q", got)
			}
		})
	}
}
