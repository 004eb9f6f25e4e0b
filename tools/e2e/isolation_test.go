package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// isolated makes a node without public addresses, and replaces it when the class gives them back. Its plan is one
// that other lanes do not make scarce.
func isolated(t *testing.T, e *environment) {
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
