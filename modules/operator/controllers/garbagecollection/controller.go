// Package garbagecollection finds instances that nobody owns and lets them go.
//
// On an interval it hands lkepool the names of all NodeClaims, read at that moment from the API server
// and not from a cache, and lkepool releases what no NodeClaim claims: claimed instances whose NodeClaim
// is gone, nodes that nobody ever claimed, empty pools. Ages are measured by lkepool, from the claim, and
// what a running Create has reserved is left alone. The other direction, NodeClaims whose instance is
// gone, is Karpenter core's own garbage collection, through CloudProvider.List.
//
// When the NodeClaims cannot be read, nothing is collected. Registered with controller-runtime by
// cmd/controller; it runs on the leader only.
package garbagecollection

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/awslabs/operatorpkg/singleton"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/karpenter/pkg/operator/injection"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Pools lets go of what nobody claims; *lkepool.Allocator is one.
type Pools interface {
	Collect(ctx context.Context, alive func(context.Context) ([]string, error)) (lkepool.Collected, error)
}

// Config configures a Controller.
type Config struct {
	Interval    time.Duration                     // between sweeps; 0 = 2 min
	OnCollected func(collected lkepool.Collected) // after a sweep; may be nil
}

// Controller sweeps on an interval.
type Controller struct {
	reader client.Reader
	pools  Pools
	cfg    Config
}

// NewController returns a Controller. reader must read from the API server, not from a cache: a NodeClaim
// that a cache does not know yet would lose its instance.
func NewController(reader client.Reader, pools Pools, cfg Config) *Controller {
	if cfg.Interval <= 0 {
		cfg.Interval = 2 * time.Minute
	}
	return &Controller{reader: reader, pools: pools, cfg: cfg}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "instance.garbagecollection" }

// Reconcile sweeps once.
func (c *Controller) Reconcile(ctx context.Context) (reconciler.Result, error) {
	ctx = injection.WithControllerName(ctx, c.Name())
	collected, err := c.pools.Collect(ctx, c.nodeClaimNames)
	for _, node := range collected.Released {
		log.FromContext(ctx).Info("released an instance that no NodeClaim owns",
			"instance", node.InstanceID, "node", node.Name, "claim", node.Claim, "instance-type", node.InstanceType, "pool", node.PoolID)
	}
	for _, pool := range collected.Pools {
		log.FromContext(ctx).Info("deleted a pool that nobody needs", "pool", pool)
	}
	if c.cfg.OnCollected != nil {
		c.cfg.OnCollected(collected)
	}
	if err != nil {
		return reconciler.Result{}, fmt.Errorf("collecting instances without NodeClaim: %w", err)
	}
	return reconciler.Result{RequeueAfter: c.cfg.Interval}, nil
}

// nodeClaimNames reads names only: a large cluster has a thousand NodeClaims, and the rest of them is not needed.
func (c *Controller) nodeClaimNames(ctx context.Context) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodeClaimList"})
	if err := c.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing NodeClaims: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names, nil
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(c))
}
