package e2e_test

import (
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func TestDisruptionStandard(t *testing.T)   { disruption(t, "standard") }
func TestDisruptionEnterprise(t *testing.T) { disruption(t, "enterprise") }

// disruption is why nodes end: they are not needed, they have drifted, they are too old, they are broken.
func disruption(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "disruption", tier, withRepair())
	replaced := mergedBefore(inLane("drift", "the taints of a NodePool and its class change", driftedTaintsAndClass, swept))
	e.together(t, append(replaced, aged()...)...)
}

// withRepair are the chart's values with repair of nodes that are broken for longer than nodes of these suites take to join.
func withRepair() map[string]any { return repairing("30s") }

// mergedBefore is consolidation, and drift in parallel. Drift begins after consolidation has restarted the operator, because a restarted
// operator forgets that it is about to replace a node.
func mergedBefore(drift part) []part {
	restarted := make(chan struct{})
	done := sync.OnceFunc(func() { close(restarted) })
	merge := inLane("merge", "consolidation, held back and let go", consolidation(done), swept)
	merge.ended = done
	drifted := drift.do
	drift.do = func(t *testing.T, e *environment) {
		<-restarted
		drifted(t, e)
	}
	return []part{merge, drift}
}

// aged are nodes that end because they expire or are broken; a broken node needs withRepair.
func aged() []part {
	return []part{
		inLane("expiry", "a node expires, and a budget forbids its drain", expiry, swept),
		inLane("repair", "nodes that stay broken are replaced", repair, swept),
	}
}

// consolidation fills two nodes, then needs less and less of them: the nodes are
// merged, the remaining pods move to a cheaper type, and the last one goes. Before that
// a budget, a pod and a node hold Karpenter back, and an event reports it.
func consolidation(restarted func()) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "shrinking"
		e.nodePool(t, nodePoolSpec{budget: "0", types: []string{"g6-standard-2"}})
		e.apply(t, deployment(app, 4, ""))
		e.settled(t, app, 4)
		ctx, g := t.Context(), NewWithT(t)
		g.Expect(e.types(ctx, g)).To(Equal([]string{"g6-standard-2", "g6-standard-2"}))
		since := e.now()
		stay := oneOfEachNode(t, e, app)
		e.scale(t, app, 2)
		heldBack(t, e, stay, restarted)
		if n := len(since.entries()); n != 0 {
			t.Errorf("Karpenter was to be held back, and %d things changed: %+v", n, since.entries())
		}
		merged(t, e, app)
		cheaper(t, e, app)
		empty(t, e, app)
	}
}

// oneOfEachNode makes one pod of each node the last to go when the Deployment
// shrinks, and returns these.
func oneOfEachNode(t *testing.T, e *environment, app string) []corev1.Pod {
	t.Helper()
	var chosen []corev1.Pod
	for _, pod := range e.pods(t.Context(), NewWithT(t), app) {
		if !slices.ContainsFunc(chosen, func(c corev1.Pod) bool { return c.Spec.NodeName == pod.Spec.NodeName }) {
			e.annotate(t, &pod, corev1.PodDeletionCost, "100")
			chosen = append(chosen, pod)
		}
	}
	return chosen
}

// heldBack restarts the operator when the events are due: core sends one event of a kind about a node every two minutes, and the last one
// of this kind was that a pod is about to come to the node.
func heldBack(t *testing.T, e *environment, pods []corev1.Pod, restarted func()) {
	ctx, g := t.Context(), NewWithT(t)
	g.Expect(pods).To(HaveLen(2))
	e.event(t, "NodePool", "default", "DisruptionBlocked", "Underutilized", "blocking budget")
	e.annotate(t, &pods[0], karpv1.DoNotDisruptAnnotationKey, "true")
	node := &corev1.Node{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: pods[1].Spec.NodeName}, node)).To(Succeed())
	e.annotate(t, node, karpv1.DoNotDisruptAnnotationKey, "true")
	e.Operator.Stop(ctx)
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	restarted()
	e.apply(t, nodePoolSpec{types: []string{"g6-standard-2"}}.yaml()) // the budget holds nothing any more
	e.event(t, "Node", pods[0].Spec.NodeName, "DisruptionBlocked", "do-not-disrupt", pods[0].Name)
	e.event(t, "Node", pods[1].Spec.NodeName, "DisruptionBlocked", "do-not-disrupt")
	e.annotate(t, &pods[0], karpv1.DoNotDisruptAnnotationKey, "")
	e.annotate(t, node, karpv1.DoNotDisruptAnnotationKey, "")
}

// merged: two half empty nodes become one, and no node is made for it.
func merged(t *testing.T, e *environment, app string) {
	ctx, g, since := t.Context(), NewWithT(t), e.now()
	before := e.karpenterNodes(ctx, g)
	e.matched(t, 1)
	e.settled(t, app, 2)
	if since.made() != 0 {
		t.Errorf("%d instances were made to merge two nodes", since.made())
	}
	stays := e.karpenterNodes(ctx, g)[0].Name
	for _, node := range before {
		if node.Name != stays {
			e.event(t, "Node", node.Name, "Disrupting Node", "Underutilized")
		}
	}
}

// cheaper: a cheaper plan holds the one pod, so its node is replaced.
func cheaper(t *testing.T, e *environment, app string) {
	ctx, g, since := t.Context(), NewWithT(t), e.now()
	e.apply(t, nodePoolSpec{types: []string{"g6-standard-1", "g6-standard-2"}}.yaml())
	e.scale(t, app, 1)
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.types(ctx, g)).To(Equal([]string{"g6-standard-1"}))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, app, 1)
	e.matched(t, 1)
	if since.made() != 1 || since.peak(1) != 2 {
		t.Errorf("%d instances were made to replace one, up to %d at the same time", since.made(), since.peak(1))
	}
}

// empty: a node without pods goes, and takes its pool along.
func empty(t *testing.T, e *environment, app string) {
	since := e.now()
	e.scale(t, app, 0)
	NewWithT(t).Eventually(t.Context(),
		func() string { return e.remains(t.Context()) }).WithTimeout(patience).WithPolling(interval).Should(BeEmpty())
	if since.made() != 0 {
		t.Errorf("%d instances were made while one was to go", since.made())
	}
}
