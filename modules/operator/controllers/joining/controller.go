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

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventWaitingForNode is the reason of the event.
const EventWaitingForNode = "WaitingForNode"

// GivenUpAfter is for how long core waits for a node to register; core's constant is not exported.
const GivenUpAfter = 15 * time.Minute

// Controller reconciles NodeClaims from their launch to the registration of their node.
type Controller struct {
	recorder events.Recorder
	reported *cache.Expiring // by UID: the last full minute that was reported or had passed before
}

// NewController returns a Controller.
func NewController(recorder events.Recorder) *Controller {
	return &Controller{recorder: recorder, reported: cache.NewExpiring()}
}

// Reconcile reports the minute that has passed, and comes back at the end of the next one.
func (c *Controller) Reconcile(_ context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	since, waiting := launched(nodeClaim)
	waited := time.Since(since)
	if !waiting || waited >= GivenUpAfter {
		c.reported.Delete(nodeClaim.UID)
		return reconcile.Result{}, nil
	}
	minute := int(waited / time.Minute)
	last, seen := c.reported.Get(nodeClaim.UID)
	c.reported.Set(nodeClaim.UID, minute, GivenUpAfter)
	if seen && last != minute {
		c.report(nodeClaim, minute, since)
	}
	return reconcile.Result{RequeueAfter: time.Duration(minute+1)*time.Minute - waited}, nil
}

// launched returns since when a NodeClaim has a Linode and no node.
func launched(nodeClaim *karpv1.NodeClaim) (since time.Time, waiting bool) {
	conditions := nodeClaim.StatusConditions(status.WithObservedOnly())
	launch := conditions.Get(karpv1.ConditionTypeLaunched)
	if !launch.IsTrue() || conditions.IsTrue(karpv1.ConditionTypeRegistered) || !nodeClaim.DeletionTimestamp.IsZero() ||
		!nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) {
		return time.Time{}, false
	}
	return launch.LastTransitionTime.Time, true
}

func (c *Controller) report(nodeClaim *karpv1.NodeClaim, minutes int, since time.Time) {
	linode := nodeClaim.Status.ProviderID
	if id, err := nodeclaim.InstanceID(linode); err == nil {
		linode = fmt.Sprintf("Linode %d", id)
	}
	c.recorder.Publish(events.Event{
		InvolvedObject: nodeClaim, Type: corev1.EventTypeNormal, Reason: EventWaitingForNode,
		Message: fmt.Sprintf("%s, a %s, was launched %d min ago and its node has not joined yet; Karpenter gives it up after %d min, at %s",
			linode, nodeClaim.Labels[corev1.LabelInstanceTypeStable], minutes, int(GivenUpAfter.Minutes()),
			since.Add(GivenUpAfter).UTC().Format("15:04:05 MST")),
		DedupeValues: []string{string(nodeClaim.UID), fmt.Sprint(minutes)},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	booting := controllers.When(func(nodeClaim *karpv1.NodeClaim) bool {
		_, waiting := launched(nodeClaim)
		return waiting
	})
	return controllers.For(m, "nodeclaim.joining", &karpv1.NodeClaim{}, 1, booting).Complete(reconcile.AsReconciler(m.GetClient(), c))
}
