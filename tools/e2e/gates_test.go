package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// TestGates has the feature gates that came with core 1.15, and the recipes of docs/consolidation.md.
func TestGates(t *testing.T) {
	t.Parallel()
	values := repairing("10s")
	values["settings"] = map[string]any{"featureGates": gates("staticCapacity", "nodeRepair", "terminateFirstDrift", "terminateFirstRepair",
		"podDeletionCostManagement")}
	e := start(t, "gates", "standard", values)
	e.together(t, atLimits()...)
}

func atLimits() []part {
	return []part{
		inLane("drifted", "a static NodePool at its limit replaces drifted nodes", driftAtLimit, withoutNodePools),
		inLane("ill", "a static NodePool at its limit replaces a broken node", repairAtLimit, withoutNodePools),
		inLane("shrinks", "scaling down takes the pods of one node", deletionCosts, swept),
		inLane("night", "a budget with a schedule holds consolidation back", scheduledBudget, swept),
		inLane("dear", "Balanced leaves a node whose pods are dear to move", balanced, swept),
	}
}

// static is a NodePool with so many nodes, and no room for one more.
func static(nodes int) string {
	spec := nodePoolSpec{types: []string{"g6-standard-1"}, limits: fmt.Sprintf(`{nodes: "%d"}`, nodes)}.yaml()
	return strings.Replace(spec, "\nspec:\n", fmt.Sprintf("\nspec:\n  replicas: %d\n", nodes), 1)
}

// withoutNodePools is the end of a scenario with a static NodePool, which would replace the NodeClaims that are swept.
func withoutNodePools(e *environment, t *testing.T) {
	t.Helper()
	if err := e.kube.DeleteAllOf(t.Context(), &karpv1.NodePool{}, e.mine()); err != nil {
		t.Error(err)
	}
	e.sweep(t)
}

// staticNodes makes such a NodePool.
func (e *environment) staticNodes(t *testing.T, n int) {
	t.Helper()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, static(n))
	e.matched(t, n)
	e.settled(t, "none", 0)
}

// driftAtLimit: without the gate core waits for ever for room to make a replacement first.
func driftAtLimit(t *testing.T, e *environment) {
	const n = 2
	e.staticNodes(t, n)
	since, old := e.now(), slices.Collect(maps.Values(e.nodeUIDs(t)))
	e.apply(t, class("{diskEncryption: disabled}"))
	e.replacedAtLimit(t, since, old, n, n)
}

// repairAtLimit is the same for a node that is not ready.
func repairAtLimit(t *testing.T, e *environment) {
	const n = 3 // one of three may be broken without the NodePool counting as broken
	e.staticNodes(t, n)
	e.calmed(t) // before its kubelet goes: seconds later the controller manager takes the node for unreachable, and it would be rebooted
	since, patient := e.now(), e.patient(t)
	e.setLabel(t, patient.Name, plane.NodeLabel, "") // kwok would heal it first
	e.fallIll(t, patient, corev1.ConditionFalse)
	e.replacedAtLimit(t, since, []types.UID{patient.UID}, n, 1)
}

// replacedAtLimit waits until none of the old nodes is left and there are n again; there were never more.
func (e *environment) replacedAtLimit(t *testing.T, since history, old []types.UID, n, replaced int) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		for _, uid := range e.nodeUIDs(t) {
			g.Expect(old).NotTo(ContainElement(uid))
		}
		g.Expect(e.sameSet(ctx, g)).To(Equal(n))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	if since.made() != replaced || since.peak(n) > n {
		t.Errorf("%d Linodes were made to replace %d, and there were up to %d of %d", since.made(), replaced, since.peak(n), n)
	}
}

// deletionCosts: pods of a node have one cost, pods of another node another, and a Deployment that shrinks empties a node.
func deletionCosts(t *testing.T, e *environment) {
	const app = "shrinking"
	e.nodePool(t, nodePoolSpec{types: []string{"g6-standard-2"}, consolidate: "5m"})
	e.apply(t, deployment(app, 4, ""))
	e.settled(t, app, 4)
	ctx, g := t.Context(), NewWithT(t)
	g.Eventually(ctx, func(g Gomega) {
		costs := map[string][]string{} // by node
		for _, pod := range e.pods(ctx, g, app) {
			g.Expect(pod.Annotations).To(HaveKey(corev1.PodDeletionCost))
			if cost := pod.Annotations[corev1.PodDeletionCost]; !slices.Contains(costs[pod.Spec.NodeName], cost) {
				costs[pod.Spec.NodeName] = append(costs[pod.Spec.NodeName], cost)
			}
		}
		g.Expect(costs).To(HaveLen(2))
		var all []string
		for node, own := range costs {
			g.Expect(own).To(HaveLen(1), "costs of the pods on %s", node)
			all = append(all, own...)
		}
		g.Expect(all[0]).NotTo(Equal(all[1]))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.scale(t, app, 2)
	g.Eventually(ctx, func(g Gomega) {
		pods := e.pods(ctx, g, app)
		g.Expect(pods).To(HaveLen(2))
		g.Expect(pods[0].Spec.NodeName).To(Equal(pods[1].Spec.NodeName))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// scheduledBudget: an empty node stays while the schedule is in force, and goes when it is not.
func scheduledBudget(t *testing.T, e *environment) {
	const app = "late"
	budgets := func(schedule, duration string) string {
		return strings.Replace(nodePoolSpec{}.yaml(), `[{nodes: "100%"}]`,
			fmt.Sprintf(`[{nodes: "100%%"}, {nodes: "0", reasons: [Empty, Underutilized], schedule: "%s", duration: %s}]`, schedule, duration), 1)
	}
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, budgets("0 0 * * *", "24h"))
	e.nodePoolReady(t, "default")
	e.apply(t, deployment(app, 1, ""))
	e.settled(t, app, 1)
	e.scale(t, app, 0)
	ctx, g := t.Context(), NewWithT(t)
	claims := e.claimNames(ctx, g)
	g.Consistently(ctx, func(g Gomega) { g.Expect(e.claimNames(ctx, g)).To(Equal(claims)) }).
		WithTimeout(emptied).WithPolling(interval).Should(Succeed())
	e.apply(t, budgets(fmt.Sprintf("0 %d * * *", (time.Now().UTC().Hour()+12)%24), "1h"))
	e.matched(t, 0)
}

// balanced: both nodes could be cheaper by the same amount. Core rejects the replacement of the node with the costly pod until the policy
// changes. If a NodePool leaves the capacity type open, core counts the whole price as saved, and approves both.
func balanced(t *testing.T, e *environment) {
	apply := func(policy string, types ...string) {
		spec := strings.Replace(nodePoolSpec{budget: "1", types: types}.yaml(), "WhenEmptyOrUnderutilized", policy, 1)
		e.apply(t, strings.Replace(spec, "requirements: [",
			"requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, ", 1))
	}
	e.apply(t, "linodenodeclass.yaml")
	apply("Balanced", "g6-standard-2")
	e.nodePoolReady(t, "default")
	e.apply(t, deployment("cheap", 1, apart("dear")))
	e.apply(t, strings.Replace(deployment("dear", 1, apart("cheap")), "metadata: {labels: {app: dear}}",
		`metadata: {labels: {app: dear}, annotations: {karpenter.sh/disruption-cost: "1000000000"}}`, 1))
	e.settled(t, "cheap", 1)
	e.settled(t, "dear", 1)
	e.matched(t, 2)
	ctx, g := t.Context(), NewWithT(t)
	dear := e.pods(ctx, g, "dear")[0].Spec.NodeName
	apply("Balanced", "g6-standard-1", "g6-standard-2")
	g.Eventually(ctx, func() []string { return e.types(ctx, g) }).WithTimeout(patience).WithPolling(interval).
		Should(Equal([]string{"g6-standard-1", "g6-standard-2"}))
	e.settled(t, "cheap", 1)
	g.Eventually(ctx, func() string { return e.metrics(t) }).WithTimeout(patience).WithPolling(interval).Should(MatchRegexp(
		`karpenter_consolidation_moves_total\{decision="rejected",nodepool="` + e.named("default") + `",policy="Balanced"\}`))
	g.Consistently(ctx, func(g Gomega) { g.Expect(e.nodeOf(ctx, g, "dear")).To(Equal(dear)) }).
		WithTimeout(emptied).WithPolling(interval).Should(Succeed())
	apply(string(karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized), "g6-standard-1", "g6-standard-2")
	g.Eventually(ctx, func() []string { return e.types(ctx, g) }).WithTimeout(patience).WithPolling(interval).
		Should(Equal([]string{"g6-standard-1", "g6-standard-1"}))
}

// nodeOf returns the node of an app's only pod.
func (e *environment) nodeOf(ctx context.Context, g Gomega, app string) string {
	pods := e.pods(ctx, g, app)
	g.Expect(pods).To(HaveLen(1))
	return pods[0].Spec.NodeName
}
