package cloudprovider

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
)

// Pools hands out nodes of LKE pools; *lkepool.Allocator is one.
type Pools interface {
	Claim(ctx context.Context, request lkepool.Request) (lkepool.Node, error)
	Release(ctx context.Context, instanceID int, by lkepool.Claimant) error
	Get(ctx context.Context, instanceID int) (lkepool.Node, error)
	List(ctx context.Context) ([]lkepool.Node, error)
}

// New returns a CloudProvider over LKE node pools. kube may read from a cache.
func New(kube client.Reader, pools Pools, catalog Catalog, cfg Config) *CloudProvider {
	return Over(kube, lkePools{Pools: pools, cluster: cfg.Cluster, tainted: cfg.UnregisteredTaint}, catalog, cfg)
}

// lkePools is the Backend of lke mode.
type lkePools struct {
	Pools
	cluster discovery.Cluster
	tainted func() bool
}

func (p lkePools) Mode() v1alpha1.Mode { return v1alpha1.ModeLKE }

func (p lkePools) ClaimValue(nodeClaim string) string { return lkepool.ClaimValue(nodeClaim) }

func (p lkePools) Claim(ctx context.Context, l Launch) (lkepool.Node, error) {
	wanted := request(p.cluster, l.NodeClaim, l.NodePool, l.NodeClass, l.InstanceType.Name)
	if p.tainted != nil && p.tainted() {
		wanted.Key.Template.Taints = append(wanted.Key.Template.Taints, unregistered)
	}
	return p.Pools.Claim(ctx, wanted)
}

func (p lkePools) Drift(_ context.Context, node lkepool.Node, l Launch) cloudprovider.DriftReason {
	return drift(node, template(p.cluster, l.NodeClaim, l.NodePool, l.NodeClass))
}

// Outdated is about the Standard tier, whose pools have no version of their own: LKE makes new nodes with the cluster's.
func (p lkePools) Outdated(kubelet, controlPlane string, _ Launch) bool {
	return p.cluster.Tier == lke.Standard && OlderMinor(kubelet, controlPlane)
}
