// Package unclaimed keeps pods off nodes of our pools that nobody claims.
//
// LKE's nodes join without the taint karpenter.sh/unregistered that Karpenter core expects on a new Node, with the labels
// and taints of their pool: from the moment they are ready pods may settle on them, whoever owns them, and die with them
// when they are collected. The Controller puts the taint on as soon as such a Node appears. The lifting is core's: it
// registers the Node when a NodeClaim takes it, which removes the taint and sets the label karpenter.sh/registered.
//
//   - A Node is one of ours when its label lke.linode.com/pool-id names a pool that lkepool made; that is known from
//     lkepool's memory, and no event of a Node costs a call to the Linode API. While it is not known, as before the
//     first reading, the Node is looked at again soon.
//   - A Node that core has registered never gets the taint: the write names the version that was read. One that was
//     registered and lost its NodeClaim is left to garbage collection, which drains it.
//   - The taint has the effect NoExecute, so it is not put on a Node where pods run already, as after a time without an
//     operator. If a NodeClaim has the Node, or one that still waits for an instance may get it, core registers it in a
//     moment; if not, it is drained, and then tainted.
//   - A taint that is back on a registered Node was put back by LKE, which has it from the pool (LKE_UNREGISTERED_TAINT).
//     It is not removed again, which would have no end. Config.OnReturned hears of it, so that pools are made without the
//     taint, and the Node's NodeClaim is deleted: no pod can use the Node, and core would wait for it for ever.
//
// When core registers a Node before the taint is there, it logs an error and publishes an event about it, and goes on; the page on
// troubleshooting lists that line among those that need nothing.
//
// Registered with controller-runtime by cmd/controller; it runs on the leader only.
package unclaimed

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/awslabs/operatorpkg/reasonable"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/conflict"
)

// PoolIDLabel is what LKE writes on its Nodes.
const PoolIDLabel = "lke.linode.com/pool-id"

// Pauses before another look. Both are about things that happen without an event of the Node.
const (
	untilKnown   = time.Second     // lkepool reads the pools within an interval of garbage collection
	untilDrained = 2 * time.Second // pods leave
)

// Pools knows whose a pool is; *lkepool.Allocator does.
type Pools interface {
	Owns(poolID int) (owned, known bool)
}

// Drainer empties a Node; *drain.Drainer does.
type Drainer interface {
	Settled(ctx context.Context, node *corev1.Node) (int, error)
	Vacate(ctx context.Context, node *corev1.Node) (bool, error)
}

// Config configures a Controller.
type Config struct {
	OnReturned func() // the taint is on a Node that is registered; may be nil
}

// Controller taints Nodes that nobody has claimed.
type Controller struct {
	kube     client.Client
	pools    Pools
	drainer  Drainer
	recorder events.Recorder
	cfg      Config
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Client, pools Pools, drainer Drainer, recorder events.Recorder, cfg Config) *Controller {
	return &Controller{kube: kube, pools: pools, drainer: drainer, recorder: recorder, cfg: cfg}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "node.unclaimed" }

// Reconcile looks at one Node.
func (c *Controller) Reconcile(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	ctx = injection.WithControllerName(ctx, c.Name())
	if !concerns(node) {
		return reconcile.Result{}, nil
	}
	poolID, err := strconv.Atoi(node.Labels[PoolIDLabel])
	if err != nil {
		return reconcile.Result{}, nil //nolint:nilerr // not a label of LKE's
	}
	switch owned, known := c.pools.Owns(poolID); {
	case !known:
		return reconcile.Result{RequeueAfter: untilKnown}, nil
	case !owned:
		return reconcile.Result{}, nil
	}
	if registered(node) {
		return reconcile.Result{}, c.cameBack(ctx, node)
	}
	settled, err := c.drainer.Settled(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	if settled > 0 {
		return c.occupied(ctx, node)
	}
	return c.taint(ctx, node)
}

// taint puts the taint on, unless the Node has changed since, as it does when core registers it.
func (c *Controller) taint(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	stored := node.DeepCopy()
	taint, now := karpv1.UnregisteredNoExecuteTaint, metav1.Now()
	taint.TimeAdded = &now // package drain reads it
	node.Spec.Taints = append(node.Spec.Taints, taint)
	if err := c.kube.Patch(ctx, node, conflict.Lock(stored)); err != nil {
		return conflict.Requeue(fmt.Errorf("tainting node %s: %w", node.Name, err))
	}
	log.FromContext(ctx).V(1).Info("keeping pods off a node until a NodeClaim takes it", "node", node.Name)
	return reconcile.Result{}, nil
}

// occupied deals with a Node on which pods have settled. Core's registration of it is an event; whether somebody claims
// it is to be looked for.
func (c *Controller) occupied(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	claims, err := nodeutils.GetNodeClaims(ctx, c.kube, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) == 0 {
		awaited, err := c.awaited(ctx, node)
		if err != nil || awaited {
			return reconcile.Result{RequeueAfter: untilDrained}, err
		}
		if _, err := c.drainer.Vacate(ctx, node); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: untilDrained}, nil
}

// awaited says whether a NodeClaim without an instance may be about to get this one, as after a restart in a scale-up: its
// pods are then where they are to be, and driving them away would make core buy another node for them. Should the
// NodeClaim never take it, garbage collection drains the Node when it is old enough to go.
func (c *Controller) awaited(ctx context.Context, node *corev1.Node) (bool, error) {
	instanceType := node.Labels[corev1.LabelInstanceTypeStable]
	if instanceType == "" {
		return false, nil
	}
	list := &karpv1.NodeClaimList{}
	if err := c.kube.List(ctx, list); err != nil {
		return false, fmt.Errorf("listing NodeClaims: %w", err)
	}
	return slices.ContainsFunc(list.Items, func(claim karpv1.NodeClaim) bool {
		return claim.Status.ProviderID == "" && claim.DeletionTimestamp.IsZero() &&
			scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...).Get(corev1.LabelInstanceTypeStable).Has(instanceType)
	}), nil
}

// cameBack replaces a Node whose taint LKE has put back, by one that comes without.
func (c *Controller) cameBack(ctx context.Context, node *corev1.Node) error {
	if c.cfg.OnReturned != nil {
		c.cfg.OnReturned()
	}
	claims, err := nodeutils.GetNodeClaims(ctx, c.kube, node)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if !claim.DeletionTimestamp.IsZero() {
			continue
		}
		if err := c.kube.Delete(ctx, claim); err != nil {
			return client.IgnoreNotFound(fmt.Errorf("deleting NodeClaim %s: %w", claim.Name, err))
		}
		c.recorder.Publish(events.Event{
			InvolvedObject: node, Type: corev1.EventTypeWarning, Reason: "UnregisteredTaintReturned",
			Message: "LKE puts the pool's taint " + karpv1.UnregisteredTaintKey + " back after it was removed, so that no pod can run here. " +
				"The node is replaced by one without; set LKE_UNREGISTERED_TAINT to false",
		})
		log.FromContext(ctx).Info("replacing a node whose unregistered taint LKE has put back; new pools come without, set LKE_UNREGISTERED_TAINT to false",
			"node", node.Name, "NodeClaim", claim.Name)
	}
	return nil
}

func registered(node *corev1.Node) bool {
	_, is := node.Labels[karpv1.NodeRegisteredLabelKey]
	return is
}

// concerns says whether there may be something to do: a Node that is not registered lacks the taint, or one that is
// has it.
func concerns(node *corev1.Node) bool {
	return node.Labels[PoolIDLabel] != "" && node.DeletionTimestamp.IsZero() && tainted(node) == registered(node)
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&karpv1.UnregisteredNoExecuteTaint) })
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(c.Name()).
		For(&corev1.Node{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			return concerns(o.(*corev1.Node))
		}))).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: 10}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
