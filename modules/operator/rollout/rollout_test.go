package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/rollout"
)

// world is a NodePool with its class and three nodes of it, all as they should be.
type world struct {
	pool   *karpv1.NodePool
	class  *v1alpha1.LinodeNodeClass
	claims []*karpv1.NodeClaim
}

func settled() *world {
	w := &world{pool: &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	w.pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	w.pool.Annotations = map[string]string{
		karpv1.NodePoolHashAnnotationKey: w.pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
	}
	w.class = &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 4, Annotations: map[string]string{
		v1alpha1.AnnotationHash: "h1", v1alpha1.AnnotationHashVersion: "v1"}}}
	w.class.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 4}}
	for _, name := range []string{"a", "b", "c"} {
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-2"},
			Annotations: map[string]string{
				karpv1.NodePoolHashAnnotationKey: w.pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
				v1alpha1.AnnotationHash: "h1", v1alpha1.AnnotationHashVersion: "v1",
			}}}
		for _, c := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeInitialized} {
			claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: c, Status: metav1.ConditionTrue})
		}
		w.claims = append(w.claims, claim)
	}
	return w
}

func (w *world) taken(hash string) { w.pool.Annotations[karpv1.NodePoolHashAnnotationKey] = hash }

func label(w *world) { w.pool.Spec.Template.Labels = map[string]string{"tier": "web"} }

func joining(c *karpv1.NodeClaim) { c.Status.Conditions = c.Status.Conditions[:1] }

func TestARolloutIsDoneWhenNoOutdatedNodeIsLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*world)
		reason  string
		message string
	}{
		"nothing has changed": {func(*world) {}, rollout.ReasonDone, "the current NodePool and LinodeNodeClass"},
		"a changed NodePool, before the operator has seen it": {label, rollout.ReasonUnobserved,
			"has not observed the last change of NodePool default"},
		"a changed NodePool": {func(w *world) { label(w); w.taken(w.pool.Hash()) }, rollout.ReasonReplacing,
			"0 nodes are up to date, 0 are joining, 3 are outdated (0 of them are being deleted): a (NodePoolDrifted), b (NodePoolDrifted), " +
				"c (NodePoolDrifted)"},
		"a requirement, which no hash has": {func(w *world) {
			w.pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"g6-standard-4"}}}
		}, rollout.ReasonReplacing, "a (RequirementsDrifted)"},
		"a changed class, before its status follows": {func(w *world) { w.class.Generation = 5 }, rollout.ReasonUnobserved,
			"has not observed the last change of LinodeNodeClass default"},
		"a changed class": {func(w *world) { w.class.Annotations[v1alpha1.AnnotationHash] = "h2" }, rollout.ReasonReplacing,
			"a (NodeClassDrifted)"},
		"a class whose hash has another version": {func(w *world) {
			w.class.Annotations[v1alpha1.AnnotationHash], w.class.Annotations[v1alpha1.AnnotationHashVersion] = "h2", "v2"
		}, rollout.ReasonDone, ""},
		"drift that only the provider knows": {func(w *world) {
			w.claims[1].Status.Conditions = append(w.claims[1].Status.Conditions,
				status.Condition{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "FirewallDrifted"})
		}, rollout.ReasonReplacing, "2 nodes are up to date, 0 are joining, 1 are outdated (0 of them are being deleted): b (FirewallDrifted)"},
		"the last outdated node still drains, its replacement joins": {func(w *world) {
			w.claims[0].Annotations[v1alpha1.AnnotationHash] = "h0"
			w.claims[0].DeletionTimestamp = ptr.To(metav1.Now())
			joining(w.claims[2])
		}, rollout.ReasonReplacing, "1 nodes are up to date, 1 are joining, 1 are outdated (1 of them are being deleted): a (NodeClassDrifted)"},
		"nodes come and go with their pods": {func(w *world) {
			joining(w.claims[0])
			w.claims[1].DeletionTimestamp = ptr.To(metav1.Now())
		}, rollout.ReasonDone, ""},
		"a static NodePool without all its replicas": {func(w *world) {
			w.pool.Spec.Replicas = ptr.To[int64](3)
			w.taken(w.pool.Hash())
			joining(w.claims[0])
		}, rollout.ReasonMissing, "1 of the replicas"},
		"no class": {func(w *world) { w.class = nil }, rollout.ReasonDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			tt.change(w)
			p := rollout.Of(w.pool, w.class, w.claims)
			if p.Reason() != tt.reason || !strings.Contains(p.Message(), tt.message) || p.Done() != (tt.reason == rollout.ReasonDone) {
				t.Errorf("%s: %s\nwant %s: %s", p.Reason(), p.Message(), tt.reason, tt.message)
			}
		})
	}
}

// The message of a finished rollout is written once, not with every node that comes or goes.
func TestScalingChangesNothingInTheConditionOfAFinishedRollout(t *testing.T) {
	w := settled()
	three, one := rollout.Of(w.pool, w.class, w.claims), rollout.Of(w.pool, w.class, w.claims[:1])
	if three.Message() != one.Message() {
		t.Errorf("%q, with one node %q", three.Message(), one.Message())
	}
}

func TestWhatHoldsARolloutIsNamed(t *testing.T) {
	w := settled()
	w.class.Annotations[v1alpha1.AnnotationHash] = "h2"
	w.pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
	w.pool.Status.Conditions = []status.Condition{
		{Type: "DriftStalled", Status: metav1.ConditionTrue, Message: "a limit of the account"},
		{Type: "InstanceTypesAvailable", Status: metav1.ConditionFalse, Message: "none can be bought"},
		{Type: karpv1.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue},
		{Type: rollout.Condition, Status: metav1.ConditionFalse, Message: "itself"},
	}
	at := clocktesting.NewFakeClock(time.Unix(0, 0))
	got := strings.Join(rollout.Obstacles(w.pool, rollout.Of(w.pool, w.class, w.claims), at), "\n")
	want := "DriftStalled is True: a limit of the account\nInstanceTypesAvailable is False: none can be bought\n" +
		"spec.disruption.budgets allow no disruption of the 3 nodes for drift now"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	w.class.Annotations[v1alpha1.AnnotationHash] = "h1"
	if got := rollout.Obstacles(w.pool, rollout.Of(w.pool, w.class, w.claims), at); len(got) > 0 {
		t.Errorf("a finished rollout is held by %q", got)
	}
}
