package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
)

// largePod needs more memory than nodes of an 8 GiB plan have. On Enterprise nodes reserve about a quarter of the memory: the operator
// estimates this before it has seen a node, and buys one node. On Standard the nodes of this test have less than the estimate: the
// operator buys one node of the smaller plan that cannot hold the pod, the NodePool reports this, and the next node holds the pod.
func largePod(t *testing.T, e *environment) {
	const small, large = "g6-standard-4", "g6-standard-6"
	request, instances := "6.5Gi", 1
	if e.tier == "standard" {
		request, instances = "7.6Gi", 2
	}
	e.nodePool(t, nodePoolSpec{types: []string{small, large}})
	since, claims := e.now(), e.metric(t, "karpenter_nodeclaims_created_total")
	e.apply(t, deployment("large", 1, `
      containers:
        - name: large
          image: registry.k8s.io/pause:3.10
          resources: {requests: {memory: `+request+`}}`))
	e.settled(t, "large", 1)
	if e.tier == "standard" {
		e.event(t, "NodePool", "default", "NodeTooSmall", small)
	}
	e.matched(t, 1)
	ctx, g := t.Context(), NewWithT(t)
	g.Expect(e.types(ctx, g)).To(Equal([]string{large}))
	if since.made() != instances {
		t.Errorf("%d instances were made for one pod of %s, want %d", since.made(), request, instances)
	}
	if got := e.metric(t, "karpenter_nodeclaims_created_total") - claims; int(got) != instances {
		t.Errorf("Karpenter made %v NodeClaims, want %d", got, instances)
	}
	node := e.karpenterNodes(ctx, g)[0]
	kept := node.Status.Capacity.Memory().DeepCopy()
	kept.Sub(*node.Status.Allocatable.Memory())
	if gibibyte := resource.MustParse("1Gi"); (kept.Cmp(gibibyte) > 0) != (e.tier == "enterprise") {
		t.Errorf("the node keeps %s of its memory back", &kept)
	}
}
