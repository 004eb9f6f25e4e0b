package karpentercore

import (
	"context"
	"slices"

	opcontroller "github.com/awslabs/operatorpkg/controller"
	"github.com/awslabs/operatorpkg/reasonable"
	corev1 "k8s.io/api/core/v1"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/node/legacyrepair"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

// Labelled returns core's controllers. If the controller for legacy repair is among them, the returned controller also reconciles a Node
// when the Node gets the label of its class.
//
// Core's controller only reconciles Nodes with the label, and only when a condition changes. A Node of LKE gets the label when it
// registers. Example: a Node becomes not ready at 12:00 and gets the label at 12:01. No condition changes afterwards, so core's controller
// would not repair the Node before the operator restarts.
func Labelled(core []opcontroller.Controller, provider cloudprovider.CloudProvider) []opcontroller.Controller {
	all := slices.Clone(core)
	for i, c := range all {
		if legacy, is := c.(*legacyrepair.Controller); is {
			all[i] = labelled{legacy, provider}
		}
	}
	return all
}

// labelled is core's controller for legacy repair, with a different filter of events.
type labelled struct {
	*legacyrepair.Controller
	provider cloudprovider.CloudProvider
}

// Register adds the controller to a manager, in place of core's controller.
func (l labelled) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(l.Name()).
		For(&corev1.Node{}, builder.WithPredicates(nodeutils.IsManagedPredicateFuncs(l.provider), predicate.Funcs{UpdateFunc: l.concerns})).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: 10}).
		Complete(reconcile.AsReconciler(m.GetClient(), l.Controller))
}

// concerns returns whether an update of a labelled Node added the label, or changed a condition in more than its heartbeat.
func (l labelled) concerns(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*corev1.Node)
	after, was := e.ObjectNew.(*corev1.Node)
	return is && was && (!nodeutils.IsManaged(before, l.provider) ||
		!slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b corev1.NodeCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.LastTransitionTime.Equal(&b.LastTransitionTime)
		}))
}
