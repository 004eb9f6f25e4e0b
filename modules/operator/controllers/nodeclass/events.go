package nodeclass

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// publishReadiness says that the class has become ready, or is not and why. It says nothing while that stays the same.
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

// publishWaiting says which NodeClaims keep the class; again only when they are others, or after a while.
func (c *Controller) publishWaiting(nodeClass *v1alpha1.LinodeNodeClass, nodeClaims []karpv1.NodeClaim) {
	names := make([]string, 0, len(nodeClaims))
	for _, nodeClaim := range nodeClaims {
		names = append(names, nodeClaim.Name)
	}
	slices.Sort(names)
	c.recorder.Publish(events.Event{
		InvolvedObject: nodeClass,
		Type:           corev1.EventTypeNormal,
		Reason:         "WaitingOnNodeClaimTermination",
		Message:        "Waiting for the termination of " + describe(names),
		DedupeValues:   append([]string{string(nodeClass.UID)}, names...),
		DedupeTimeout:  10 * time.Minute,
	})
}

// describe names the first few: an event's message is short.
func describe(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return "NodeClaims " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("NodeClaims %s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// classOfNodeClaim maps a NodeClaim to its class.
func classOfNodeClaim() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		ref := o.(*karpv1.NodeClaim).Spec.NodeClassRef
		if ref == nil || ref.Group != v1alpha1.Group || ref.Kind != v1alpha1.Kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: ref.Name}}}
	})
}

// deletions lets only deletions pass: nothing else about a NodeClaim matters to its class.
func deletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
	}
}
