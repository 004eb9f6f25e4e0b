package lke

import (
	"cmp"
	"context"

	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Pools hands out nodes of LKE pools. *allocator.Allocator implements it.
type Pools interface {
	Claim(ctx context.Context, request lkepool.Request) (lkepool.Node, error)
	Release(ctx context.Context, instanceID int, by claims.Claimant) error
	Get(ctx context.Context, instanceID int) (lkepool.Node, error)
	List(ctx context.Context) ([]lkepool.Node, error)
}

// Config configures a Backend. Cluster and Pools are required.
type Config struct {
	Cluster Cluster
	Pools   Pools
	// ControlPlaneVersion returns the Kubernetes version of the cluster from memory, such as 1.35 or v1.35.2+lke3. nil or "" = not known.
	ControlPlaneVersion func(context.Context) string
	// UnregisteredTaint returns whether a new pool gets Karpenter's taint karpenter.sh/unregistered, so that LKE's nodes join with the
	// taint. Each launch calls it; nil = never.
	UnregisteredTaint func() bool
	// Inventory has the nodes of the last reading; nil = a new Inventory.
	Inventory *cloudprovider.Inventory
}

// Backend is the cloudprovider.Backend of LKE mode.
type Backend struct {
	cfg Config
}

var _ cloudprovider.Backend = (*Backend)(nil)

// NewBackend returns a Backend.
func NewBackend(cfg Config) *Backend {
	cfg.Inventory = cmp.Or(cfg.Inventory, cloudprovider.NewInventory())
	return &Backend{cfg: cfg}
}

// Mode returns LKE mode.
func (b *Backend) Mode() v1alpha1.Mode { return v1alpha1.ModeLKE }

func read(node lkepool.Node, err error) (cloudprovider.Node, error) {
	if err != nil {
		return cloudprovider.Node{}, err
	}
	return cloudprovider.Node{Node: node.Node, Own: node}, nil
}

// Release removes a node.
func (b *Backend) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	return b.cfg.Pools.Release(ctx, instanceID, by)
}

// Get reads one node.
func (b *Backend) Get(ctx context.Context, instanceID int) (cloudprovider.Node, error) {
	return read(b.cfg.Pools.Get(ctx, instanceID))
}

// List returns the nodes of all NodeClaims.
func (b *Backend) List(ctx context.Context) ([]cloudprovider.Node, error) {
	all, err := b.cfg.Pools.List(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]cloudprovider.Node, len(all))
	for i, node := range all {
		nodes[i], _ = read(node, nil)
	}
	return nodes, nil
}

// Drift compares a node and its pool with a new node and its pool.
func (b *Backend) Drift(_ context.Context, node cloudprovider.Node, l cloudprovider.Launch) core.DriftReason {
	pool, _ := node.Own.(lkepool.Node)
	pool.Node = node.Node
	return drift(pool, template(b.cfg.Cluster, l.NodeClaim, l.NodePool, l.NodeClass))
}

// Outdated returns whether a node on the Standard tier has an older minor version than its cluster. Pools of this tier have no version of
// their own: LKE makes new nodes with the cluster's version.
func (b *Backend) Outdated(ctx context.Context, kubelet string, _ cloudprovider.Launch) bool {
	return b.cfg.Cluster.Tier == lke.Standard && b.cfg.ControlPlaneVersion != nil &&
		cloudprovider.OlderMinor(kubelet, b.cfg.ControlPlaneVersion(ctx))
}
