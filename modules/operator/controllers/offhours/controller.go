// Package offhours keeps NodePools without nodes in their off-hours. Package offhours of the operator decides when.
//
// In off-hours the controller first sets the NodePool's limit on nodes to 0, so that core makes no new node. Then it deletes the NodeClaims
// of the NodePool, which core drains as after `kubectl delete nodeclaim`: PodDisruptionBudgets are respected, the disruption budgets of the
// NodePool are not. A node stays while the annotation karpenter.sh/do-not-disrupt is on the node, its NodeClaim or one of its pods: a
// deletion would evict all other pods and then wait for this pod. The controller looks at such a node again each minute.
//
// At the end of the off-hours the controller restores the limit. The condition OffHours of a NodePool shows the present state and its end,
// or the error of the schedule. Package cmd/controller registers the controller; it runs on the leader only and makes no request to the
// Linode API.
//
// Events are OffHoursBegan, OffHoursEnded, OffHoursNodeKept and OffHoursInvalid on the NodePool. An error of the API server ends a
// reconcile, and the next reconcile continues. The limit, the copy of the user's limit and the condition are in the NodePool, so a
// restarted operator restores the limit, too.
package offhours

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// The reasons of events on a NodePool.
const (
	EventHeld    = "OffHoursBegan"
	EventWoken   = "OffHoursEnded"
	EventInvalid = "OffHoursInvalid"
	EventKept    = "OffHoursNodeKept"
)

// protectedAgain is the time until the next look at a node that stays in off-hours.
const protectedAgain = time.Minute

// Controller holds and wakes NodePools.
type Controller struct {
	kube     client.Client
	recorder events.Recorder
	clock    clock.Clock
}

// NewController returns a Controller. kube may read from a cache, which must have core's index of pods by node.
func NewController(kube client.Client, recorder events.Recorder, clk clock.Clock) *Controller {
	return &Controller{kube: kube, recorder: recorder, clock: clk}
}

// Reconcile brings one NodePool to the state that its schedule requires now.
func (c *Controller) Reconcile(ctx context.Context, nodePool *karpv1.NodePool) (reconcile.Result, error) {
	if !nodePool.DeletionTimestamp.IsZero() || !nodeclaim.Ours(nodePool.Spec.Template.Spec.NodeClassRef) {
		return reconcile.Result{}, nil
	}
	decision, stored := offhours.Decide(nodePool, c.clock.Now()), nodePool.DeepCopy()
	changed := nodePool.DeepCopy()
	spec, condition := decision.Apply(changed)
	if spec {
		// The response of the API server replaces changed and its status, so the condition is set again below.
		if err := c.kube.Patch(ctx, changed, controllers.Lock(stored)); err != nil {
			return controllers.Requeue(err)
		}
		c.say(changed, decision)
		stored = changed.DeepCopy()
		_, condition = decision.Apply(changed)
	}
	if condition {
		if err := c.kube.Status().Patch(ctx, changed, controllers.Lock(stored)); err != nil {
			return controllers.Requeue(err)
		}
		if decision.Reason == offhours.ReasonInvalid {
			c.publish(changed, corev1.EventTypeWarning, EventInvalid, decision.Message)
		}
	}
	result := reconcile.Result{}
	if !decision.Again.IsZero() {
		result.RequeueAfter = max(decision.Again.Sub(c.clock.Now()), time.Millisecond)
	}
	if !decision.Hold {
		return result, nil
	}
	kept, err := c.empty(ctx, changed)
	if kept {
		result.RequeueAfter = min(result.RequeueAfter, protectedAgain)
	}
	return result, err
}

// empty deletes the NodeClaims of a NodePool, and returns whether a NodeClaim stays because of do-not-disrupt.
func (c *Controller) empty(ctx context.Context, nodePool *karpv1.NodePool) (kept bool, err error) {
	list := &karpv1.NodeClaimList{}
	if err := c.kube.List(ctx, list, client.MatchingLabels{karpv1.NodePoolLabelKey: nodePool.Name}); err != nil {
		return false, fmt.Errorf("listing the NodeClaims of NodePool %s: %w", nodePool.Name, err)
	}
	for i := range list.Items {
		claim := &list.Items[i]
		if !claim.DeletionTimestamp.IsZero() {
			continue
		}
		protector, err := c.protector(ctx, claim)
		if err != nil {
			return kept, err
		}
		if protector != "" {
			kept = true
			c.publish(nodePool, corev1.EventTypeNormal, EventKept,
				fmt.Sprintf("%s stays in off-hours: %s has the annotation %s", claim.Name, protector, karpv1.DoNotDisruptAnnotationKey))
			continue
		}
		if err := c.kube.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); client.IgnoreNotFound(err) != nil {
			return kept, fmt.Errorf("deleting NodeClaim %s: %w", claim.Name, err)
		}
		log.FromContext(ctx).Info("deleted a NodeClaim for off-hours", "NodeClaim", claim.Name)
	}
	return kept, nil
}

// protector returns the object with the annotation do-not-disrupt that keeps a node, "" if no object keeps it.
func (c *Controller) protector(ctx context.Context, claim *karpv1.NodeClaim) (string, error) {
	if claim.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" {
		return "the NodeClaim", nil
	}
	if claim.Status.NodeName == "" {
		return "", nil
	}
	node := &corev1.Node{}
	if err := c.kube.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if node.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" {
		return "the Node", nil
	}
	pods := &corev1.PodList{}
	if err := c.kube.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return "", fmt.Errorf("listing the pods of node %s: %w", node.Name, err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; !podutils.IsDisruptable(pod, c.clock, c.recorder) {
			return fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name), nil
		}
	}
	return "", nil
}

func (c *Controller) say(nodePool *karpv1.NodePool, d offhours.Decision) {
	if d.Hold {
		c.publish(nodePool, corev1.EventTypeNormal, EventHeld, d.Message)
		return
	}
	c.publish(nodePool, corev1.EventTypeNormal, EventWoken, "The NodePool has its own limit on nodes again")
}

func (c *Controller) publish(nodePool *karpv1.NodePool, kind, reason, message string) {
	c.recorder.Publish(events.Event{
		InvolvedObject: nodePool, Type: kind, Reason: reason, Message: message, DedupeValues: []string{nodePool.Name, reason, message},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "nodepool.offhours", &karpv1.NodePool{}, 1, predicate.Funcs{}).
		Watches(&karpv1.NodeClaim{}, nodepoolutils.NodeClaimEventHandler()).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
