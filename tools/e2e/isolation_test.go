package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

func TestIsolationStandard(t *testing.T)   { isolation(t, "standard") }
func TestIsolationEnterprise(t *testing.T) { isolation(t, "enterprise") }

// isolation makes nodes without public addresses, replaces them when the class gives them back, on an account that has
// access to it.
func isolation(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "isolation", tier, nil, func(o *localcluster.Options) { o.Behaviour.AllowIsolation = true })
	e.scenario(t, "nodes without public addresses", func(t *testing.T, e *environment) {
		e.apply(t, class("{isolation: {publicIPv4: false, publicIPv6: false}}"))
		e.apply(t, nodePoolSpec{budget: "1"}.yaml())
		e.nodePoolReady(t, "default")
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
	})
}
