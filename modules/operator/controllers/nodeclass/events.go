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

// publish publishes an event for each changed condition that a user should know: the class has become ready, or why it is not ready, and
// notices such as a disabled firewall. It begins with Ready, which is the last of the conditions.
func (c *Controller) publish(before, after *v1alpha1.LinodeNodeClass) {
	for _, is := range slices.Backward(after.Status.Conditions) {
		e := events.Event{InvolvedObject: after, Type: corev1.EventTypeWarning, Reason: is.Reason, Message: is.Message}
		switch {
		case slices.ContainsFunc(before.Status.Conditions, func(was status.Condition) bool {
			return was.Type == is.Type && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message
		}):
			continue
		case is.Type == status.ConditionReady && is.IsTrue():
			e.Type, e.Reason, e.Message = corev1.EventTypeNormal, "Ready", "Nodes can be made from this LinodeNodeClass"
		case is.Type != status.ConditionReady && (!is.IsTrue() || !slices.Contains(notices, is.Reason)):
			continue
		}
		c.recorder.Publish(e)
	}
}

var notices = []string{v1alpha1.ReasonFieldsWithoutEffect, v1alpha1.ReasonFirewallDisabled, v1alpha1.ReasonImageDeprecated}

// deleted queues the class of a deleted NodeClaim. No other event of a NodeClaim concerns its class.
func deleted(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if ref := e.Object.(*karpv1.NodeClaim).Spec.NodeClassRef; nodeclaim.Ours(ref) {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: ref.Name}})
	}
}
