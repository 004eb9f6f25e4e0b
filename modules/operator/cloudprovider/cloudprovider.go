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
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Catalog lists the instance types that can be bought; *instancetype.Catalog is one. The slice is the caller's, the instance types are
// shared.
type Catalog interface {
	InstanceTypes(class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType
	Unpriced() []string // plans that could be bought if their price were known
	MarkUnavailable(instanceType string, cause catalog.Cause) catalog.Refusal
	Unavailable(instanceType string) (cause catalog.Cause, is bool)
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
	// Overlays changes prices and capacity as NodeOverlays say; nil = they are not used.
	Overlays Overlays
	// RelaxMinValues is core's policy BestEffort: a node is bought although there is less choice than minValues requires.
	RelaxMinValues bool
	// Reboot starts an instance again, once for each operation ID. Its errors are core's; nil = that is not done.
	Reboot func(ctx context.Context, instanceID int, operationID string) error
	// Toleration is how long a node may be broken before it is repaired; 0 = 10 min. Where waiting cannot help it is half as long.
	Toleration time.Duration
	// Backoff has the pauses after launches that failed; nil = none are known from before.
	Backoff *launches.Backoff
	// Refused has the launches that are proven to be refused; nil = none are known from before.
	Refused *launches.Refusals
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
	cfg       Config
	backoff   *launches.Backoff
	events    publisher
	inventory *inventory
	attempts  *cache.Expiring // by NodeClaim's UID: the last attempt, until it has a node or is given up
	confirmed *cache.Expiring // by NodeClaim's UID: the drift that a second reading has confirmed
	failed    *cache.Expiring // UIDs of NodeClaims whose node never joined

	shortfalls *cache.Expiring // by target: what a node had that was too small
	limited    *cache.Expiring // NodePools that were refused because of a limit
	held       *cache.Expiring // by static NodePool: why it makes no NodeClaims now
	refused    *launches.Refusals
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
	return &CloudProvider{objects: &objects{kube: kube}, backend: backend, market: market, cfg: cfg,
		backoff: cmp.Or(cfg.Backoff, launches.NewBackoff()), events: publisher{cfg.Events}, inventory: newInventory(backend),
		attempts: cache.NewExpiring(), confirmed: cache.NewExpiring(), failed: cache.NewExpiring(), shortfalls: cache.NewExpiring(),
		limited: cache.NewExpiring(), held: cache.NewExpiring(), refused: cmp.Or(cfg.Refused, launches.NewRefusals())}
}

// An attempt is a call of Create. Prices and availability change between two; a NodeClaim that got another type would leave the
// capacity that it caused unused. Core calls Create for one NodeClaim by one goroutine at a time.
type attempt struct {
	instanceType string
	number       int       // from 1
	began        time.Time // the first for this instance type
}

// A NodeClaim that was deleted between two attempts is forgotten after this time; core gives a launch up after 5 minutes.
const attemptTTL = time.Hour

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
	all, err := c.overlaid(nodePool, c.buyable(nodePool, c.unrefused(nodePool, nodeClass, c.market.InstanceTypes(&nodeClass.Spec))))
	if err != nil {
		return nil, err
	}
	known, _ := c.attempts.Get(nodeClaim.UID)
	last, _ := known.(attempt)
	instanceType := find(all, last.instanceType)
	if instanceType == nil {
		if instanceType, err = cheapest(all, nodeClaim, !c.cfg.RelaxMinValues); err != nil {
			c.events.nothingToBuy(nodePool, err)
			return nil, c.insufficient(nodePool, err)
		}
	}
	this := attempt{instanceType.Name, last.number + 1, last.began}
	if last.instanceType != this.instanceType {
		this.began = time.Now()
	}
	c.attempts.Set(nodeClaim.UID, this, attemptTTL)

	nodeLabels := LabelsOf(instanceType, c.cfg.Region)
	l := Launch{nodeClaim, nodePool, nodeClass, instanceType, nodeLabels}
	node, err := c.claim(ctx, l)
	if err != nil {
		err = c.launchError(err, l, this)
		if cloudprovider.IsInsufficientCapacityError(err) {
			c.attempts.Delete(nodeClaim.UID)
		}
		return nil, err
	}
	if err := c.cfg.Keep(ctx, node); err != nil { // Kubernetes'; core calls again, and gets the same instance
		return nil, fmt.Errorf("keeping instance %d: %w", node.InstanceID, err)
	}
	c.attempts.Delete(nodeClaim.UID)
	c.inventory.grant(node)
	// A NodeClaim that has a node already, from before a restart, gets that one, whatever would be chosen now.
	claim, err := launched(node, nodeClass, c.backend.Mode(), find(all, node.InstanceType), c.cfg.Region)
	return c.withImage(node.InstanceID, claim, err)
}

// overlaid applies the NodeOverlays that core schedules with: it has chosen the node's place by their prices, and counts
// on the capacity that they promise while the node is on its way.
func (c *CloudProvider) overlaid(nodePool *karpv1.NodePool, all []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) {
	if c.cfg.Overlays == nil || nodePool == nil {
		return all, nil
	}
	result, err := c.cfg.Overlays.ApplyAll(nodePool.Name, all)
	if err != nil {
		return nil, cloudprovider.NewCreateError(fmt.Errorf("applying the NodeOverlays of NodePool %s: %w", nodePool.Name, err),
			"NodeOverlaysNotEvaluated", "The NodeOverlays are not evaluated yet; trying again")
	}
	return result, nil
}

// buyable removes from the offer the plans that the NodePool must not get now: plans that failed lately, and all when its template cannot
// be made.
func (c *CloudProvider) buyable(nodePool *karpv1.NodePool, all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if nodePool == nil {
		return all
	}
	if err := reservedTaint(nodePool); err != nil {
		c.events.nothingToBuy(nodePool, fmt.Errorf("this NodePool gets no nodes: %w", err))
		return without(all, func(string) bool { return true })
	}
	return c.withShortfalls(nodePool.Name,
		without(c.withOverlaidPrices(nodePool, all), func(plan string) bool { return c.backoff.Pausing(nodePool.Name, plan) }))
}

// Get returns the NodeClaim of an instance as the Linode API has it.
func (c *CloudProvider) Get(ctx context.Context, providerID string) (*karpv1.NodeClaim, error) {
	id, err := nodeclaim.InstanceID(providerID)
	if err != nil {
		return nil, cloudprovider.NewNodeClaimNotFoundError(err)
	}
	node, err := c.backend.Get(ctx, id)
	if err != nil {
		return nil, lookupError(err)
	}
	claim, err := observed(node, find(c.market.InstanceTypes(nil), node.InstanceType), c.cfg.Region)
	return c.withImage(node.InstanceID, claim, err)
}

// List returns the NodeClaims of all claimed instances of the cluster, never a part of them. A name is the
// one in the instance's tag, which is shortened when the NodeClaim's is longer than a tag can hold.
func (c *CloudProvider) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	nodes, err := c.inventory.refresh(ctx)
	if err != nil {
		return nil, lookupError(err)
	}
	all := c.market.InstanceTypes(nil)
	claims := make([]*karpv1.NodeClaim, 0, len(nodes))
	for _, node := range nodes {
		claim, err := observed(node, find(all, node.InstanceType), c.cfg.Region)
		if claim, err = c.withImage(node.InstanceID, claim, err); err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// Tags returns an instance's tags as they were listed last; core lists every two minutes. It makes no request.
func (c *CloudProvider) Tags(instanceID int) (tags []string, known bool) {
	return c.inventory.tags(instanceID)
}

// GetInstanceTypes returns all plans, with no available offering for a plan that cannot be bought now. A NodePool of another
// provider's kind gets none. One whose LinodeNodeClass does not exist gets all, none of them available: for an error core would
// write the same line at each of its rounds, and its NodePool's condition contains the reason.
func (c *CloudProvider) GetInstanceTypes(ctx context.Context, nodePool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if nodePool == nil || nodePool.Spec.Template.Spec.NodeClassRef == nil {
		return c.buyable(nodePool, c.market.InstanceTypes(nil)), nil
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
	all := c.market.InstanceTypes(&nodeClass.Spec)
	if c.cfg.Events != nil {
		if err := impossible(all, nodePool, !c.cfg.RelaxMinValues); err != nil {
			c.events.nothingToBuy(nodePool, fmt.Errorf("this NodePool gets no nodes: %w", err))
		}
	}
	return c.buyable(nodePool, c.unrefused(nodePool, nodeClass, all)), nil
}

// Name is the name in core's metrics.
func (c *CloudProvider) Name() string { return "linode" }

// GetSupportedNodeClasses returns the one kind of NodeClass there is.
func (c *CloudProvider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}
