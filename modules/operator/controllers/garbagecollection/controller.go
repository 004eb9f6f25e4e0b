// Package garbagecollection finds instances that no NodeClaim owns and releases them.
//
// On an interval, two minutes by default, it reads the names of all NodeClaims from the API server, not from a cache, and passes them to
// the mode's engine. The engine releases instances whose NodeClaim is gone, nodes without a claim, and empty pools. The engine measures
// ages from the claim, and keeps the instances that a running Create has reserved. Example, with 5 minutes: a NodeClaim disappears at
// 12:00; the first sweep after 12:05 releases its instance. If the NodeClaims cannot be read, the sweep does nothing. Karpenter core's own
// garbage collection handles the other direction, a NodeClaim whose instance is gone: it calls CloudProvider.List every two minutes. The
// controller Nodes of this package is faster if the NodeClaim has a Node.
//
// An instance goes only when it has no Node or its Node is empty, because pods may run on it. Between two sweeps the controller drains
// the Nodes that are not empty, without a request to the Linode API. The next sweep begins as soon as one of these Nodes is empty. A Node
// that cannot be drained keeps its instance until the terminationGracePeriod of its NodePool has passed, or else Config.DrainTimeout (an
// hour).
//
// The Node of an instance is the Node with its provider ID, or else the Node with its name if that Node has no provider ID. If no such
// Node exists, the instance stays while another Node without provider ID could be its Node.
//
// While Controller drains, it looks at the Nodes every two seconds. Nodes looks at silent Nodes every five seconds. It reads the Linode of
// a silent Node at most every 15 seconds, and after ten minutes of silence at most every minute. It deletes a Node only if the Linode is
// proven gone and the Node is not Ready. One goroutine calls each of the two controllers. They need no memory over a restart. Package
// cmd/controller registers them; they run on the leader only.
package garbagecollection

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/awslabs/operatorpkg/singleton"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/karpenter/pkg/apis"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Engine releases the instances that no NodeClaim claims; *allocator.Allocator implements it.
type Engine interface {
	Collect(ctx context.Context, how claims.Sweep) (claims.Collected, error)
}

// Drainer empties a Node; *drain.Drainer implements it.
type Drainer interface {
	Vacate(ctx context.Context, node *corev1.Node, deadline time.Duration) (bool, error)
}

// Config configures a Controller.
type Config struct {
	Interval     time.Duration                    // between sweeps; 0 = 2 min
	DrainTimeout time.Duration                    // for how long pods may keep an instance without NodeClaim; 0 = 1 h
	OnCollected  func(collected claims.Collected) // after a sweep; may be nil
	// NodeLabels returns the labels that the platform puts on the Node of an instance. A Node without provider ID that has other values
	// belongs to another instance. nil = the platform puts no labels on Nodes.
	NodeLabels func(instanceID int) map[string]string
}

// Controller sweeps on an interval. Reconcile is called by one goroutine.
type Controller struct {
	reader  client.Reader
	cached  client.Reader
	engine  Engine
	drainer Drainer
	cfg     Config

	due time.Time // of the next sweep

	mu       sync.Mutex
	draining []claims.Node // the instances that the last sweep found not vacant; a Machine among them may have no instance ID yet
}

// NewController returns a Controller. reader must read from the API server, not from a cache: a NodeClaim that a cache does not have yet
// would lose its instance. cached reads Nodes and NodePools.
func NewController(reader, cached client.Reader, engine Engine, drainer Drainer, cfg Config) *Controller {
	if cfg.Interval <= 0 {
		cfg.Interval = 2 * time.Minute
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = time.Hour
	}
	return &Controller{reader: reader, cached: cached, engine: engine, drainer: drainer, cfg: cfg}
}

// Reconcile sweeps. Until the next sweep is due, it continues to drain the instances that the last sweep could not release.
func (c *Controller) Reconcile(ctx context.Context) (reconciler.Result, error) {
	if wait := time.Until(c.due); len(c.draining) > 0 && wait > 0 && !c.emptied(ctx) {
		return reconciler.Result{RequeueAfter: c.pause(wait)}, nil
	}
	c.draining = nil
	collected, err := c.engine.Collect(ctx, claims.Sweep{Alive: c.nodeClaims, Vacate: c.vacate})
	for _, node := range collected.Removed {
		log.FromContext(ctx).Info("released an instance that no NodeClaim owns",
			"instance", node.InstanceID, "node", node.Name, "claim", node.Claim, "instance-type", node.InstanceType)
	}
	for _, pool := range collected.Pools {
		log.FromContext(ctx).Info("deleted an unused pool", "pool", pool)
	}
	if c.cfg.OnCollected != nil {
		c.cfg.OnCollected(collected)
	}
	if ctx.Err() != nil {
		return reconciler.Result{}, nil //nolint:nilerr // the process ends, which is no error of the sweep; the next one starts afresh
	}
	if err != nil {
		return reconciler.Result{}, fmt.Errorf("collecting instances without NodeClaim: %w", err)
	}
	c.due = time.Now().Add(c.cfg.Interval)
	return reconciler.Result{RequeueAfter: c.pause(c.cfg.Interval)}, nil
}

// nodeClaims returns all NodeClaims as claimants. It reads their metadata only, because a large cluster has a thousand NodeClaims.
func (c *Controller) nodeClaims(ctx context.Context) ([]claims.Claimant, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodeClaimList"})
	if err := c.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	claimants := make([]claims.Claimant, 0, len(list.Items))
	for _, item := range list.Items {
		claimants = append(claimants, claims.Claimant{Name: item.Name, UID: string(item.UID)})
	}
	return claimants, nil
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named("instance.garbagecollection").
		WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(c))
}
