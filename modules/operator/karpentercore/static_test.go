package karpentercore_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

func TestOnlyNodeClaimsThatAreHeldAreNotCreated(t *testing.T) {
	refused := errors.New("not now")
	kube := karpentercore.Held(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), func(claim *karpv1.NodeClaim) error {
		if claim.Labels[karpv1.NodePoolLabelKey] == "static" {
			return refused
		}
		return nil
	})
	of := func(nodePool string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: nodePool, Labels: map[string]string{karpv1.NodePoolLabelKey: nodePool}}
	}
	for object, want := range map[client.Object]error{
		&karpv1.NodeClaim{ObjectMeta: of("static")}: refused,
		&karpv1.NodeClaim{ObjectMeta: of("other")}:  nil,
		&corev1.Node{ObjectMeta: of("static")}:      nil,
	} {
		if err := kube.Create(t.Context(), object); !errors.Is(err, want) {
			t.Errorf("creating %T %s: %v, want %v", object, object.GetName(), err, want)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), object); (err == nil) != (want == nil) {
			t.Errorf("%T %s: %v", object, object.GetName(), err)
		}
	}
}

// Core forgets a static NodePool's state with its only NodeClaim, also while the next one is reserved.
func TestCoreCanGiveUpTheReservationOfANodeClaimThatIsHeld(t *testing.T) {
	core := state.NewNodePoolState()
	core.SetNodeClaimMapping("static", "static-1")
	core.MarkNodeClaimDeleting("static", "static-1")
	if granted := core.ReserveNodeCount("static", 10, 1); granted != 1 {
		t.Fatalf("%d reserved", granted)
	}
	core.Cleanup("static-1")
	core.ReleaseNodeCount("static", 1)
	if granted := core.ReserveNodeCount("static", 1, 1); granted != 1 {
		t.Errorf("%d can be reserved afterwards, want 1", granted)
	}
}
