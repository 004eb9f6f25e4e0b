package lke

import (
	"context"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Naming implements karpentercore.Naming with the label of the NodeClaim's Linode, from the last reading or from the API.
//
// On the Standard tier a node's name is the label of its Linode (FACTS.md, section 6). The names of nodes on the Enterprise tier are not
// documented. There any Node may belong to the NodeClaim, except a Node with the name of another Linode in the operator's pools.
func (b *Backend) Naming(ctx context.Context, claim *karpv1.NodeClaim, node string) (own bool, name string, err error) {
	id, err := nodeclaim.InstanceID(claim.Status.ProviderID)
	if err != nil {
		return true, "", nil //nolint:nilerr // of another provider
	}
	instance, known := b.cfg.Inventory.Known(id)
	if !known || instance.Name == "" {
		if instance, err = b.Get(ctx, id); err != nil {
			return false, "", fmt.Errorf("reading the label of Linode %d, whose provider ID Node %s has: %w", id, node, err)
		}
		b.cfg.Inventory.Note(instance)
	}
	if instance.Name == node {
		return true, instance.Name, nil
	}
	if b.cfg.Cluster.Tier == lke.Enterprise {
		return !b.cfg.Inventory.Named(node), instance.Name, nil
	}
	return false, instance.Name, nil
}
