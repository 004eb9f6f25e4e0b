package rollout_test

import (
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	controller "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/rollout"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/rollout"
)

func TestTheConditionFollowsTheNodesAndTheGeneration(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
	pool.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: "v3"}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-a", Labels: map[string]string{karpv1.NodePoolLabelKey: "default"}}}
	other := claim.DeepCopy()
	other.Name, other.Labels = "other-a", map[string]string{karpv1.NodePoolLabelKey: "other"}
	other.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "NodePoolDrifted"}}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, claim, other).WithStatusSubresource(pool, claim).Build()
	reconciled := func() *status.Condition {
		t.Helper()
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		before := pool.ResourceVersion
		for range 2 { // the second one has nothing to write
			if _, err := controller.NewController(kube).Reconcile(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		if pool.ResourceVersion == before {
			t.Error("nothing was written")
		}
		return pool.StatusConditions().Get(rollout.Condition)
	}
	if c := reconciled(); !c.IsTrue() || c.ObservedGeneration != 1 {
		t.Errorf("with its only node up to date: %+v", c)
	}
	claim.Status.Conditions = other.Status.Conditions
	if err := kube.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if c := reconciled(); !c.IsFalse() || c.Reason != rollout.ReasonReplacing {
		t.Errorf("with an outdated node: %+v", c)
	}
	if err := kube.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	pool.Generation = 2
	if err := kube.Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if c := reconciled(); !c.IsTrue() || c.ObservedGeneration != 2 {
		t.Errorf("once the outdated node is gone: %+v", c)
	}
}

func TestNodePoolsOfOtherProvidersGetNoCondition(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).WithStatusSubresource(pool).Build()
	if _, err := controller.NewController(kube).Reconcile(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if len(pool.Status.Conditions) > 0 {
		t.Errorf("conditions %+v", pool.Status.Conditions)
	}
}
