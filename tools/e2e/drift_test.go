package e2e_test

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// Control plane versions of the Enterprise tier before and after an upgrade.
const olderVersion, newerVersion = "v1.32.9+lke5", "v1.33.6+lke7"

func TestDriftEnterprise(t *testing.T) {
	t.Parallel()
	e := start(t, "drift", "enterprise", nil, func(o *localcluster.Options) { o.K8sVersion = olderVersion })
	e.scenario(t, "a class gets a firewall, the cluster an upgrade", driftedFirewallAndVersion)
}

const drifting = "drifting"

// twoApart starts two pods on two nodes of a NodePool that lets one node at a time
// be replaced. Each pod tolerates every taint with the key team, and no other taint: a pod that tolerated all taints would return to the
// node that is being drained.
func twoApart(t *testing.T, e *environment, spec nodePoolSpec) {
	e.nodePool(t, spec)
	e.apply(t, deployment(drifting, 2, apart(drifting)+"\n      tolerations: [{key: team, operator: Exists}]"))
	e.settled(t, drifting, 2)
	e.matched(t, 2)
}

// rolled makes a change and waits until both nodes are replaced: one at a time, by
// nodes of another LKE pool, the old pool gone with its last node, and never fewer
// than one of the two pods running. It returns the new pools and nodes.
func rolled(t *testing.T, e *environment, change func()) ([]linodesim.Pool, []corev1.Node) {
	t.Helper()
	e.calmed(t)
	ctx, g := t.Context(), NewWithT(t)
	since, least := e.now(), e.leastAvailable(t, drifting)
	var oldPools []int
	var oldNodes []string
	for _, pool := range e.ourPools() {
		oldPools = append(oldPools, pool.ID)
	}
	for _, node := range e.karpenterNodes(ctx, g) {
		oldNodes = append(oldNodes, node.Name)
	}
	change()
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(2))
		g.Expect(slices.ContainsFunc(nodes, func(n corev1.Node) bool { return slices.Contains(oldNodes, n.Name) })).To(BeFalse(),
			"an old node is left")
		g.Expect(slices.ContainsFunc(e.ourPools(), func(p linodesim.Pool) bool { return slices.Contains(oldPools, p.ID) })).To(BeFalse(),
			"an old pool is left")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, drifting, 2)
	e.matched(t, 2)
	for _, name := range oldNodes {
		e.event(t, "Node", name, "Disrupting Node", "Drifted")
	}
	if since.made() != 2 || since.peak(2) != 3 {
		t.Errorf("%d instances were made to replace two, up to %d at the same time", since.made(), since.peak(2))
	}
	if n := least(); n < 1 {
		t.Errorf("for a moment %d of the two pods were available", n)
	}
	return e.ourPools(), e.karpenterNodes(ctx, g)
}

// driftedTaintsAndClass: new taints on the NodePool, and a field of the class that
// is in its hash.
func driftedTaintsAndClass(t *testing.T, e *environment) {
	spec := nodePoolSpec{budget: "1", more: []string{"taints: [{key: team, value: blue, effect: NoSchedule}]"}}
	twoApart(t, e, spec)
	g := NewWithT(t)

	spec.more = []string{"taints: [{key: team, value: green, effect: NoSchedule}]"}
	pools, nodes := rolled(t, e, func() { e.apply(t, spec.yaml()) })
	for _, pool := range pools {
		g.Expect(pool.Taints).To(Equal([]linodesim.Taint{{Key: "team", Value: "green", Effect: "NoSchedule"}}))
	}
	for _, node := range nodes {
		g.Expect(node.Spec.Taints).To(Equal([]corev1.Taint{{Key: "team", Value: "green", Effect: corev1.TaintEffectNoSchedule}}))
	}

	pools, _ = rolled(t, e, func() { e.apply(t, class("{diskEncryption: disabled}")) })
	for _, pool := range pools {
		g.Expect(pool.DiskEncryption).To(Equal("disabled"))
	}
}

// driftedFirewallAndVersion: fields that only node pools of the Enterprise tier have. The test restarts the operator after the upgrade,
// because a running operator looks only every few minutes.
func driftedFirewallAndVersion(t *testing.T, e *environment) {
	twoApart(t, e, nodePoolSpec{budget: "1"})
	g := NewWithT(t)

	firewall := e.Sim.AddFirewall(linodesim.FirewallSpec{Label: "workers", InboundPolicy: "DROP", OutboundPolicy: "ACCEPT"})
	pools, _ := rolled(t, e, func() { e.apply(t, class(fmt.Sprintf("{firewallID: %d}", firewall))) })
	for _, pool := range pools {
		g.Expect(pool.FirewallID).To(HaveValue(Equal(firewall)))
		g.Expect(pool.K8sVersion).To(Equal(olderVersion))
	}

	pools, nodes := rolled(t, e, func() {
		g.Expect(e.Sim.UpgradeCluster(e.ClusterID, newerVersion)).To(Succeed())
		e.Operator.Stop(t.Context())
		g.Expect(e.Operator.Start(t.Context())).To(Succeed())
	})
	for _, pool := range pools {
		g.Expect(pool.K8sVersion).To(Equal(newerVersion))
		g.Expect(pool.FirewallID).To(HaveValue(Equal(firewall)))
	}
	for _, node := range nodes {
		g.Expect(node.Status.NodeInfo.KubeletVersion).To(Equal("v1.33.6"))
		g.Expect(node.Labels).To(HaveKeyWithValue(karpv1.NodePoolLabelKey, "default"))
	}
}
