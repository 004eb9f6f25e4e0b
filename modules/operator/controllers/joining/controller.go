// Package joining reports on a NodeClaim, once a minute, that its Linode exists and its node has not joined yet: which Linode, of
// which plan, since when, and when Karpenter core gives it up. Core itself publishes nothing between the launch and the node.
//
// There is at most one event for each full minute since the launch, and none for a minute that had passed before this process saw
// the NodeClaim. It makes no request to the Linode API. Registered by cmd/controller; it runs on the leader only.
package joining

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/reasonable"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventWaitingForNode is the reason of the event.
const EventWaitingForNode = "WaitingForNode"

// GivenUpAfter is for how long core waits for a node to register; core's constant is not exported.
const GivenUpAfter = 15 * time.Minute

// Controller reconciles NodeClaims from their launch to the registration of their node.
type Controller struct {
	recorder events.Recorder
	clock    clock.PassiveClock
	reported *cache.Expiring // by UID: the last full minute that was reported or had passed before
}

// NewController returns a Controller.
func NewController(recorder events.Recorder, now clock.PassiveClock) *Controller {
	return &Controller{recorder: recorder, clock: now, reported: cache.NewExpiring()}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.joining" }

// Reconcile reports the minute that has passed, and comes back at the end of the next one.
func (c *Controller) Reconcile(_ context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	since, waiting := launched(nodeClaim)
	waited := c.clock.Since(since)
	if !waiting || waited >= GivenUpAfter {
		c.reported.Delete(nodeClaim.UID)
		return reconcile.Result{}, nil
	}
	minute := int(waited / time.Minute)
	last, seen := c.reported.Get(nodeClaim.UID)
	if !seen || last.(int) < minute { //nolint:forcetypeassert // nothing else is in it
		c.reported.Set(nodeClaim.UID, minute, GivenUpAfter)
	}
	if seen && last.(int) < minute { //nolint:forcetypeassert // as above
		c.report(nodeClaim, minute, since)
	}
	return reconcile.Result{RequeueAfter: time.Duration(minute+1)*time.Minute - waited}, nil
}

// launched returns since when a NodeClaim has a Linode and no node.
func launched(nodeClaim *karpv1.NodeClaim) (since time.Time, waiting bool) {
	for _, condition := range nodeClaim.Status.Conditions {
		switch {
		case condition.Type == karpv1.ConditionTypeRegistered && condition.IsTrue():
			return time.Time{}, false
		case condition.Type == karpv1.ConditionTypeLaunched && condition.IsTrue():
			since = condition.LastTransitionTime.Time
		}
	}
	return since, !since.IsZero() && nodeClaim.DeletionTimestamp.IsZero() && nodeclaim.Ours(nodeClaim.Spec.NodeClassRef)
}

func (c *Controller) report(nodeClaim *karpv1.NodeClaim, minutes int, since time.Time) {
	linode := nodeClaim.Status.ProviderID
	if id, err := nodeclaim.InstanceID(linode); err == nil {
		linode = fmt.Sprintf("Linode %d", id)
	}
	c.recorder.Publish(events.Event{
		InvolvedObject: nodeClaim, Type: corev1.EventTypeNormal, Reason: EventWaitingForNode,
		Message: fmt.Sprintf("%s, a %s, was launched %d min ago and its node has not joined yet; Karpenter gives it up after %d min, at %s",
			linode, nodeClaim.Labels[corev1.LabelInstanceTypeStable], minutes, int(GivenUpAfter.Minutes()), since.Add(GivenUpAfter).UTC().Format("15:04:05 MST")),
		DedupeValues: []string{string(nodeClaim.UID), fmt.Sprint(minutes)},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(c.Name()).
		For(&karpv1.NodeClaim{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			_, waiting := launched(o.(*karpv1.NodeClaim))
			return waiting
		}))).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter()}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
