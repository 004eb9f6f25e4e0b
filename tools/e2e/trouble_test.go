package e2e_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// driftedLabels changes the labels of a NodePool: a node of a new LKE pool replaces its node, and the old pool goes with its last node.
func driftedLabels(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", `
    metadata:
      labels: {tone: old}
    spec:`, ""))
	e.apply(t, deployment("drifting", 1, ""))
	e.settled(t, "drifting", 1)
	g, ctx := NewWithT(t), t.Context()
	before := e.ourPools()
	g.Expect(before).To(HaveLen(1))
	e.calmed(t)
	e.apply(t, nodePool("default", `
    metadata:
      labels: {tone: new}
    spec:`, ""))
	g.Eventually(ctx, func(g Gomega) {
		pools := e.ourPools()
		g.Expect(pools).To(HaveLen(1))
		g.Expect(pools[0].ID).NotTo(Equal(before[0].ID))
		g.Expect(pools[0].Labels).To(HaveKeyWithValue("tone", "new"))
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].Labels).To(HaveKeyWithValue("tone", "new"))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "drifting", 1)
	e.oneToOne(t)
}

// lostInstance recycles a node as LKE may do: the Linode goes, and another Linode takes its place in the pool. The NodeClaim of the first
// Linode ends, the pod gets a node, and the new Linode is claimed or collected, and never stays unused.
func lostInstance(t *testing.T, e *environment) {
	oneNode(t, e, "loser")
	g, ctx := NewWithT(t), t.Context()
	claims := e.nodeClaims(ctx, g)
	g.Expect(claims).To(HaveLen(1))
	lost := e.ourInstances()[0]
	g.Expect(e.Sim.RecycleNode(e.ClusterID, lost.NodeID)).To(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		now := e.nodeClaims(ctx, g)
		g.Expect(now).To(HaveLen(1))
		g.Expect(now[0].UID).NotTo(Equal(claims[0].UID))
		instances := e.ourInstances()
		g.Expect(instances).To(HaveLen(1))
		g.Expect(slices.ContainsFunc(instances, func(i linodesim.Instance) bool { return i.ID == lost.ID })).To(BeFalse())
	}).WithTimeout(2 * patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "loser", 1)
	e.oneToOne(t)
}

// strandedInstance loses a NodeClaim without its instance being released, as when
// a person removes its finalizer and deletes it: the instance is collected. (Should
// Karpenter put the finalizer back in between, the ordinary release does it.)
func strandedInstance(t *testing.T, e *environment) {
	oneNode(t, e, "stranded")
	e.scale(t, "stranded", 0)
	g, ctx := NewWithT(t), t.Context()
	claims := e.nodeClaims(ctx, g)
	g.Expect(claims).To(HaveLen(1))
	claim := claims[0]
	patch := client.MergeFrom(claim.DeepCopy())
	claim.Finalizers = nil
	g.Expect(e.kube.Patch(ctx, &claim, patch)).To(Succeed())
	g.Expect(client.IgnoreNotFound(e.kube.Delete(ctx, &claim))).To(Succeed())
}
