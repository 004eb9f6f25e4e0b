package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// expiry: a node ends when it is as old as its NodePool allows, whatever the
// NodePool's budget allows, and its pods when they have had the grace period, whatever
// their own budget allows.
func expiry(t *testing.T, e *environment) {
	const app, lifetime, grace = "aging", 40 * time.Second, 15 * time.Second
	e.nodePool(t, nodePoolSpec{budget: "0", more: []string{
		fmt.Sprintf("expireAfter: %s", lifetime), fmt.Sprintf("terminationGracePeriod: %s", grace),
	}})
	e.apply(t, fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: %[1]s}}}
`, app))
	e.apply(t, deployment(app, 1, ""))
	e.settled(t, app, 1)
	ctx, g, since := t.Context(), NewWithT(t), e.now()
	claim, first := e.nodeClaims(ctx, g)[0], e.pods(ctx, g, app)[0]

	e.event(t, "Node", first.Spec.NodeName, "FailedDraining")
	g.Eventually(ctx, func() []linodesim.Entry { return since.of(linodesim.InstanceGone) }).
		WithTimeout(patience).WithPolling(interval).Should(HaveLen(1), "the instance of the expired node is gone")
	removal := linodesim.NodeRemoved
	if e.plain {
		removal = linodesim.InstanceGone
	}
	requested := since.of(removal)[0].At
	// Kubernetes writes creation times in whole seconds, rounded down.
	if end := claim.CreationTimestamp.Add(lifetime + grace); requested.Before(end) {
		t.Errorf("the node was given up at %s; it was to live for %s from %s, and its pod for another %s", requested, lifetime,
			claim.CreationTimestamp, grace)
	}
	g.Eventually(ctx, func(g Gomega) {
		pods := e.pods(ctx, g, app)
		g.Expect(slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			return p.UID != first.UID && p.Spec.NodeName != "" && p.Spec.NodeName != first.Spec.NodeName && p.Status.Phase == corev1.PodRunning
		})).To(BeTrue(), "the pod runs on another node")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	if since.peak(1) > 2 {
		t.Errorf("there were up to %d instances at the same time to replace one", since.peak(1))
	}
}

// repair: a node that calls itself not ready for longer than that is tolerated is replaced with its Linode.
func repair(t *testing.T, e *environment) {
	const app, n = "patients", 3 // one of three may be broken without the NodePool counting as broken
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, deployment(app, n, apart(app)))
	e.settled(t, app, n)
	e.matched(t, n)
	since := e.now()
	patient := e.patient(t)
	instance := instanceOf(t, e, patient)
	e.fallIll(t, patient, corev1.ConditionFalse)
	since.awaitGone(t, instance)
	e.matched(t, n)
	e.settled(t, app, n)
	if since.made() != 1 || since.peak(n) > n+1 {
		t.Errorf("%d instances were made to replace one, up to %d at the same time", since.made(), since.peak(n))
	}
}

// patient waits for a node that may fall ill: a real kubelet, which some nodes of instance mode keep, would report itself well again.
func (e *environment) patient(t *testing.T) corev1.Node {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	var found corev1.Node
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		at := slices.IndexFunc(nodes, simulatedByKwok)
		g.Expect(at).To(BeNumerically(">=", 0), "kwok simulates none of %d nodes", len(nodes))
		found = nodes[at]
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return found
}

// fallIll makes a node ill. An unknown condition comes from a kubelet that is gone.
func (e *environment) fallIll(t *testing.T, node corev1.Node, status corev1.ConditionStatus) {
	t.Helper()
	e.calmed(t)
	ctx, g := t.Context(), NewWithT(t)
	if status == corev1.ConditionUnknown {
		patch := client.MergeFrom(node.DeepCopy())
		delete(node.Labels, plane.NodeLabel)
		g.Expect(e.kube.Patch(ctx, &node, patch)).To(Succeed())
	}
	g.Eventually(ctx, func(g Gomega) {
		now := &corev1.Node{}
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(&node), now)).To(Succeed())
		before := now.DeepCopy()
		at := slices.IndexFunc(now.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		g.Expect(at).To(BeNumerically(">=", 0))
		ready := &now.Status.Conditions[at]
		if ready.Status == status {
			return
		}
		ready.Status, ready.Reason, ready.Message = status, "KubeletIll", "a test made it so"
		ready.LastTransitionTime = metav1.Now()
		g.Expect(e.kube.Status().Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))).To(Succeed())
		g.Expect(ready.Status).To(BeEmpty(), "kwok, which the label's loss reaches late, may still write that the node is ready")
	}).WithTimeout(patience).WithPolling(interval).MustPassRepeatedly(10).Should(Succeed())
}
