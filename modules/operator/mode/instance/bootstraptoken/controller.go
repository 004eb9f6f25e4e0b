package bootstraptoken

import (
	"context"
	"time"

	"github.com/awslabs/operatorpkg/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// A token that is older than this has expired, and Kubernetes' token cleaner has removed it.
const longest = 2 * Lifetime

// Controller deletes the token of a NodeClaim once the node has registered, or when the NodeClaim is deleted. It sends one request for
// each NodeClaim. After a start it includes NodeClaims whose node registered before the start, and so deletes tokens that a killed
// operator left. It reconciles UIDs of NodeClaims, and runs on the leader only.
type Controller struct{ tokens *Issuer }

// NewController returns a Controller.
func NewController(tokens *Issuer) *Controller { return &Controller{tokens: tokens} }

// Reconcile deletes the token of a NodeClaim. If another user made a Secret with the token's name, the chart's admission policy forbids
// the deletion; Reconcile reports this once and does not repeat the deletion.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim types.UID) (reconcile.Result, error) {
	err := c.tokens.Revoke(ctx, nodeClaim)
	if apierrors.IsForbidden(err) {
		err = reconcile.TerminalError(err)
	}
	return reconcile.Result{}, err
}

// done returns whether a NodeClaim no longer needs its token, and the time since which it does not.
func done(object client.Object) (since time.Time, is bool) {
	claim, ok := object.(*karpv1.NodeClaim)
	if !ok || !nodeclaim.Ours(claim.Spec.NodeClassRef) {
		return time.Time{}, false
	}
	if !claim.DeletionTimestamp.IsZero() {
		return claim.DeletionTimestamp.Time, true
	}
	registered := claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered)
	if !registered.IsTrue() {
		return time.Time{}, false
	}
	return registered.LastTransitionTime.Time, true
}

type queue = workqueue.TypedRateLimitingInterface[types.UID]

// events queue a NodeClaim when it becomes done, or when this process sees it for the first time and its token may still exist.
func events() handler.TypedFuncs[client.Object, types.UID] {
	return handler.TypedFuncs[client.Object, types.UID]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) {
			if since, is := done(e.Object); is && time.Since(since) < longest {
				q.Add(e.Object.GetUID())
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			_, was := done(e.ObjectOld)
			if _, is := done(e.ObjectNew); is && !was {
				q.Add(e.ObjectNew.GetUID())
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) {
			if claim, ok := e.Object.(*karpv1.NodeClaim); ok && nodeclaim.Ours(claim.Spec.NodeClassRef) {
				q.Add(claim.UID)
			}
		},
	}
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return builder.TypedControllerManagedBy[types.UID](m).
		Named("nodeclaim.bootstraptokens").
		Watches(&karpv1.NodeClaim{}, events()).
		Complete(c)
}
