package e2e_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// announcedMaintenance announces work on the host of one of two nodes: that node
// alone is replaced, its replacement is made first, and the operator shows which
// node is concerned until it is gone.
func announcedMaintenance(t *testing.T, e *environment) {
	const pending = "karpenter_linode_host_maintenance_pending_nodes"
	twoApart(t, e, nodePoolSpec{budget: "1"})
	e.calmed(t)
	g, ctx := NewWithT(t), t.Context()
	claims := e.nodeClaims(ctx, g)
	concerned, other := claims[0], claims[1]
	since, least := e.now(), e.leastAvailable(t, drifting)
	announced := linodesim.HostMaintenance{Type: "reboot", Status: "pending", When: time.Now().Add(72 * time.Hour),
		Reason: "the host gets a new kernel"}
	i := slices.IndexFunc(e.ourInstances(), func(i linodesim.Instance) bool { return i.Label == concerned.Status.NodeName })
	g.Expect(i).To(BeNumerically(">=", 0), "no Linode is called %s", concerned.Status.NodeName)
	instance := e.ourInstances()[i].ID
	g.Expect(e.Sim.AnnounceMaintenance(instance, &announced)).To(Succeed())

	g.Eventually(ctx, func() float64 { return e.metric(t, pending) }).WithTimeout(patience).WithPolling(interval).Should(BeEquivalentTo(1))
	e.event(t, "NodeClaim", concerned.Name, "HostMaintenance", "reboot")
	// Karpenter checks a NodeClaim for drift every five minutes, and when it changes.
	e.annotate(t, &concerned, "example.com/looked-at", "true")
	g.Eventually(ctx, func(g Gomega) {
		names := namesOf(e.karpenterNodes(ctx, g))
		g.Expect(names).To(HaveLen(2))
		g.Expect(names).To(ContainElement(other.Status.NodeName), "the node that no maintenance concerns")
		g.Expect(names).NotTo(ContainElement(concerned.Status.NodeName))
		g.Expect(slices.ContainsFunc(e.ourInstances(), func(i linodesim.Instance) bool { return i.ID == instance })).To(BeFalse(),
			"its Linode is left")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, drifting, 2)
	e.matched(t, 2)
	e.event(t, "Node", concerned.Status.NodeName, "Disrupting Node", "Drifted")
	if since.made() != 1 || since.peak(2) != 3 {
		t.Errorf("%d instances were made to replace one, up to %d at the same time", since.made(), since.peak(2))
	}
	if n := least(); n < 1 {
		t.Errorf("for a moment %d of the two pods were available", n)
	}
	g.Eventually(ctx, func() float64 { return e.metric(t, pending) }).WithTimeout(patience).WithPolling(interval).Should(BeZero())
}

func namesOf(nodes []corev1.Node) (names []string) {
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}
