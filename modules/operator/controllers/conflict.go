package controllers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// How soon an object is reconciled again: the cache has the other write within that time.
const pause = 250 * time.Millisecond

// Lock returns the patch from the object that was read, with its version. A merge patch replaces whole lists, so the API server refuses
// the patch if another client has changed the object since the read.
func Lock(read client.Object) client.Patch {
	return client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
}

// Requeue returns the result of a reconcile after a write: nothing to do when the object is gone, another reconcile when it has changed.
func Requeue(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: pause}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}
