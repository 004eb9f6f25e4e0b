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
	Image string // from which the node was made; "" = unknown, or classes set no image in this mode
	Own   any    // the mode's own type of node, for the mode's Drift; nil = unknown
}

// Backend makes nodes: in LKE node pools, as plain Linodes in instance mode, or as Machines in clusterapi mode. All modes use the nodes,
// claimants and errors of package claims, so that one table of verdicts serves them. Fields without a meaning in a mode are zero.
type Backend interface {
	// Mode decides which fields of a LinodeNodeClass count.
	Mode() v1alpha1.Mode
	// Claim returns the NodeClaim's node: the node that it has, or a new node. It waits until ctx ends.
	Claim(ctx context.Context, launch Launch) (Node, error)
	Release(ctx context.Context, instanceID int, by claims.Claimant) error
	Get(ctx context.Context, instanceID int) (Node, error)
	List(ctx context.Context) ([]Node, error)
	// Drift returns how a node differs from the node that Claim would make now, "" if it does not differ. It does not read the node
	// again. If it reads other objects, such as firewalls, all nodes share the answer for minutes.
	Drift(ctx context.Context, node Node, launch Launch) cloudprovider.DriftReason
	// Outdated returns whether a kubelet of this version is older than the kubelet of a new node. It reads from memory.
	Outdated(ctx context.Context, kubelet string, launch Launch) bool
}
