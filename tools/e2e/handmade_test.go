package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

// handmadeNodeClaim is a NodeClaim that belongs to no NodePool: it gets a node, and a pod that is pending at the same time gets a node of
// the pod's NodePool.
func handmadeNodeClaim(t *testing.T, e *environment) {
	e.nodePool(t, nodePoolSpec{})
	_, err := manifest.Apply(t.Context(), e.account(t), []byte(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: handmade}
spec:
  nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g6-standard-2]}]
  taints: [{key: handmade, effect: NoSchedule}]
  resources: {requests: {cpu: "1"}}
`), e.into)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	g, ctx := NewWithT(t), t.Context()
	claim, node := &karpv1.NodeClaim{}, &corev1.Node{}
	g.Eventually(ctx, func(g Gomega) { // not before: on LKE Standard a node has its taints when Karpenter has registered it
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "handmade"}, claim)).To(Succeed())
		g.Expect(claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized)).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.apply(t, deployment("ordinary", 1, ""))
	e.settled(t, "ordinary", 1)
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node)).To(Succeed())
	g.Expect(node.Labels).NotTo(HaveKey(karpv1.NodePoolLabelKey))
	g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelInstanceTypeStable, "g6-standard-2"))
	g.Expect(e.nodeClaims(ctx, g)).To(HaveLen(2))
	g.Expect(e.ourInstances()).To(HaveLen(2))
	g.Expect(e.kube.Delete(ctx, claim)).To(Succeed())
	g.Eventually(ctx, func(g Gomega) { g.Expect(e.ourInstances()).To(HaveLen(1)) }).
		WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "ordinary", 1)
	e.matched(t, 1)
}
