package lke

import (
	"context"

	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
)

// Pools hands out nodes of LKE pools; *allocator.Allocator is one.
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
	// ControlPlaneVersion returns the Kubernetes version of the cluster from memory, 1.35 or v1.35.2+lke3; nil or "" = unknown.
	ControlPlaneVersion func(context.Context) string
	// UnregisteredTaint returns whether a new pool gets Karpenter's taint karpenter.sh/unregistered, so that LKE's nodes join with it. It is
	// called at every launch; nil = never.
	UnregisteredTaint func() bool
}

// Backend is the cloudprovider.Backend of LKE mode.
type Backend struct {
	cfg      Config
	lastRead *mode.LastRead[lkepool.Node]
}

var _ cloudprovider.Backend = (*Backend)(nil)

// NewBackend returns a Backend.
func NewBackend(cfg Config) *Backend {
	return &Backend{cfg: cfg, lastRead: mode.NewLastRead(func(node lkepool.Node) claims.Node { return node.Node })}
}

// Mode returns LKE mode.
func (b *Backend) Mode() v1alpha1.Mode { return v1alpha1.ModeLKE }

func (b *Backend) read(node lkepool.Node, err error) (claims.Node, error) {
	if err != nil {
		return claims.Node{}, err
	}
	return b.lastRead.Node(node), nil
}

// Release removes a node.
func (b *Backend) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	return b.cfg.Pools.Release(ctx, instanceID, by)
}

// Get reads one node.
func (b *Backend) Get(ctx context.Context, instanceID int) (claims.Node, error) {
	return b.read(b.cfg.Pools.Get(ctx, instanceID))
}

// List returns the nodes of all NodeClaims.
func (b *Backend) List(ctx context.Context) ([]claims.Node, error) {
	all, err := b.cfg.Pools.List(ctx)
	if err != nil {
		return nil, err
	}
	return b.lastRead.Nodes(all), nil
}

// Drift compares a node, and its pool as it was last read, with one that would be made now.
func (b *Backend) Drift(_ context.Context, node claims.Node, l cloudprovider.Launch) core.DriftReason {
	pool, _ := b.lastRead.Get(node.InstanceID)
	pool.Node = node
	return drift(pool, template(b.cfg.Cluster, l.NodeClaim, l.NodePool, l.NodeClass))
}

// Outdated is about the Standard tier, whose pools have no version of their own: LKE makes new nodes with the cluster's.
func (b *Backend) Outdated(ctx context.Context, kubelet string, _ cloudprovider.Launch) bool {
	return b.cfg.Cluster.Tier == lke.Standard && b.cfg.ControlPlaneVersion != nil &&
		cloudprovider.OlderMinor(kubelet, b.cfg.ControlPlaneVersion(ctx))
}
