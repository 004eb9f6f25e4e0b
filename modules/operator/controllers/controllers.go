// Package controllers has the functions that all controllers of the provider share. For returns the builder of a controller, with the same
// pauses after failures as core's controllers, from 100 ms to a minute. Lock and Requeue serve writes to objects that other clients write,
// too.
//
// Lock makes a patch that the API server refuses with a conflict if another client has changed the object since the read. After a conflict
// Requeue asks for another reconcile in 250 ms; "not found" counts as success. NodesOf returns the Nodes of an instance: the Nodes with its
// provider ID, or else the Node with its name if this Node has no provider ID. All functions may be called concurrently.
package controllers

import (
	"github.com/awslabs/operatorpkg/reasonable"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// For returns a builder for a controller of the objects of a kind whose events pass the filter. It reconciles at most parallel objects at
// the same time. name is the controller's name in logs and metrics.
func For(m manager.Manager, name string, kind client.Object, parallel int, filter predicate.Predicate) *builder.Builder {
	return controllerruntime.NewControllerManagedBy(m).
		Named(name).
		For(kind, builder.WithPredicates(filter)).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: parallel})
}

// When returns a filter that passes the events of objects for which concerns returns true. After an update it gets the new object.
func When[T client.Object](concerns func(T) bool) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		object, is := o.(T)
		return is && concerns(object)
	})
}
