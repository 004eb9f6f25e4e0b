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

// Catalog lists the instance types that can be bought; *catalog.Catalog implements it. The caller may change the returned slice, but not
// the instance types in it, which all callers share.
type Catalog interface {
	InstanceTypes(class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType
	Unpriced() []string                  // plans that could be bought if their price were known
	AtLeastAsLarge(plan string) []string // other plans with at least as much of each resource
	Launches() *launches.Memory          // the results of launches of these plans
}

// Config configures a CloudProvider. Region is required.
type Config struct {
	Region         string                                                // of new nodes
	CreateDeadline time.Duration                                         // how long one Create waits; 0 = 10 s
	OnClaim        func(nodePool, outcome string, elapsed time.Duration) // after every claim; may be nil. Outcomes are a closed set.
	OnNeverJoined  func(instanceType string)                             // core deletes a NodeClaim whose node never joined; may be nil

	// Keep stops the drain of an instance that a NodeClaim has got: its node may be draining because no NodeClaim owned it. Create
	// returns the instance to core only after Keep has succeeded. nil = nodes without a NodeClaim are not drained.
	Keep func(ctx context.Context, node claims.Node) error

	// HostMaintenance returns from memory whether the host of an instance has maintenance pending; nil = maintenance is not watched.
	HostMaintenance func(instanceID int) bool
	// Holder returns which NodeClaim's status names an instance; nil = the check is left out.
	Holder claims.Holder
	// Inventory keeps the last list of nodes; nil = no other package reads it.
	Inventory *Inventory
	// Overlays applies the prices and capacity of NodeOverlays; nil = NodeOverlays are not used.
	Overlays Overlays
	// RelaxMinValues is core's policy BestEffort: Create buys a node even if there is less choice than minValues requires.
	RelaxMinValues bool
	// Reboot starts an instance again, once for each operation ID. Its errors are core's; nil = instances are not rebooted.
	Reboot func(ctx context.Context, instanceID int, operationID string) error
	// Toleration is the time for which a node may be broken before core repairs it; 0 = 10 min. For KernelDeadlock and
	// ReadonlyFilesystem, which do not pass by themselves, half of it applies.
	Toleration time.Duration
	// TokenRefused returns whether the Linode API refuses the operator's token now; nil = never.
	TokenRefused func() bool
	// Events publishes events; may be nil.
	Events events.Recorder
}

// Overlays applies NodeOverlays to the instance types of a NodePool; core's *nodeoverlay.InstanceTypeStore implements it.
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
	confirmed *cache.Expiring // by the NodeClaim's UID: the drift that a read of the instance has confirmed
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
	if err := c.cfg.Keep(ctx, node.Node); err != nil { // an error of the Kubernetes API; core calls again, and gets the same instance
		return nil, fmt.Errorf("keeping instance %d: %w", node.InstanceID, err)
	}
	c.launches.End(nodeClaim.UID)
	c.nodes.Note(node)
	// The node's plan can differ from instanceType: after a restart of the operator, a NodeClaim gets the node that it already has.
	return launched(node, nodeClass, c.backend.Mode(), find(all, node.InstanceType), c.cfg.Region)
}

// choose returns the plan of the last attempt while the catalog lists it, available or not. Otherwise it returns the cheapest plan.
func (c *CloudProvider) choose(nodeClaim *karpv1.NodeClaim, all []*cloudprovider.InstanceType) (*cloudprovider.InstanceType, error) {
	if last := find(all, c.launches.Attempted(nodeClaim.UID)); last != nil {
		return last, nil
	}
	return cheapest(all, nodeClaim, !c.cfg.RelaxMinValues)
}

// Get reads an instance from the Linode API and returns its NodeClaim.
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

// List returns the NodeClaims of all claimed instances of the cluster, never a part of the list. A NodeClaim has the name in the
// instance's tag, which is shortened if the name is longer than a tag can hold.
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

// Tags returns an instance's tags as they were last read; core lists every two minutes. It makes no request.
func (c *CloudProvider) Tags(instanceID int) (tags []string, known bool) {
	node, known := c.nodes.Known(instanceID)
	return node.Tags, known
}

// GetInstanceTypes returns all plans. A plan that cannot be bought now has no available offering. A NodePool whose NodeClass belongs to
// another provider gets no plans. A NodePool whose LinodeNodeClass does not exist gets all plans, all unavailable: core would log an
// error in each of its rounds, and a condition of the NodePool already contains the reason.
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

// GetSupportedNodeClasses returns the only kind of NodeClass of this provider.
func (c *CloudProvider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}
