// Package unlaunched removes the instance of a NodeClaim that was deleted before its status had a provider ID.
//
// Core calls Delete only for a NodeClaim with a provider ID. One that was deleted in the moment of its launch leaves a claimed instance,
// which garbage collection would find minutes later. Here it goes at once where the name is known from the claim, without a request to the
// Linode API; all else is left to garbage collection. Registered by cmd/controller; it runs on the leader only.
package unlaunched

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Provider releases by name; *cloudprovider.CloudProvider does.
type Provider interface {
	ReleaseClaimOf(ctx context.Context, nodeClaim string) error
}

// Controller reconciles the names of NodeClaims that are gone.
type Controller struct {
	kube     client.Reader
	provider Provider
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Reader, provider Provider) *Controller {
	return &Controller{kube: kube, provider: provider}
}

// Reconcile releases what the claim of the name has, if no NodeClaim has that name.
func (c *Controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	err := c.kube.Get(ctx, request.NamespacedName, &karpv1.NodeClaim{})
	if apierrors.IsNotFound(err) {
		err = c.provider.ReleaseClaimOf(ctx, request.Name)
	}
	return reconcile.Result{}, err
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named("nodeclaim.unlaunched").
		Watches(&karpv1.NodeClaim{}, handler.Funcs{DeleteFunc: deleted}).
		Complete(c)
}

// deleted queues a NodeClaim that is gone and had no provider ID.
func deleted(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if claim := e.Object.(*karpv1.NodeClaim); claim.Status.ProviderID == "" && nodeclaim.Ours(claim.Spec.NodeClassRef) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
	}
}
