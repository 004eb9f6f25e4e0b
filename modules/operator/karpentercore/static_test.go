package karpentercore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, onlyHeldNodeClaimsAreNotCreated)
}

func onlyHeldNodeClaimsAreNotCreated(t *testing.T) {
	refused := errors.New("not now")
	kube := karpentercore.Held(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), func(claim *karpv1.NodeClaim) error {
		if claim.Labels[karpv1.NodePoolLabelKey] == "static" {
			return refused
		}
		return nil
	}, state.NewNodePoolState())
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

// Core does here what its controllers do when a static NodePool's only NodeClaim was given up: it forgets the NodePool's state while the
// next NodeClaim is reserved. Its ReleaseNodeCount panics for a NodePool that it has forgotten.
func TestCoreCanGiveUpTheReservationOfANodeClaimThatIsHeld(t *testing.T) {
	for name, leave := range map[string]time.Duration{"the operator runs": time.Hour, "the operator ends": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), leave)
				defer cancel()
				core, refused := state.NewNodePoolState(), errors.New("not now")
				kube := karpentercore.Held(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), func(*karpv1.NodeClaim) error {
					time.AfterFunc(500*time.Millisecond, func() { core.Cleanup("static-1") })
					return refused
				}, core)
				core.SetNodeClaimMapping("static", "static-1")
				core.MarkNodeClaimDeleting("static", "static-1")
				if granted := core.ReserveNodeCount("static", 10, 1); granted != 1 {
					t.Fatalf("%d reserved", granted)
				}
				next := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "static-2", Labels: map[string]string{karpv1.NodePoolLabelKey: "static"}}}
				if err := kube.Create(ctx, next); !errors.Is(err, refused) {
					t.Errorf("got %v", err)
				}
				core.ReleaseNodeCount("static", 1)
				if granted := core.ReserveNodeCount("static", 1, 1); granted != 1 {
					t.Errorf("%d can be reserved afterwards, want 1", granted)
				}
			})
		})
	}
}
