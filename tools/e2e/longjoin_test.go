package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// longJoin is how long a node takes to join: the profile slow has 300 s.
const (
	longJoin      = 200 * time.Second
	longJoinScale = 1.5

	slowly = longJoin * 3 / 20 // at a TimeScale of 10
)

// TestLongJoinStandard and TestLongJoinEnterprise have nodes that take 200 s to
// join, in real time, with core's own batch windows; the operator works under its
// admission policies.
func TestLongJoinStandard(t *testing.T)   { longJoins(t, "standard") }
func TestLongJoinEnterprise(t *testing.T) { longJoins(t, "enterprise") }

func longJoins(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "long-join", tier, map[string]any{"admissionPolicy": map[string]any{"enabled": true}},
		func(o *localcluster.Options) { o.Profile, o.TimeScale = "slow", longJoinScale })
	e.scenario(t, "NodeClaims by hand and NodePools without limits are refused", refusedByPolicy)
	e.scenario(t, "one NodeClaim for each pod while nodes join slowly", onePerPod(longJoin))
}

// onePerPod: five pods that may not share a node need five NodeClaims, and Karpenter makes no further NodeClaim while these join. Pods
// that come later, three times before nodes join, have room on
// the nodes that are on their way, so they need none. join is how long nodes take.
func onePerPod(join time.Duration) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) { oneForEach(t, e, join) }
}

func oneForEach(t *testing.T, e *environment, join time.Duration) {
	const n = 5
	e.nodePool(t, nodePoolSpec{limits: `{cpu: "1000"}`})
	since, before := e.now(), e.metric(t, "karpenter_nodeclaims_created_total")
	e.apply(t, deployment("first", n, apart("first")))
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.nodeClaims(ctx,
			g)).To(HaveLen(n))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())

	for i, after := range []time.Duration{join * 3 / 20, join * 6 / 20, join * 9 / 20} {
		g.Eventually(ctx, func(g Gomega) {
			g.Expect(time.Since(oldest(e.nodeClaims(ctx, g)))).To(BeNumerically(">", after))
		}).WithTimeout(after + patience).WithPolling(interval).Should(Succeed())
		e.apply(t, deployment(fmt.Sprintf("late-%d", i), 1, requesting("100m")))
	}
	g.Eventually(ctx, func(g Gomega) {
		for _, claim := range e.nodeClaims(ctx, g) {
			g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()).To(BeTrue(), "NodeClaim %s is initialized", claim.Name)
		}
	}).WithTimeout(join + patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "first", n)
	for i := range 3 {
		e.settled(t, fmt.Sprintf("late-%d", i), 1)
	}
	for _, claim := range e.nodeClaims(ctx, g) {
		launched, registered := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched),
			claim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
		if took := registered.LastTransitionTime.Sub(launched.LastTransitionTime.Time); took < join*3/4 {
			t.Errorf("NodeClaim %s joined after %s; this test is about nodes that take %s", claim.Name, took, join)
		}
	}
	created := e.metric(t, "karpenter_nodeclaims_created_total") - before
	t.Logf("%v NodeClaims and %d instances were made for %d pods that cannot share a node", created, since.made(), n)
	if created != n || since.made() != n {
		t.Errorf("%v NodeClaims and %d instances were made for %d pods that cannot share a node", created, since.made(), n)
	}
	e.matched(t, n)
}

// refusedByPolicy: even an administrator cannot make a NodeClaim without a NodePool, or a NodePool without limits.
func refusedByPolicy(t *testing.T, e *environment) {
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) { // the API server compiles policies in the background
		ref, none := &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"},
			[]karpv1.NodeSelectorRequirementWithMinValues{}
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"},
			Spec: karpv1.NodeClaimSpec{NodeClassRef: ref, Requirements: none}}
		g.Expect(e.kube.Create(ctx, claim, client.DryRunAll)).To(MatchError(ContainSubstring("only Karpenter's controller")))
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "endless"}}
		pool.Spec.Template.Spec = karpv1.NodeClaimTemplateSpec{NodeClassRef: ref, Requirements: none,
			ExpireAfter: karpv1.MustParseNillableDuration("720h")}
		pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("1s")
		g.Expect(e.kube.Create(ctx, pool, client.DryRunAll)).To(MatchError(ContainSubstring("needs spec.limits")))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

func oldest(claims []karpv1.NodeClaim) time.Time {
	return slices.MinFunc(claims, func(a,
		b karpv1.NodeClaim) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	}).CreationTimestamp.Time
}
