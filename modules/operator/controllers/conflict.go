package controllers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// pause is the time from a conflict to the next reconcile. Within it the cache receives the other client's write.
const pause = 250 * time.Millisecond

// Lock returns a merge patch that contains the version of the object that was read. The API server refuses the patch if another client has
// changed the object since the read. Without the version, the patch could undo this change, because it replaces whole lists.
func Lock(read client.Object) client.Patch {
	return client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
}

// Requeue returns the result of a reconcile for the error of a write. A conflict leads to another reconcile after pause. "Not found"
// counts as success.
func Requeue(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: pause}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}
