// Package refusedclass shows on a LinodeNodeClass that the Linode API refuses what is launched from it: its condition LaunchesAccepted is
// False with the API's words for as long as no launch of it is tried, and is removed afterwards.
//
// Ready does not depend on it: the NodePools of the class have no available instance types meanwhile, and the next launch after the class
// was changed, or after some minutes, shows whether the cause has gone. It makes no request to the Linode API. Registered by
// cmd/controller; it runs on the leader only.
package refusedclass

import (
	"context"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
)

// interval is how soon the condition follows what it shows.
const interval = 30 * time.Second

// Provider has the refusals; *cloudprovider.CloudProvider does.
type Provider interface {
	// ClassRefused returns why no launch from the class is tried, "" if they are.
	ClassRefused(nodeClass *v1alpha1.LinodeNodeClass) string
}

// Controller reconciles one condition of LinodeNodeClasses.
type Controller struct {
	kube     client.Client
	provider Provider
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Client, provider Provider) *Controller {
	return &Controller{kube: kube, provider: provider}
}

// Reconcile brings the condition of one class up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	stored := nodeClass.DeepCopy()
	if show(nodeClass, c.provider.ClassRefused(nodeClass)) {
		if err := c.kube.Status().Patch(ctx, nodeClass, controllers.Lock(stored)); err != nil {
			return controllers.Requeue(err)
		}
	}
	return reconcile.Result{RequeueAfter: interval}, nil
}

// show sets the condition, or removes it when there is no message, and returns whether that changes anything. It leaves the other
// conditions as they are: the set of conditions would compute Ready again, without its message.
func show(nodeClass *v1alpha1.LinodeNodeClass, message string) (changed bool) {
	conditions := nodeClass.Status.Conditions
	at := slices.IndexFunc(conditions, func(is status.Condition) bool { return is.Type == v1alpha1.ConditionLaunchesAccepted })
	if at >= 0 && conditions[at].Message == message && conditions[at].ObservedGeneration == nodeClass.Generation {
		return false
	}
	if at >= 0 {
		conditions = slices.Delete(conditions, at, at+1)
	}
	if message != "" {
		conditions = append(conditions, status.Condition{Type: v1alpha1.ConditionLaunchesAccepted, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonLaunchRefused, Message: message, ObservedGeneration: nodeClass.Generation, LastTransitionTime: metav1.Now()})
	}
	nodeClass.Status.Conditions = conditions
	return at >= 0 || message != ""
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "linodenodeclass.refused", &v1alpha1.LinodeNodeClass{}, 1, predicate.GenerationChangedPredicate{}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
