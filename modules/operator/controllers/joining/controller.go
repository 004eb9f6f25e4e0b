// Package joining reports Linodes that exist and whose nodes have not joined: core publishes nothing between the launch and the node.
//
// A NodeClaim gets an event 3 and 10 minutes after its launch, with the Linode, its plan, its age, and the time at which core gives up the
// NodeClaim. With each of these events, the NodePool gets an event with the number of nodes for which it waits, at most once in 3 minutes.
// The package also reports a node that has joined, which ends the pauses of its plan (package launches).
//
// A mark that had passed before this process saw the NodeClaim is not reported, because the previous process has reported it. Example: a
// process that starts 4 minutes after the launch publishes only the event of 10 minutes. The package makes no request to the Linode API.
// Package cmd/controller registers it; it runs on the leader only.
//
// The package reports the registration of a node again every five minutes for an hour (Joined may be called more than once), so that a
// restarted process ends the pauses too. Core gives up a NodeClaim 15 minutes after its launch (GivenUpAfter).
package joining

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// EventWaitingForNode is the reason of the events.
const EventWaitingForNode = "WaitingForNode"

// GivenUpAfter is the time for which core waits for a node to register; core does not export its constant.
const GivenUpAfter = 15 * time.Minute

// marks are the times after a launch at which a NodeClaim without a node gets an event.
var marks = []time.Duration{3 * time.Minute, 10 * time.Minute}

// sumPause is the shortest time between two events on a NodePool.
const sumPause = 3 * time.Minute

// Joined takes the NodePool and the plan of a node, and the time of its registration. It may be called again for the same node.
type Joined func(nodePool, plan string, at time.Time)

// The pause between two reports of the same registered node, and the time for which they go on. The repetition is needed because this
// process may load the stored failures of earlier launches only after its first report.
const (
	joinedAgain = 5 * time.Minute
	joinedFor   = time.Hour
)

// Controller reconciles NodeClaims from their launch to the registration of their node, and for an hour longer.
type Controller struct {
	kube     client.Reader
	recorder events.Recorder
	joined   Joined
	reported *cache.Expiring // by the NodeClaim's UID: the number of marks that had passed at the last reconcile
	summed   *cache.Expiring // names of NodePools that were reported lately
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Reader, recorder events.Recorder, joined Joined) *Controller {
	return &Controller{kube: kube, recorder: recorder, joined: joined, reported: cache.NewExpiring(), summed: cache.NewExpiring()}
}

// Reconcile reports a mark that has passed since the last reconcile, and comes back at the next mark.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	if at, is := registered(nodeClaim); is {
		c.reported.Delete(nodeClaim.UID)
		c.joined(nodeClaim.Labels[karpv1.NodePoolLabelKey], nodeClaim.Labels[corev1.LabelInstanceTypeStable], at)
		if time.Since(at) < joinedFor {
			return reconcile.Result{RequeueAfter: joinedAgain}, nil
		}
		return reconcile.Result{}, nil
	}
	since, waiting := launched(nodeClaim)
	waited := time.Since(since)
	if !waiting || waited >= GivenUpAfter {
		c.reported.Delete(nodeClaim.UID)
		return reconcile.Result{}, nil
	}
	passed, next := 0, GivenUpAfter
	for _, mark := range marks {
		if waited < mark {
			next = mark
			break
		}
		passed++
	}
	last, seen := c.reported.Get(nodeClaim.UID)
	c.reported.Set(nodeClaim.UID, passed, GivenUpAfter)
	if seen && last != passed {
		c.report(nodeClaim, int(waited/time.Minute), since)
		if err := c.sum(ctx, nodeClaim.Labels[karpv1.NodePoolLabelKey]); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: next - waited}, nil
}

// sum reports on the NodePool how many nodes it waits for.
func (c *Controller) sum(ctx context.Context, name string) error {
	if _, lately := c.summed.Get(name); lately || name == "" {
		return nil
	}
	nodePool, all := &karpv1.NodePool{}, &karpv1.NodeClaimList{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: name}, nodePool); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.kube.List(ctx, all, client.MatchingLabels{karpv1.NodePoolLabelKey: name}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	count, first := 0, time.Now()
	for i := range all.Items {
		if since, waiting := launched(&all.Items[i]); waiting {
			count++
			if since.Before(first) {
				first = since
			}
		}
	}
	c.summed.Set(name, true, sumPause)
	c.recorder.Publish(events.Event{
		InvolvedObject: nodePool, Type: corev1.EventTypeNormal, Reason: EventWaitingForNode,
		Message: fmt.Sprintf("The nodes of %d Linodes of this NodePool have not joined yet; the first Linode was launched %d min ago",
			count, int(time.Since(first)/time.Minute)),
		DedupeValues: []string{string(nodePool.UID), name, first.String(), fmt.Sprint(count)},
	})
	return nil
}

// launched returns whether a NodeClaim has a Linode and no node, and the time of its launch.
func launched(nodeClaim *karpv1.NodeClaim) (since time.Time, waiting bool) {
	conditions := nodeClaim.StatusConditions(status.WithObservedOnly())
	launch := conditions.Get(karpv1.ConditionTypeLaunched)
	if !launch.IsTrue() || conditions.IsTrue(karpv1.ConditionTypeRegistered) || !nodeClaim.DeletionTimestamp.IsZero() ||
		!nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) {
		return time.Time{}, false
	}
	return launch.LastTransitionTime.Time, true
}

// registered returns when the node of a NodeClaim registered.
func registered(nodeClaim *karpv1.NodeClaim) (at time.Time, is bool) {
	condition := nodeClaim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered)
	if !condition.IsTrue() || !nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) {
		return time.Time{}, false
	}
	return condition.LastTransitionTime.Time, true
}

func (c *Controller) report(nodeClaim *karpv1.NodeClaim, minutes int, since time.Time) {
	linode := nodeClaim.Status.ProviderID
	if id, err := nodeclaim.InstanceID(linode); err == nil {
		linode = fmt.Sprintf("Linode %d", id)
	}
	c.recorder.Publish(events.Event{
		InvolvedObject: nodeClaim, Type: corev1.EventTypeNormal, Reason: EventWaitingForNode,
		Message: fmt.Sprintf("%s, a %s, was launched %d min ago and its node has not joined yet; Karpenter deletes this NodeClaim after "+
			"%d min, at %s", linode, nodeClaim.Labels[corev1.LabelInstanceTypeStable], minutes, int(GivenUpAfter.Minutes()),
			since.Add(GivenUpAfter).UTC().Format("15:04:05 MST")),
		DedupeValues: []string{string(nodeClaim.UID), fmt.Sprint(minutes)},
	})
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	concerned := controllers.When(func(nodeClaim *karpv1.NodeClaim) bool {
		_, waiting := launched(nodeClaim)
		_, joined := registered(nodeClaim)
		return waiting || joined
	})
	return controllers.For(m, "nodeclaim.joining", &karpv1.NodeClaim{}, 1, concerned).Complete(reconcile.AsReconciler(m.GetClient(), c))
}
