// Package upkeep keeps running instances as their LinodeNodeClass specifies, as far as this needs no new instance: it sets their tags and,
// in instance mode, their Cloud Firewall ([Firewalls]; package firewalls of this mode decides). A change of any other field of a class
// counts as drift.
//
// One reconciler does both, for every NodeClaim with an instance: on events of the NodeClaim and its class, and every two minutes if the
// class has tags or a firewall. While nothing changes it sends no request: it compares the class with the last list of instances and with
// the last answer about the firewall, which other packages read. The two parts are independent: an error of one part does not stop the
// other part.
//
// Tags are changed on the running instance, and no node is replaced for them. The package removes only tags that came from the class: a
// NodeClaim's annotation lists the tags applied last, and the class's history lists its present and past tags. Example: the class had
// team=a and gets team=b; a user added keep=me. The instance then has team=b and keep=me. The annotation is written after the tags. After
// a restart between the two writes, the change is repeated and finds nothing to write. A NodeClaim without a readable annotation gets the
// class's tags and loses no tag. If a user removes a tag of the class from the instance, the package puts the tag on again, at most once in
// ten minutes.
//
// A change of tags costs a read and a write for each instance. The claim on the instance is never lost: the engine writes under the
// instance's lock and refuses tags that a user may not set. A refused change is not tried again for ten minutes. The package does not
// change names of instances: in lke mode LKE chooses them, and they are the names of the nodes.
//
// Package cmd/controller registers it; it runs on the leader only.
package upkeep

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Engine changes tags; *allocator.Allocator implements it.
type Engine interface {
	SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error
}

// Inventory returns the tags of an instance from the last list, without a request; *cloudprovider.CloudProvider implements it. known is
// false if the list does not have the instance.
type Inventory interface {
	Tags(instanceID int) (tags []string, known bool)
}

// Firewalls keeps instances behind the firewall of their class; *firewalls.Keeper implements it. again is the time until the next look;
// with 0 only an event leads to the next look.
type Firewalls interface {
	Keep(ctx context.Context, nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) (again time.Duration, err error)
}

// Controller reconciles the instances of NodeClaims.
type Controller struct {
	kube      client.Client
	engine    Engine
	listed    Inventory
	firewalls Firewalls
	refused   *cache.Expiring // by the NodeClaim's UID: the tags that could not be set
	written   *cache.Expiring // UIDs of NodeClaims whose instance got its tags lately; the list may not show the tags yet
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of NodeClaims. firewalls is
// nil in modes without a firewall for each instance, such as lke mode.
func NewController(kube client.Client, engine Engine, listed Inventory, firewalls Firewalls) *Controller {
	return &Controller{kube: kube, engine: engine, listed: listed, firewalls: firewalls,
		refused: cache.NewExpiring(), written: cache.NewExpiring()}
}

// Reconcile brings one NodeClaim's instance up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil || !nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) || !nodeClaim.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil //nolint:nilerr // without a provider ID it has no instance yet; another provider's ID is not ours
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Spec.NodeClassRef.Name}, nodeClass); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	again, err := c.keepTags(ctx, id, nodeClaim, nodeClass)
	if c.firewalls != nil {
		next, failed := c.firewalls.Keep(ctx, nodeClaim, nodeClass)
		again, err = sooner(again, next), errors.Join(err, failed)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// sooner returns the shorter of two times; 0 stands for no time.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	changes := predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.Funcs{UpdateFunc: launches})
	return controllers.For(m, "nodeclaim.upkeep", &karpv1.NodeClaim{}, 10, changes).
		Watches(&v1alpha1.LinodeNodeClass{}, nodeclaimutils.NodeClassEventHandler(c.kube)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}

// launches passes the event with which a NodeClaim gets its instance: the class's tags may have changed during the launch.
func launches(e event.UpdateEvent) bool {
	return e.ObjectOld.(*karpv1.NodeClaim).Status.ProviderID != e.ObjectNew.(*karpv1.NodeClaim).Status.ProviderID
}
