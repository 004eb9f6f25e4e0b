// Package controllers has what all controllers of the provider share: For begins one, with pauses after failures as core's have, from
// 100 ms to a minute; Lock and Requeue write to objects that other clients write to as well.
//
// Lock makes a patch that the API server refuses with a conflict if another client has changed the object since it was read. Requeue turns
// that conflict into another reconcile, and "not found" into the end. NodesOf returns the Nodes of an instance: the Nodes with its
// provider ID, or else the Node with its name that has no other provider ID. All functions may be called concurrently.
//
// A reconcile after a conflict comes after 250 ms.
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

// For returns a builder for a controller of the objects of a kind whose events pass the filter, so many of them at a time. name is the
// controller's in logs and metrics.
func For(m manager.Manager, name string, kind client.Object, parallel int, filter predicate.Predicate) *builder.Builder {
	return controllerruntime.NewControllerManagedBy(m).
		Named(name).
		For(kind, builder.WithPredicates(filter)).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: parallel})
}

// When filters events by the object as it is now.
func When[T client.Object](concerns func(T) bool) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		object, is := o.(T)
		return is && concerns(object)
	})
}
