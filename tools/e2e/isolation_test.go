package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// isolated makes a node without public addresses, and replaces it when the class gives them back. Its plan is one
// that other lanes do not make scarce. On Standard the class is refused, and nothing is bought, until it is corrected.
func isolated(t *testing.T, e *environment) {
	if e.tier == "standard" {
		isolatedOnStandard(t, e)
		return
	}
	e.nodePool(t, nodePoolSpec{class: "{isolation: {publicIPv4: false, publicIPv6: false}}", budget: "1", types: []string{"g6-standard-2"}})
	e.apply(t, deployment("private", 1, ""))
	e.settled(t, "private", 1)
	e.matched(t, 1)
	ctx, g := t.Context(), NewWithT(t)
	isolated := e.karpenterNodes(ctx, g)[0]
	g.Expect(isolated.Status.Addresses).To(ContainElement(HaveField("Type", corev1.NodeInternalIP)))
	g.Expect(isolated.Status.Addresses).NotTo(ContainElement(HaveField("Type", corev1.NodeExternalIP)))

	e.apply(t, class("{}"))
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].UID).NotTo(Equal(isolated.UID))
		g.Expect(nodes[0].Status.Addresses).To(ContainElement(HaveField("Type", corev1.NodeExternalIP)))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "private", 1)
	e.matched(t, 1)
}

func isolatedOnStandard(t *testing.T, e *environment) {
	since := e.now()
	e.apply(t, class("{isolation: {publicIPv4: false}}"))
	e.apply(t, nodePoolSpec{types: []string{"g6-standard-2"}}.yaml())
	e.apply(t, deployment("private", 1, ""))
	e.event(t, "LinodeNodeClass", "default", v1alpha1.ReasonIsolationUnsupported, "remove spec.isolation")
	e.event(t, "NodePool", "default", "NodePoolNotReady", "spec.isolation")
	if since.made() != 0 {
		t.Errorf("%d instances were made of a class that LKE Standard does not take", since.made())
	}
	e.apply(t, class("{}"))
	e.settled(t, "private", 1)
	e.matched(t, 1)
}
