// Package registrationtaint keeps pods off nodes of our pools that no NodeClaim has claimed.
//
// LKE's nodes join with the labels and taints of their pool, and without the taint karpenter.sh/unregistered that Karpenter core expects
// on a new Node. From the moment such a node is ready, pods may be bound to it, even if no NodeClaim owns it, and these pods die when
// garbage collection removes the node. The Controller puts the taint on as soon as such a Node appears. Core removes it when it registers
// the Node for a NodeClaim, and sets the label karpenter.sh/registered.
//
// # Which Nodes are ours
//
//   - A Node is ours if its provider ID belongs to a NodeClaim's instance, or to an instance that lkepool finds in one of its pools. The
//     Node's label proves nothing, because its kubelet can set it. The label saves requests (a pool that is not ours needs no request
//     about the instance), and must agree with lkepool, as the Node's name must agree with the Linode's label. A claimed Node costs no
//     request; an unclaimed one costs one.
//   - While a Node has the taint of an uninitialized Node, which keeps pods off, its label decides: our taint must be on the Node before
//     that taint goes. The label also decides for a Node without provider ID. The Controller reports a Node of the cluster without
//     provider ID and without label, with a metric and an event on the Node.
//
// # Which Nodes get the taint
//
//   - A Node that core has registered never gets the taint: the write names the version of the Node that was read, so it fails if core
//     registers the Node meanwhile. If a registered Node loses its NodeClaim, garbage collection drains it.
//   - The taint has the effect NoExecute, so a Node on which pods already run does not get it. Example: no operator ran while the Node
//     joined. If a NodeClaim has the Node, or a NodeClaim that still waits for an instance may get it, core registers the Node soon.
//     Otherwise the Controller drains the Node and then taints it.
//
// # A taint that LKE sets
//
//   - LKE may set the taint from the pool (LKE_UNREGISTERED_TAINT) on a registered Node. It counts as LKE's if the pool has it, the Node
//     is the NodeClaim's, and no other Node has its provider ID. The first time, the Controller removes the taint, because LKE Standard
//     applies a pool's taints after kubelets have registered without them. The second time, LKE has put the taint back and would do so
//     again: the Controller deletes the NodeClaim, because no pod can use the Node. It calls Config.OnReturned each time, so that new
//     pools are made without the taint.
//   - Taints of the NodePool that LKE applies late need no action here: core puts them and startup taints on the Node with the write that
//     removes our taint. If LKE replaces the list of taints before that write, our taint is put on again.
//
// If core registers a Node before the taint is there, core logs an error and goes on. The error needs no action. Package cmd/controller
// registers the Controller; it runs on the leader only.
//
// # Times
//
// The Controller looks at a Node without a known pool again after a second, then after pauses that grow to a minute, and at a Node that
// it drains every two seconds. It reads an instance that is not ours again after 30 seconds at the earliest. A taint that is back within
// 24 hours counts as put back.
package registrationtaint

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// PoolIDLabel is the label in which LKE puts the ID of a Node's pool.
const PoolIDLabel = "lke.linode.com/pool-id"

// Pauses before the next look, for changes that cause no event of the Node.
const (
	untilKnown    = time.Second // the shortest; it grows with the age of the Node
	longestPause  = time.Minute
	untilDrained  = 2 * time.Second
	foreignMemory = 30 * time.Second // for how long an instance that is not ours is not read again
	lateMemory    = 24 * time.Hour   // a taint that is back within this time was put back
	youngest      = 10 * time.Minute // the API may not report the pool of a younger Node yet
)

// Pools has the records of pools and instances. *allocator.Allocator implements it.
type Pools interface {
	Owns(poolID int) (owned, known bool) // from memory
	Get(ctx context.Context, instanceID int) (lkepool.Node, error)
}

// Config configures a Controller. All fields are required.
type Config struct {
	Cluster        int    // ID of the LKE cluster: its Nodes are named lke<ID>-...
	OnReturned     func() // LKE has put the taint back on a Node that is registered
	OnUnidentified func() // a Node of the cluster is identified neither by its provider ID nor by its label
}

// Controller taints Nodes that no NodeClaim has.
type Controller struct {
	kube     client.Client
	pools    Pools
	drainer  *drain.Drainer
	recorder events.Recorder
	cfg      Config
	foreign  *cache.Expiring // instances that are not ours, and Nodes that were reported
	late     *cache.Expiring // UIDs of Nodes from which LKE's taint was removed that came after their registration
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Client, pools Pools, drainer *drain.Drainer, recorder events.Recorder, cfg Config) *Controller {
	return &Controller{kube: kube, pools: pools, drainer: drainer, recorder: recorder, cfg: cfg, foreign: cache.NewExpiring(),
		late: cache.NewExpiring()}
}

// Reconcile looks at one Node.
func (c *Controller) Reconcile(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	if !concerns(node) {
		return reconcile.Result{}, nil
	}
	poolID, labelled := poolOf(node)
	if labelled {
		switch owned, known := c.pools.Owns(poolID); {
		case !known:
			return reconcile.Result{RequeueAfter: pause(node)}, nil
		case !owned:
			return reconcile.Result{}, nil
		}
	}
	claims, err := nodeutils.GetNodeClaims(ctx, c.kube, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	claims = slices.DeleteFunc(claims, func(claim *karpv1.NodeClaim) bool { return !nodeclaim.Ours(claim.Spec.NodeClassRef) })
	if registered(node) {
		decided, err := c.cameBack(ctx, node, claims)
		if err != nil || decided {
			return controllers.Requeue(err)
		}
		return reconcile.Result{RequeueAfter: pause(node)}, nil
	}
	if len(claims) == 0 {
		ours, err := c.ours(ctx, node, labelled)
		if err == nil && !ours && (labelled || time.Since(node.CreationTimestamp.Time) < youngest) {
			return reconcile.Result{RequeueAfter: pause(node)}, nil
		}
		if err != nil || !ours {
			return reconcile.Result{}, err
		}
	}
	switch settled, err := c.drainer.Settled(ctx, node); {
	case err != nil:
		return reconcile.Result{}, err
	case settled > 0:
		return c.occupied(ctx, node, len(claims) > 0)
	}
	err = c.drainer.Taint(ctx, node, karpv1.UnregisteredNoExecuteTaint)
	if err == nil {
		log.FromContext(ctx).V(1).Info("keeping pods off a node until a NodeClaim takes it", "node", node.Name)
	}
	return controllers.Requeue(err) // the Node has changed since, as it does when core registers it
}

// pause returns a pause that grows with the age of the Node, so that a pool of which lkepool never learns is not looked up every second.
func pause(node *corev1.Node) time.Duration {
	return min(max(untilKnown, time.Since(node.CreationTimestamp.Time)/8), longestPause)
}

// occupied deals with a Node on which pods already run. If a NodeClaim has the Node, core's registration raises an event. If a NodeClaim
// may still claim it, no event follows, so occupied looks again after a pause.
func (c *Controller) occupied(ctx context.Context, node *corev1.Node, claimed bool) (reconcile.Result, error) {
	if !claimed {
		awaited, err := c.awaited(ctx, node)
		if err == nil && !awaited {
			_, err = c.drainer.Vacate(ctx, node, 0)
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: untilDrained}, nil
}

// awaited reports whether a NodeClaim without an instance may be about to get this Node, as after a restart during a scale-up. Its pods
// are then on the right Node, and core would buy another node if they were driven away. If the NodeClaim never gets the Node, garbage
// collection drains the Node when it is old enough.
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

// cameBack deals with the pool's taint on a registered Node. LKE Standard puts a pool's taints on Nodes after their kubelets have
// registered without them, so the first time cameBack removes the taint: otherwise no pod can stay on the Node. If the taint is there
// again, LKE has put it back, and a Node without the taint replaces this Node. In both cases new pools come without the taint, because it
// would drive pods away from each of their Nodes. A Node that a client has changed to look like the Node of another NodeClaim has no
// effect. While the identity of the Node is not complete, cameBack decides nothing: LKE may be earlier than core, which writes the
// NodeClaim's node name after it has removed the taint, and the Node has no event for that write.
func (c *Controller) cameBack(ctx context.Context, node *corev1.Node, claims []*karpv1.NodeClaim) (decided bool, err error) {
	if len(claims) != 1 || claims[0].Status.NodeName != node.Name {
		return false, nil
	}
	claim := claims[0]
	if !claim.DeletionTimestamp.IsZero() {
		return true, nil
	}
	twins, err := nodeclaimutils.AllNodesForNodeClaim(ctx, c.kube, claim)
	if err != nil {
		return false, err
	}
	id, err := nodeclaim.InstanceID(node.Spec.ProviderID)
	if err != nil || len(twins) != 1 {
		return false, nil //nolint:nilerr // no Linode can have that provider ID
	}
	instance, err := c.instance(ctx, id, true)
	if err != nil || instance == nil {
		return false, err
	}
	if !agrees(node, *instance) ||
		!slices.ContainsFunc(instance.Taints, func(t lkepool.Taint) bool { return t.Key == karpv1.UnregisteredTaintKey }) {
		return true, nil
	}
	c.cfg.OnReturned()
	if _, again := c.late.Get(node.UID); !again {
		return true, c.remove(ctx, node)
	}
	if err := c.kube.Patch(ctx, node, controllers.Lock(node.DeepCopy())); err != nil { // the cache may be from before the removal
		return true, fmt.Errorf("checking that node %s has not changed: %w", node.Name, err)
	}
	if err := c.kube.Delete(ctx, claim); err != nil {
		return true, client.IgnoreNotFound(fmt.Errorf("deleting NodeClaim %s: %w", claim.Name, err))
	}
	c.recorder.Publish(events.Event{
		InvolvedObject: node, Type: corev1.EventTypeWarning, Reason: "UnregisteredTaintReturned",
		Message: "LKE puts the pool's taint " + karpv1.UnregisteredTaintKey + " back after it was removed, so that no pod can run here. " +
			"Karpenter replaces the node by a node without the taint; set LKE_UNREGISTERED_TAINT to false",
	})
	log.FromContext(ctx).Info("replacing a node whose unregistered taint LKE has put back; new pools have no such taint; set "+
		"LKE_UNREGISTERED_TAINT to false",
		"node", node.Name, "NodeClaim", claim.Name)
	return true, nil
}

// remove takes LKE's taint off a registered Node. The caller repeats it after an error.
func (c *Controller) remove(ctx context.Context, node *corev1.Node) error {
	stored := node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.MatchTaint(&karpv1.UnregisteredNoExecuteTaint) })
	if err := c.kube.Patch(ctx, node, controllers.Lock(stored)); err != nil {
		return fmt.Errorf("removing the taint %s from node %s: %w", karpv1.UnregisteredTaintKey, node.Name, err)
	}
	c.late.Set(node.UID, true, lateMemory)
	c.recorder.Publish(events.Event{
		InvolvedObject: node, Type: corev1.EventTypeWarning, Reason: "UnregisteredTaintLate",
		Message: "LKE has put the pool's taint " + karpv1.UnregisteredTaintKey + " on this node after Karpenter had registered it, which " +
			"drives its pods away. The operator has removed the taint, and new pools have no such taint; set LKE_UNREGISTERED_TAINT to false",
	})
	log.FromContext(ctx).Info("removed an unregistered taint that LKE has put on a registered node; new pools have no such taint; set "+
		"LKE_UNREGISTERED_TAINT to false", "node", node.Name)
	return nil
}

func registered(node *corev1.Node) bool {
	_, is := node.Labels[karpv1.NodeRegisteredLabelKey]
	return is
}

// concerns reports whether the controller may have to act: an unregistered Node lacks the taint, or a registered Node has it.
func concerns(node *corev1.Node) bool {
	return node.DeletionTimestamp.IsZero() && tainted(node) == registered(node)
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&karpv1.UnregisteredNoExecuteTaint) })
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "node.unclaimed", &corev1.Node{}, 10,
		controllers.When(concerns)).Complete(reconcile.AsReconciler(m.GetClient(), c))
}
