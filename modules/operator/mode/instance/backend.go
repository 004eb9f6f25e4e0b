package instance

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/allowlist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
)

// Engine makes Linodes. *instances.Manager implements it.
type Engine interface {
	Create(ctx context.Context, spec instances.Spec) (instances.Instance, error)
	Get(ctx context.Context, instanceID int) (instances.Instance, error)
	List(ctx context.Context) ([]instances.Instance, error)
	Delete(ctx context.Context, instanceID int, by claims.Claimant) error
	SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error
	Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error)
}

// Tokens issues bootstrap tokens. *bootstraptoken.Issuer implements it.
type Tokens interface {
	Issue(ctx context.Context, nodeClaim *karpv1.NodeClaim) (string, error)
}

// Joined returns the facts about the cluster that nodes join. *clusterinfo.Reader implements it.
type Joined interface {
	Cluster(ctx context.Context) (clusterinfo.Cluster, error)
}

// Groups reads placement groups. *nodeclass.Lookup implements it, and remembers an answer for a while.
type Groups interface {
	PlacementGroup(ctx context.Context, id int) (*status.PlacementGroup, error)
}

// Config configures a Backend. All other fields are required.
type Config struct {
	Cluster Cluster
	Engine  Engine
	Tokens  Tokens // nil = classes are refused whose nodes each need a bootstrap token
	Joined  Joined
	Secrets Secrets // that classes name
	// Allowed has the objects of the account that classes may name.
	Allowed allowlist.List
	// Groups shows which placement groups are full. With nil, all groups are tried in order.
	Groups Groups
	// Generation returns the kind of network interfaces that the account's Linodes get. With nil, "" or an error, a request leaves the
	// choice to the account's default.
	Generation func(ctx context.Context) (instances.Generation, error)
	// Attachments show which Linodes a user took out of their VPC. With nil, such a Linode does not drift.
	Attachments Attachments
	// FirewallRefused reports that a NodeClaim's Linode cannot be put behind its class's firewall. With nil, such a Linode does not
	// drift.
	FirewallRefused func(nodeClaim types.UID, firewallID int) bool
	// ImageVersions finds out whether images have the control plane's version. With nil, this is not known.
	ImageVersions ImageVersions
	// Neighbours are the settings of the cloud controller manager. With the zero value, classes are not compared with them.
	Neighbours Neighbours
	// Inventory has the Linodes of the last reading; nil = a new Inventory.
	Inventory *cloudprovider.Inventory
	// Tags are tags of all Linodes, in addition to the tags of their classes.
	Tags []string
	// ServingCertificates lets kubelets request their serving certificates from the cluster.
	ServingCertificates bool
}

// Backend is the cloudprovider.Backend of instance mode.
type Backend struct {
	cfg    Config
	doubts doubts
}

var _ cloudprovider.Backend = (*Backend)(nil)

// NewBackend returns a Backend.
func NewBackend(cfg Config) *Backend {
	cfg.Inventory = cmp.Or(cfg.Inventory, cloudprovider.NewInventory())
	return &Backend{cfg: cfg, doubts: doubts{cache.NewExpiring()}}
}

// Mode returns instance mode.
func (b *Backend) Mode() v1alpha1.Mode { return v1alpha1.ModeInstance }

// Release removes a Linode.
func (b *Backend) Release(ctx context.Context, instanceID int, by claims.Claimant) error {
	return b.cfg.Engine.Delete(ctx, instanceID, by)
}

// Get reads one Linode.
func (b *Backend) Get(ctx context.Context, instanceID int) (cloudprovider.Node, error) {
	found, err := b.cfg.Engine.Get(ctx, instanceID)
	if err != nil {
		return cloudprovider.Node{}, err
	}
	return node(found), nil
}

func node(i instances.Instance) cloudprovider.Node {
	return cloudprovider.Node{Node: i.Node, Image: i.Image, Own: i}
}

// List returns the Linodes of all NodeClaims of this cluster.
func (b *Backend) List(ctx context.Context) ([]cloudprovider.Node, error) {
	all, err := b.cfg.Engine.List(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]cloudprovider.Node, len(all))
	for i, found := range all {
		nodes[i] = node(found)
	}
	return nodes, nil
}

// SetTags changes the user's tags on a Linode.
func (b *Backend) SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error {
	return b.cfg.Engine.SetTags(ctx, instanceID, by, remove, add)
}

// Collect removes Linodes whose NodeClaim is gone.
func (b *Backend) Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error) {
	return b.cfg.Engine.Collect(ctx, how)
}
