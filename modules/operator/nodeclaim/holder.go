package nodeclaim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Claimant returns a NodeClaim as the claim engine records it.
func Claimant(nodeClaim *karpv1.NodeClaim) claims.Claimant {
	return claims.Claimant{Name: nodeClaim.Name, UID: string(nodeClaim.UID)}
}

// cacheLag is longer than a cache lags behind the API server: we have seen informers lag by seconds, and by 20 s at most.
const cacheLag = time.Minute

// Holders is the cluster's own record of which NodeClaim has which instance. It implements [claims.Records], and has precedence over the
// tags of instances. It is safe for concurrent use, and has no records until Use and Read.
type Holders struct {
	cache atomic.Pointer[client.Reader]
	first atomic.Pointer[snapshot]
}

// snapshot has the NodeClaims that the API server returned when this process began to lead.
type snapshot struct {
	read    time.Time
	holders map[string]claims.Claimant
}

// Use sets the cache, which must have core's index of NodeClaims by provider ID.
func (h *Holders) Use(cache client.Reader) { h.cache.Store(&cache) }

// Read lists the NodeClaims from the API server. A process calls it when it begins to lead: the cache may lack the last writes of the
// previous leader. For cacheLag, Holder uses the list if the cache has no answer. Example: the previous leader wrote a status at 12:00:00,
// and this process reads at 12:00:05; until 12:01:05 Holder knows the status even if the cache lags.
func (h *Holders) Read(ctx context.Context, server client.Reader) error {
	list := &karpv1.NodeClaimList{}
	if err := server.List(ctx, list); err != nil {
		return fmt.Errorf("listing NodeClaims: %w", err)
	}
	first := &snapshot{read: time.Now(), holders: make(map[string]claims.Claimant, len(list.Items))}
	named := map[string]int{}
	for i := range list.Items {
		id := list.Items[i].Status.ProviderID
		if named[id]++; id != "" {
			first.holders[id] = Claimant(&list.Items[i])
		}
		if named[id] > 1 {
			delete(first.holders, id)
		}
	}
	h.first.Store(first)
	return nil
}

// Holder returns the NodeClaim whose status names the instance. It returns false if no status or more than one status names the instance.
// It makes no request.
func (h *Holders) Holder(instanceID int) (claims.Claimant, bool) {
	id := ProviderID(instanceID)
	if cache := h.cache.Load(); cache != nil {
		list := &karpv1.NodeClaimList{}
		err := (*cache).List(context.Background(), list, client.MatchingFields{"status.providerID": id}, client.UnsafeDisableDeepCopy)
		switch {
		case err == nil && len(list.Items) == 1:
			return Claimant(&list.Items[0]), true
		case err == nil && len(list.Items) > 1:
			return claims.Claimant{}, false
		}
	}
	first := h.first.Load()
	if first == nil || time.Since(first.read) > cacheLag {
		return claims.Claimant{}, false
	}
	who, held := first.holders[id]
	return who, held
}
