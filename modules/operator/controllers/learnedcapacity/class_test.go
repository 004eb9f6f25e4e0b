package learnedcapacity

import (
	"testing"

	opstatus "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A node of a class that reserves memory changes the plans for this class only. A node that was made before the class changed changes
// nothing.
func TestNodesOfAClassTeachThatClass(t *testing.T) {
	market := anyCatalog(t, v1alpha1.ModeInstance)
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "reserving"}, Spec: v1alpha1.LinodeNodeClassSpec{
		Kubelet: &v1alpha1.KubeletConfiguration{MaxPods: new(int32(60))},
	}}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).Build()
	controller := NewController(kube, market, nil, nil)
	teach := func(name, hash string) {
		t.Helper()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "linode://" + name},
			Status: corev1.NodeStatus{
				Capacity:    corev1.ResourceList{"memory": resource.MustParse("8100000Ki"), "pods": resource.MustParse("60")},
				Allocatable: corev1.ResourceList{"memory": resource.MustParse("6000000Ki"), "pods": resource.MustParse("60")}}}
		if err := kube.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels:      map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-4"},
			Annotations: map[string]string{v1alpha1.AnnotationHash: hash, v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion}}}
		claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class.Name}
		claim.Status.NodeName, claim.Status.ProviderID = name, node.Spec.ProviderID
		claim.Status.Conditions = []opstatus.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue},
			{Type: karpv1.ConditionTypeRegistered, Status: metav1.ConditionTrue}}
		if _, err := controller.Reconcile(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"old-1", "old-2"} {
		teach(name, "of another spec")
	}
	if learned := market.Learned(); len(learned) > 0 {
		t.Errorf("nodes of an older spec have taught %v", learned)
	}
	for _, name := range []string{"new-1", "new-2"} {
		teach(name, class.Hash(v1alpha1.ModeInstance))
	}
	learned := market.Learned()
	figures, known := learned[market.LearnedBy("g6-standard-4", &class.Spec)]
	if _, others := learned["g6-standard-4"]; !known || others || figures.ReservedMemory != 2100000<<10 {
		t.Errorf("learned %v", learned)
	}
}
