package cloudprovider

import (
	"context"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Backend is where nodes come from: LKE node pools, or plain Linodes in instance mode. Nodes, claimants and errors have lkepool's
// words for both, so that one table of verdicts serves them; what a plain Linode has no counterpart of is zero.
type Backend interface {
	// Mode is which fields of a LinodeNodeClass count.
	Mode() v1alpha1.Mode
	// Claim returns the NodeClaim's node, one that it has or a new one. It waits until ctx ends.
	Claim(ctx context.Context, launch Launch) (claims.Node, error)
	Release(ctx context.Context, instanceID int, by claims.Claimant) error
	Get(ctx context.Context, instanceID int) (claims.Node, error)
	List(ctx context.Context) ([]claims.Node, error)
	// Drift returns how a node differs from what Claim would make now, "" if it does not. It reads nothing of the node: what it reads of
	// others serves all nodes for minutes.
	Drift(ctx context.Context, node claims.Node, launch Launch) cloudprovider.DriftReason
	// Outdated returns whether a kubelet of this version is older than that of a node made now. It reads from memory.
	Outdated(ctx context.Context, kubelet string, launch Launch) bool
}
