package clusterapi

import (
	"context"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Naming implements karpentercore.Naming with the infrastructure provider's machine: CAPL labels a Linode with the name of its
// LinodeMachine, and the bootstrap configuration in docs/cluster-api.md names the node after that label. The nodeRef of a Machine proves
// nothing, because Cluster API copies it from any Node with the provider ID.
func (b *Backend) Naming(ctx context.Context, claim *karpv1.NodeClaim, node string) (own bool, name string, err error) {
	id, err := nodeclaim.InstanceID(claim.Status.ProviderID)
	if err != nil {
		return true, "", nil //nolint:nilerr // of another provider
	}
	m, known := b.view.machine(id)
	if !known {
		if _, err := b.Get(ctx, id); err != nil {
			return false, "", fmt.Errorf("reading the Machine of Linode %d, whose provider ID Node %s has: %w", id, node, err)
		}
		m, _ = b.view.machine(id)
	}
	name = m.Node().Name
	return name == node, name, nil
}
