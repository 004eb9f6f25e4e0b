package karpentercore

import (
	"context"
	"errors"

	"github.com/awslabs/operatorpkg/controller"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Planner starts a planning pass; core's *provisioning.Provisioner implements it.
type Planner interface{ TriggerReconcile() }

// Replan starts a planning pass of core when a node is initialized. The operator uses it if the feature gate CapacityBuffer is on.
//
// Only in a planning pass, core records on which nodes a buffer's pods have room. If no pod waits, a pass comes twice a minute. Core would
// count a node that is initialized between two passes as empty, delete it, and buy it again. A pass makes no request to the Linode API.
type Replan struct{ planner Planner }

// ErrNoPlanner is the error of NewReplan if none of core's controllers is a Planner.
var ErrNoPlanner = errors.New("core has no controller that plans")

// NewReplan returns a Replan for the planner among core's controllers.
func NewReplan(core []controller.Controller) (*Replan, error) {
	for _, c := range core {
		if planner, is := c.(Planner); is {
			return &Replan{planner}, nil
		}
	}
	return nil, ErrNoPlanner
}

// Reconcile starts a pass and does not wait for its end.
func (r *Replan) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	r.planner.TriggerReconcile()
	return reconcile.Result{}, nil
}

// initialized passes only the update with which a NodeClaim becomes initialized, so that its node can hold pods. It passes no event of a
// restart, because after a restart each buffer itself starts a pass.
var initialized = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*karpv1.NodeClaim)
		after, was := e.ObjectNew.(*karpv1.NodeClaim)
		return is && was && !before.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) &&
			after.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized)
	},
}

// Register adds the controller to a manager.
func (r *Replan) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named("nodeclaim.replan").
		For(&karpv1.NodeClaim{}, builder.WithPredicates(initialized)).
		Complete(r)
}
