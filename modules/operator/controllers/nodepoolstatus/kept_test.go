package nodepoolstatus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodepoolstatus"
)

// member is an initialized node of the NodePool default, which consolidation may take.
func member(name string) (*karpv1.NodeClaim, *corev1.Node) {
	of := map[string]string{karpv1.NodePoolLabelKey: "default", karpv1.NodeInitializedLabelKey: "true"}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "of-" + name, Labels: of}}
	claim.Status.ProviderID = "linode://" + name
	claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeConsolidatable, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.Now()}}
	return claim, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: of}, Spec: corev1.NodeSpec{ProviderID: "linode://" + name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

// A node that a PodDisruptionBudget keeps while it drains uses the NodePool's budget up, and core is silent about the others.
func TestEmptyNodesThatStayAreShown(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	pool.Spec.Disruption = karpv1.Disruption{ConsolidateAfter: karpv1.MustParseNillableDuration("30s"), Budgets: []karpv1.Budget{{Nodes: "1"}}}
	held, heldNode := member("held")
	ago := metav1.NewTime(time.Now().Add(-10 * time.Minute))
	held.DeletionTimestamp, held.Finalizers = &ago, []string{karpv1.TerminationFinalizer}
	empty, emptyNode := member("spare")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: "held"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}}}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithObjects(pool, held, heldNode, empty, emptyNode, pod, budget).WithStatusSubresource(pool).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	events := &told{}
	reconciled := func() *status.Condition {
		t.Helper()
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := nodepoolstatus.NewController(kube, &provider{}, working, events, true).Reconcile(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		return pool.StatusConditions().Get(nodepoolstatus.ConditionEmptyStay)
	}
	for range 2 {
		condition := reconciled()
		if !condition.IsTrue() || condition.Reason != "BudgetUsedUp" {
			t.Fatalf("condition %+v", condition)
		}
		for _, words := range []string{"(spare)", "node held", "PodDisruptionBudget shop/web", "pod shop/web-0"} {
			if !strings.Contains(condition.Message, words) {
				t.Errorf("no %q in %s", words, condition.Message)
			}
		}
	}
	if len(*events) != 1 || !strings.HasPrefix((*events)[0], "EmptyNodesStay: Empty nodes stay and are billed (spare)") {
		t.Errorf("told %q", *events)
	}
	if err := kube.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	if condition := reconciled(); condition != nil {
		t.Errorf("once the pod may be evicted: %+v", condition)
	}
}
