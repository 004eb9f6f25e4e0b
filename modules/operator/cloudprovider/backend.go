package cloudprovider

import (
	"context"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Node is a node as its mode reads it.
type Node struct {
	claims.Node
	Image string // from which it was made; "" = unknown, or the mode's nodes come without one that a class sets
	Own   any    // the mode's own type of node, for the mode's Drift; nil = unknown
}

// Backend is where nodes come from: LKE node pools, or plain Linodes in instance mode. Nodes, claimants and errors have lkepool's
// words for both, so that one table of verdicts serves them; what a plain Linode has no counterpart of is zero.
type Backend interface {
	// Mode is which fields of a LinodeNodeClass count.
	Mode() v1alpha1.Mode
	// Claim returns the NodeClaim's node: the node that it has, or a new node. It waits until ctx ends.
	Claim(ctx context.Context, launch Launch) (Node, error)
	Release(ctx context.Context, instanceID int, by claims.Claimant) error
	Get(ctx context.Context, instanceID int) (Node, error)
	List(ctx context.Context) ([]Node, error)
	// Drift returns how a node differs from what Claim would make now, "" if it does not. It reads nothing of the node: what it reads of
	// others serves all nodes for minutes.
	Drift(ctx context.Context, node Node, launch Launch) cloudprovider.DriftReason
	// Outdated returns whether a kubelet of this version is older than the kubelet of a new node. It reads from memory.
	Outdated(ctx context.Context, kubelet string, launch Launch) bool
}
