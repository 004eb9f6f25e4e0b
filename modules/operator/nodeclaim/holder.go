package nodeclaim

import (
	"context"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Claimant is a NodeClaim as the claim engine records it.
func Claimant(nodeClaim *karpv1.NodeClaim) claims.Claimant {
	return claims.Claimant{Name: nodeClaim.Name, UID: string(nodeClaim.UID)}
}

// Holders is the cluster's own record of which NodeClaim has which instance: a second witness beside the tags of instances, at no
// request. It is safe for concurrent use, and has no records until Use.
type Holders struct{ cache atomic.Pointer[client.Reader] }

// Use sets the cache, which must have core's index of NodeClaims by provider ID.
func (h *Holders) Use(cache client.Reader) { h.cache.Store(&cache) }

// Holder returns the NodeClaim whose status names the instance, none if several do. It reads the cache alone.
func (h *Holders) Holder(instanceID int) (claims.Claimant, bool) {
	cache := h.cache.Load()
	if cache == nil {
		return claims.Claimant{}, false
	}
	list := &karpv1.NodeClaimList{}
	err := (*cache).List(context.Background(), list, client.MatchingFields{"status.providerID": ProviderID(instanceID)},
		client.UnsafeDisableDeepCopy)
	if err != nil || len(list.Items) != 1 {
		return claims.Claimant{}, false
	}
	return Claimant(&list.Items[0]), true
}
