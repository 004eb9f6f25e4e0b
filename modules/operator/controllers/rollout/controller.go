// Package rollout keeps the condition RolledOut on NodePools. It is True when all nodes were made from the current NodePool and
// LinodeNodeClass. Package rollout of the operator decides this.
//
// GitOps tools wait for the condition: docs/rollouts.md has the health checks for Argo CD and Flux. The controller writes the condition
// when it changes, and when the generation of the NodePool changes: observedGeneration shows that the condition is about the last change
// of the NodePool. Core does not read it. Package cmd/controller registers the controller; it runs on the leader only and makes no request
// to the Linode API.
//
// The condition's reasons are NodesUpToDate, NodesOutdated, ReplicasMissing and ChangeNotObserved. A conflict with another writer leads to
// another reconcile.
package rollout

import (
	"context"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/rollout"
)

// Controller reconciles the condition.
type Controller struct {
	kube client.Client
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Client) *Controller { return &Controller{kube: kube} }

// Reconcile brings the condition of one NodePool up to date.
func (c *Controller) Reconcile(ctx context.Context, nodePool *karpv1.NodePool) (reconcile.Result, error) {
	if !nodePool.DeletionTimestamp.IsZero() || !nodeclaim.Ours(nodePool.Spec.Template.Spec.NodeClassRef) {
		return reconcile.Result{}, nil
	}
	progress, err := rollout.Read(ctx, c.kube, nodePool)
	if err != nil {
		return reconcile.Result{}, err
	}
	stored := nodePool.DeepCopy()
	condition := status.Condition{
		Type: rollout.Condition, Status: metav1.ConditionFalse, Reason: progress.Reason(), Message: progress.Message(),
	}
	if progress.Done() {
		condition.Status = metav1.ConditionTrue
	}
	nodePool.StatusConditions().Set(condition)
	if equality.Semantic.DeepEqual(stored.Status.Conditions, nodePool.Status.Conditions) {
		return reconcile.Result{}, nil
	}
	if err := c.kube.Status().Patch(ctx, nodePool, controllers.Lock(stored)); err != nil {
		return controllers.Requeue(err)
	}
	return reconcile.Result{}, nil
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "nodepool.rollout", &karpv1.NodePool{}, 1, predicate.Funcs{}).
		Watches(&karpv1.NodeClaim{}, nodepoolutils.NodeClaimEventHandler()).
		Watches(&v1alpha1.LinodeNodeClass{}, nodepoolutils.NodeClassEventHandler(c.kube)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
