// Package launchfindings shows on a LinodeNodeClass the results of its launches, as conditions that exist only while there is a finding.
// Ready does not depend on them.
//
//   - LaunchesAccepted is False, with the API's words, while core tries no launch of the class because the Linode API refused one. In this
//     time the NodePools of the class have no available instance types. After a change of the class, or after some minutes, the next
//     launch is tried and shows whether the cause has gone.
//   - KubernetesVersionProvided is False if the class follows the control plane's version, and nodes of the class's image join with
//     another minor version.
//
// The controller looks every 30 seconds and at changes of the class. The package makes no request to the Linode API. Package
// cmd/controller registers it; it runs on the leader only.
//
// A class without a finding has neither condition. After an error of the API server the reconcile is repeated with growing pauses. If
// another client has changed the class since the read, the API server refuses the write, and another reconcile follows.
package launchfindings

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

// interval is the time between two looks at a class, and so the longest delay of its conditions.
const interval = 30 * time.Second

// Provider has the findings; *cloudprovider.CloudProvider implements it.
type Provider interface {
	// ClassRefused returns why no launch from the class is tried, "" if launches are tried.
	ClassRefused(nodeClass *v1alpha1.LinodeNodeClass) string
	// VersionDiffers returns a message if new nodes of the class join with another version than the control plane's, "" if they do not.
	VersionDiffers(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (string, error)
}

// Controller reconciles these conditions of LinodeNodeClasses.
type Controller struct {
	kube     client.Client
	provider Provider
}

// NewController returns a Controller. kube may read from a cache.
func NewController(kube client.Client, provider Provider) *Controller {
	return &Controller{kube: kube, provider: provider}
}

// Reconcile brings the conditions of one class up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (reconcile.Result, error) {
	stored := nodeClass.DeepCopy()
	differs, err := c.provider.VersionDiffers(ctx, nodeClass)
	if err != nil {
		return reconcile.Result{}, err
	}
	refused := show(nodeClass, v1alpha1.ConditionLaunchesAccepted, v1alpha1.ReasonLaunchRefused, c.provider.ClassRefused(nodeClass))
	other := show(nodeClass, v1alpha1.ConditionVersionProvided, v1alpha1.ReasonImageVersionDiffers, differs)
	if refused || other {
		if err := c.kube.Status().Patch(ctx, nodeClass, controllers.Lock(stored)); err != nil {
			return controllers.Requeue(err)
		}
	}
	return reconcile.Result{RequeueAfter: interval}, nil
}

// show sets a condition to False, or removes it if the message is empty. It returns whether the conditions have changed. It does not use
// StatusConditions, which would compute Ready again and lose Ready's message.
func show(nodeClass *v1alpha1.LinodeNodeClass, conditionType, reason, message string) (changed bool) {
	conditions := nodeClass.Status.Conditions
	at := slices.IndexFunc(conditions, func(is status.Condition) bool { return is.Type == conditionType })
	if at >= 0 && conditions[at].Message == message && conditions[at].ObservedGeneration == nodeClass.Generation {
		return false
	}
	if at >= 0 {
		conditions = slices.Delete(conditions, at, at+1)
	}
	if message != "" {
		conditions = append(conditions, status.Condition{Type: conditionType, Status: metav1.ConditionFalse,
			Reason: reason, Message: message, ObservedGeneration: nodeClass.Generation, LastTransitionTime: metav1.Now()})
	}
	nodeClass.Status.Conditions = conditions
	return at >= 0 || message != ""
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllers.For(m, "linodenodeclass.launchfindings", &v1alpha1.LinodeNodeClass{}, 1, predicate.GenerationChangedPredicate{}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}
