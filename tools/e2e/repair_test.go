package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// TestRepair is core's repair of silent kubelets in lke mode: it reboots, within budgets, and replaces what a reboot does not help.
func TestRepair(t *testing.T) {
	t.Parallel()
	start(t, "repair", "standard", repairing("20s")).together(t, append(rebooting(),
		inLane("unbounded", "a NodePool without limits has a condition, and a metric for its alert", withoutLimits, swept))...)
}

func TestInstanceRepair(t *testing.T) {
	t.Parallel()
	start(t, "plain-repair", "standard", repairing("20s"), plainLinodes(2)).together(t, rebooting()...)
}

// repairing are the chart's values with the feature gate for repair, and a short time for which a broken node is left alone: core takes a
// condition for no older than its Node, so that a test cannot date it back.
func repairing(toleration string) map[string]any {
	return map[string]any{
		"settings": map[string]any{"featureGates": map[string]any{"nodeRepair": true}},
		"controller": map[string]any{"env": []any{
			map[string]any{"name": "NODE_REPAIR_TOLERATION", "value": toleration},
		}},
	}
}

func rebooting() []part {
	return []part{
		inLane("reboot", "a silent node is rebooted twice, then replaced", rebootedThenReplaced, swept),
		inLane("spared", "a budget and an annotation keep a silent node from its reboot", spared, swept),
		inLane("futile", "a node that a reboot does not bring back is replaced", futileReboot, swept),
	}
}

// patients gives each of three pods its own node: one of three nodes may be broken without the NodePool counting as broken.
func patients(t *testing.T, e *environment, app, budget string) (patient corev1.Node) {
	t.Helper()
	e.nodePool(t, nodePoolSpec{budget: budget})
	e.apply(t, deployment(app, 3, apart(app)))
	e.settled(t, app, 3)
	e.matched(t, 3)
	return e.patient(t)
}

// rebootedThenReplaced: core reboots a node at most twice in 24 hours. Until then its Linode and its pods stay what they are.
func rebootedThenReplaced(t *testing.T, e *environment) {
	const app = "silent"
	patient := patients(t, e, app, "1")
	instance, since, pods := instanceOf(t, e, patient), e.now(), e.podsOf(t, app)
	for boot := 1; boot <= 2; boot++ {
		before := e.node(t, patient.Name)
		e.silence(t, before)
		e.bootedAgain(t, before)
		since.rebooted(t, instance, boot)
		if now := e.podsOf(t, app); !slices.Equal(now, pods) {
			t.Errorf("after reboot %d the pods are %v, were %v", boot, now, pods)
		}
	}
	if since.made() != 0 {
		t.Errorf("%d instances were made beside two reboots", since.made())
	}
	e.silence(t, e.node(t, patient.Name))
	since.awaitGone(t, instance)
	e.matched(t, 3)
	since.rebooted(t, instance, 2)
	if since.made() != 1 || since.peak(3) > 4 {
		t.Errorf("%d instances were made to replace one, up to %d at the same time", since.made(), since.peak(3))
	}
}

// spared: a budget of 0 prevents the reboot of a silent node, and so does the annotation.
func spared(t *testing.T, e *environment) {
	patient := patients(t, e, "spared", "0")
	instance, since := instanceOf(t, e, patient), e.now()
	before := e.node(t, patient.Name)
	e.silence(t, before)
	e.event(t, "NodePool", "default", "DisruptionBlocked", string(karpv1.DisruptionReasonUnhealthy), "blocking budget")
	e.annotate(t, e.node(t, patient.Name), karpv1.DoNotRepairAnnotationKey, "true")
	// Core reads Nodes and NodePools from two caches. Until this event it may not have the annotation.
	e.event(t, "Node", patient.Name, "DisruptionBlocked", karpv1.DoNotRepairAnnotationKey)
	e.apply(t, nodePoolSpec{budget: "1"}.yaml())
	NewWithT(t).Consistently(t.Context(), func() int { return since.reboots(instance) }).WithTimeout(20*time.Second).WithPolling(time.Second).
		Should(BeZero(), "core looks every ten seconds")
	e.annotate(t, e.node(t, patient.Name), karpv1.DoNotRepairAnnotationKey, "")
	e.bootedAgain(t, before)
	since.rebooted(t, instance, 1)
	if since.made() != 0 {
		t.Errorf("%d instances were made beside a reboot", since.made())
	}
}

// futileReboot: the API accepts a reboot that does not bring the kubelet back. Core observes it for 20 minutes by the time in a condition,
// which the test dates back.
func futileReboot(t *testing.T, e *environment) {
	const app = "futile"
	patient := patients(t, e, app, "1")
	instance, since, ctx, g := instanceOf(t, e, patient), e.now(), t.Context(), NewWithT(t)
	rule := e.Sim.Fail(linodesim.Rule{Method: http.MethodPost, View: linodesim.View{NoEffect: true}, Match: func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, fmt.Sprintf("/linode/instances/%d/reboot", instance))
	}})
	e.silence(t, e.node(t, patient.Name))
	claim := &karpv1.NodeClaim{}
	g.Eventually(ctx, func(g Gomega) {
		all := e.nodeClaims(ctx, g)
		at := slices.IndexFunc(all, func(c karpv1.NodeClaim) bool { return c.Status.NodeName == patient.Name })
		g.Expect(at).To(BeNumerically(">=", 0))
		claim = &all[at]
		g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeRebooting)).To(haveReason(karpv1.RebootReasonIssued))
		stored := claim.DeepCopy()
		at = slices.IndexFunc(claim.Status.Conditions, func(c status.Condition) bool { return c.Type == karpv1.ConditionTypeInitialized })
		claim.Status.Conditions[at].LastTransitionTime = metav1.NewTime(time.Now().Add(-21 * time.Minute))
		g.Expect(e.account(t).Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))).To(Succeed())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.event(t, "NodeClaim", claim.Name, "did not recover")
	since.awaitGone(t, instance)
	e.matched(t, 3)
	if e.Sim.Hits(rule) != 1 || since.made() != 1 {
		t.Errorf("%d requests for a reboot, %d instances made; want one of each", e.Sim.Hits(rule), since.made())
	}
}

// withoutLimits: core's metrics of conditions include this provider's, which the chart's alerts use.
func withoutLimits(t *testing.T, e *environment) {
	e.nodePool(t, nodePoolSpec{limits: "{}"})
	e.event(t, "NodePool", "default", "NoLimits", "MAX_NODES")
	shown := func() string { return e.metrics(t) }
	NewWithT(t).Eventually(t.Context(), shown).WithTimeout(patience).WithPolling(interval).Should(MatchRegexp(
		`operator_nodepool_status_condition_count\{[^}]*name="` + e.named("default") + `"[^}]*status="False",type="LimitsSet"\} 1`))
}

func haveReason(reason string) types.GomegaMatcher {
	return And(Not(BeNil()), HaveField("Reason", reason))
}

// silence ends a node's kubelet, and has the Node show it at once: Kubernetes waits for 50 seconds.
func (e *environment) silence(t *testing.T, node *corev1.Node) {
	t.Helper()
	e.fallIll(t, *node, corev1.ConditionUnknown)
}

// bootedAgain waits until a node has another boot ID than before, is Ready and initialized, and can be scheduled to.
func (e *environment) bootedAgain(t *testing.T, before *corev1.Node) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		now := e.node(t, before.Name)
		g.Expect(now.UID).To(Equal(before.UID))
		g.Expect(now.Status.NodeInfo.BootID).NotTo(Equal(before.Status.NodeInfo.BootID))
		g.Expect(now.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue))))
		g.Expect(now.Labels).To(HaveKeyWithValue(karpv1.NodeInitializedLabelKey, "true"))
		g.Expect(now.Spec.Taints).NotTo(ContainElement(HaveField("Key", HavePrefix("karpenter.sh/"))))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), "%s boots again", before.Name)
}

// rebooted checks how often an instance was rebooted since.
func (h history) rebooted(t *testing.T, instance, times int) {
	t.Helper()
	if n := h.reboots(instance); n != times {
		t.Errorf("instance %d was rebooted %d times, want %d", instance, n, times)
	}
}

func (h history) reboots(instance int) int {
	return len(slices.DeleteFunc(h.of(linodesim.InstanceStatus), func(entry linodesim.Entry) bool {
		return entry.InstanceID != instance || entry.After != string(linodesim.StatusRebooting) || entry.Actor.RequestID == ""
	}))
}

func (e *environment) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	NewWithT(t).Expect(e.kube.Get(t.Context(), client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

// podsOf are the UIDs of an app's pods, sorted.
func (e *environment) podsOf(t *testing.T, app string) (uids []apitypes.UID) {
	t.Helper()
	for _, pod := range e.pods(t.Context(), NewWithT(t), app) {
		uids = append(uids, pod.UID)
	}
	slices.Sort(uids)
	return uids
}
