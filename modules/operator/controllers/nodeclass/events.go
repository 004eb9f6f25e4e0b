package nodeclass

import (
	"context"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// publishReadiness reports that the class has become ready, or is not and why: once until that changes.
func (c *Controller) publishReadiness(before, after *v1alpha1.LinodeNodeClass) {
	was, is := readyOf(before), readyOf(after)
	if is == nil || (was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message) {
		return
	}
	e := events.Event{InvolvedObject: after, Type: corev1.EventTypeNormal, Reason: "Ready", Message: "Nodes can be made from this LinodeNodeClass"}
	if !is.IsTrue() {
		e.Type, e.Reason, e.Message = corev1.EventTypeWarning, is.Reason, is.Message
	}
	c.recorder.Publish(e)
}

func readyOf(nodeClass *v1alpha1.LinodeNodeClass) *status.Condition {
	for _, condition := range nodeClass.Status.Conditions {
		if condition.Type == status.ConditionReady {
			return &condition
		}
	}
	return nil
}

// publishNotices reports what is true and worth knowing all the same, such as a firewall that is switched off, when the
// status begins to say so.
func (c *Controller) publishNotices(before, after *v1alpha1.LinodeNodeClass) {
	for _, condition := range after.Status.Conditions {
		if condition.Type == status.ConditionReady || !condition.IsTrue() || !slices.Contains(notices, condition.Reason) ||
			slices.ContainsFunc(before.Status.Conditions, func(was status.Condition) bool {
				return was.Type == condition.Type && was.Reason == condition.Reason && was.Message == condition.Message
			}) {
			continue
		}
		c.recorder.Publish(events.Event{InvolvedObject: after, Type: corev1.EventTypeWarning, Reason: condition.Reason, Message: condition.Message})
	}
}

var notices = []string{v1alpha1.ReasonFieldsWithoutEffect, v1alpha1.ReasonFirewallDisabled, v1alpha1.ReasonImageDeprecated}

// publishWaiting reports which NodeClaims keep a class that is being deleted, and what to do: meanwhile its NodePools get no nodes.
func (c *Controller) publishWaiting(nodeClass *v1alpha1.LinodeNodeClass) {
	c.recorder.Publish(events.Event{
		InvolvedObject: nodeClass,
		Type:           corev1.EventTypeWarning,
		Reason:         v1alpha1.ReasonWaitingOnNodeClaimTermination,
		Message:        readyOf(nodeClass).Message,
	})
}

// deleted queues the class of a NodeClaim that is gone; nothing else about a NodeClaim matters to its class.
func deleted(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if ref := e.Object.(*karpv1.NodeClaim).Spec.NodeClassRef; nodeclaim.Ours(ref) {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: ref.Name}})
	}
}
