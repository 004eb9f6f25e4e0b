package unlaunched

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestOnlyNodeClaimsOfOursWithoutProviderIDAreLookedFor(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*karpv1.NodeClaim)
		queued int
	}{
		"no provider ID":      {func(*karpv1.NodeClaim) {}, 1},
		"a provider ID":       {func(c *karpv1.NodeClaim) { c.Status.ProviderID = "linode://5" }, 0},
		"of another provider": {func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Group = "karpenter.example" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group,
				Kind: v1alpha1.Kind}}}
			test.change(claim)
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			deleted(t.Context(), event.DeleteEvent{Object: claim}, queue)
			if queue.Len() != test.queued {
				t.Errorf("%d are queued, want %d", queue.Len(), test.queued)
			}
		})
	}
}
