package cloudprovider

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Catalog lists the instance types that can be bought; *catalog.Catalog is one. The slice is the caller's, the instance types are
// shared.
type Catalog interface {
	InstanceTypes(class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType
	Unpriced() []string                  // plans that could be bought if their price were known
	AtLeastAsLarge(plan string) []string // other plans with at least as much of everything
	Launches() *launches.Memory          // what launches of these plans have shown
}

// Config configures a CloudProvider. Region is required.
type Config struct {
	Region         string                                                // of new nodes
	CreateDeadline time.Duration                                         // how long one Create waits; 0 = 10 s
	OnClaim        func(nodePool, outcome string, elapsed time.Duration) // after every claim; may be nil. Outcomes are a closed set.
	OnNeverJoined  func(instanceType string)                             // a NodeClaim is deleted whose node never joined; may be nil

	// Keep ends what was going on to remove an instance that a NodeClaim has got; core learns of the instance after it, and not if it
	// fails. nil = nothing removes an instance in steps.
	Keep func(ctx context.Context, node claims.Node) error

	// HostMaintenance returns from memory whether the host of an instance has maintenance pending; nil = that is not watched.
	HostMaintenance func(instanceID int) bool
	// Holder returns which NodeClaim has an instance by its status; nil = there are no such records.
	Holder claims.Holder
	// Inventory keeps the last list of nodes; nil = no other package reads it.
	Inventory *Inventory
	// Overlays changes prices and capacity as NodeOverlays say; nil = they are not used.
	Overlays Overlays
	// RelaxMinValues is core's policy BestEffort: a node is bought although there is less choice than minValues requires.
	RelaxMinValues bool
	// Reboot starts an instance again, once for each operation ID. Its errors are core's; nil = that is not done.
	Reboot func(ctx context.Context, instanceID int, operationID string) error
	// Toleration is how long a node may be broken before it is repaired; 0 = 10 min. Where waiting cannot help it is half as long.
	Toleration time.Duration
	// TokenRefused returns whether the Linode API refuses the operator's token now; nil = that is not watched.
	TokenRefused func() bool
	// Events publishes events; may be nil.
	Events events.Recorder
}

// Overlays applies NodeOverlays to the instance types of a NodePool; core's *nodeoverlay.InstanceTypeStore is one.
type Overlays interface {
	ApplyAll(nodePool string, all []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error)
}

// CloudProvider implements Karpenter's cloudprovider.CloudProvider.
type CloudProvider struct {
	objects   *objects
	backend   Backend
	market    Catalog
	launches  *launches.Memory
	cfg       Config
	events    publisher
	nodes     *reader
	confirmed *cache.Expiring // by NodeClaim's UID: the drift that a second reading has confirmed
}

var _ cloudprovider.CloudProvider = (*CloudProvider)(nil)

// New returns a CloudProvider over a Backend. kube may read from a cache.
func New(kube client.Reader, backend Backend, market Catalog, cfg Config) *CloudProvider {
	if cfg.CreateDeadline <= 0 {
		cfg.CreateDeadline = 10 * time.Second
	}
	if cfg.Toleration <= 0 {
		cfg.Toleration = defaultToleration
	}
	if cfg.OnClaim == nil {
		cfg.OnClaim = func(string, string, time.Duration) {}
	}
	if cfg.Keep == nil {
		cfg.Keep = func(context.Context, claims.Node) error { return nil }
	}
	if cfg.TokenRefused == nil {
		cfg.TokenRefused = func() bool { return false }
	}
	return &CloudProvider{objects: &objects{kube: kube}, backend: backend, market: market, launches: market.Launches(), cfg: cfg,
		events: publisher{cfg.Events},
		nodes:  &reader{Inventory: cmp.Or(cfg.Inventory, NewInventory()), backend: backend}, confirmed: cache.NewExpiring()}
}

// Create claims a node of the cheapest plan that meets the NodeClaim.
func (c *CloudProvider) Create(ctx context.Context, nodeClaim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	nodeClass, err := c.objects.readyNodeClass(ctx, nodeClaim)
	if err != nil {
		return nil, err
	}
	nodePool, err := c.objects.nodePoolOf(ctx, nodeClaim)
	if err != nil {
		return nil, err
	}
	all, err := c.overlaid(nodePool, c.offered(nodePool, nodeClass))
	if err != nil {
		return nil, err
	}
	instanceType, err := c.choose(nodeClaim, all)
	if err != nil {
		return nil, c.nothingToBuy(nodePool, err)
	}
	attempt := c.launches.Begin(nodeClaim.UID, instanceType.Name)
	l := Launch{nodeClaim, nodePool, nodeClass, instanceType, LabelsOf(instanceType, c.cfg.Region)}
	node, err := c.claim(ctx, l)
	if err != nil {
		return nil, c.failed(l, attempt, err)
	}
	if err := c.cfg.Keep(ctx, node.Node); err != nil { // Kubernetes'; core calls again, and gets the same instance
		return nil, fmt.Errorf("keeping instance %d: %w", node.InstanceID, err)
	}
	c.launches.End(nodeClaim.UID)
	c.nodes.Note(node)
	// A NodeClaim that has a node already, from before a restart, gets that one, whatever would be chosen now.
	return launched(node, nodeClass, c.backend.Mode(), find(all, node.InstanceType), c.cfg.Region)
}

// choose returns the plan of the last attempt while it is offered, and otherwise the cheapest.
func (c *CloudProvider) choose(nodeClaim *karpv1.NodeClaim, all []*cloudprovider.InstanceType) (*cloudprovider.InstanceType, error) {
	if last := find(all, c.launches.Attempted(nodeClaim.UID)); last != nil {
		return last, nil
	}
	return cheapest(all, nodeClaim, !c.cfg.RelaxMinValues)
}

// Get returns the NodeClaim of an instance as the Linode API has it.
func (c *CloudProvider) Get(ctx context.Context, providerID string) (*karpv1.NodeClaim, error) {
	id, err := nodeclaim.InstanceID(providerID)
	if err != nil {
		return nil, cloudprovider.NewNodeClaimNotFoundError(err)
	}
	node, err := c.nodes.get(ctx, id)
	if err != nil {
		return nil, lookupError(err)
	}
	return observed(node, find(c.market.InstanceTypes(nil), node.InstanceType), c.cfg.Region)
}

// List returns the NodeClaims of all claimed instances of the cluster, never a part of them. A name is the
// one in the instance's tag, which is shortened when the NodeClaim's is longer than a tag can hold.
func (c *CloudProvider) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	nodes, err := c.nodes.list(ctx)
	if err != nil {
		return nil, lookupError(err)
	}
	all := c.market.InstanceTypes(nil)
	claims := make([]*karpv1.NodeClaim, 0, len(nodes))
	for _, node := range nodes {
		claim, err := observed(node, find(all, node.InstanceType), c.cfg.Region)
		if err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// Tags returns an instance's tags as they were listed last; core lists every two minutes. It makes no request.
func (c *CloudProvider) Tags(instanceID int) (tags []string, known bool) {
	node, known := c.nodes.Known(instanceID)
	return node.Tags, known
}

// GetInstanceTypes returns all plans, with no available offering for a plan that cannot be bought now. A NodePool of another
// provider's kind gets none. One whose LinodeNodeClass does not exist gets all, none of them available: for an error core would
// write the same line at each of its rounds, and its NodePool's condition contains the reason.
func (c *CloudProvider) GetInstanceTypes(ctx context.Context, nodePool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if nodePool == nil || nodePool.Spec.Template.Spec.NodeClassRef == nil {
		return c.offered(nodePool, nil), nil
	}
	ref := nodePool.Spec.Template.Spec.NodeClassRef
	if !nodeclaim.Ours(ref) {
		return nil, nil
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	exists, err := c.objects.read(ctx, v1alpha1.Kind, ref.Name, nodeClass)
	if err != nil {
		return nil, err
	}
	c.objects.noteClass(ctx, nodePool, exists)
	if !exists {
		return without(c.market.InstanceTypes(nil), func(string) bool { return true }), nil
	}
	all := c.offered(nodePool, nodeClass)
	if c.cfg.Events != nil {
		if err := impossible(all, nodePool, !c.cfg.RelaxMinValues); err != nil {
			c.events.nothingToBuy(nodePool, fmt.Errorf("this NodePool gets no nodes: %w", err))
		}
	}
	return all, nil
}

// Name is the name in core's metrics.
func (c *CloudProvider) Name() string { return "linode" }

// GetSupportedNodeClasses returns the one kind of NodeClass there is.
func (c *CloudProvider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}
