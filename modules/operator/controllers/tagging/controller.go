// Package tagging keeps the user's tags on instances in step with the LinodeNodeClass.
//
// Tags are changed on the running Linode; no node is replaced for them. Of an instance's tags only those that
// came from the class are replaced: a NodeClaim's annotation lists those applied last, and the class's history those that it has had, so tags
// that others have set stay. The annotation is written after the tags, so a restart in between repeats the
// change, which then writes nothing. A NodeClaim without a readable annotation, as the alpha provider or a user
// leaves it, gets the class's tags and loses none: which of its tags came from a class is not known. A tag of the class that
// was taken off by hand, alone or with all others, is put on again, at most once in ten minutes.
//
// The Linode API is called only when the annotation and the class differ, or the last list of instances, which others ask for, lacks a
// tag: a read and a write for each instance. The claim on the instance is never lost: lkepool writes under the instance's lock and refuses tags that are not a
// user's. A change that lkepool refuses is not tried again for ten minutes. Names of instances are left alone: in
// lke mode they are LKE's, and the names of the nodes.
//
// Registered by cmd/controller; it runs on the leader only.
package tagging

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/reasonable"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/operator/injection"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/classhistory"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Pools changes tags; *lkepool.Allocator is one.
type Pools interface {
	SetTags(ctx context.Context, instanceID int, by lkepool.Claimant, remove, add []string) error
}

// Inventory has the tags of instances as they were listed last, without asking; *cloudprovider.CloudProvider does. known is false for
// one that the list does not have.
type Inventory interface {
	Tags(instanceID int) (tags []string, known bool)
}

// A change that was refused is tried again after this time: pools of another release, for example, are not ours to write to, and each
// attempt costs requests. A restart forgets it, which costs one attempt each.
const refusalPause = 10 * time.Minute

// sweep is how often tags are compared with the last list; a new one comes as often.
const sweep = 2 * time.Minute

// Controller reconciles the tags of NodeClaims' instances.
type Controller struct {
	kube    client.Client
	pools   Pools
	listed  Inventory
	refused *cache.Expiring // by UID: the tags that could not be set
	written *cache.Expiring // UIDs of NodeClaims whose instance had its tags set, which a list may not show yet
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of
// NodeClaims. Without listed, which may be nil, tags that were taken off stay away.
func NewController(kube client.Client, pools Pools, listed Inventory) *Controller {
	return &Controller{kube: kube, pools: pools, listed: listed, refused: cache.NewExpiring(), written: cache.NewExpiring()}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.tagging" }

// Reconcile brings the tags of one NodeClaim's instance up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
	ctx = injection.WithControllerName(ctx, c.Name())
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil || !nodeclaim.Ours(nodeClaim.Spec.NodeClassRef) || !nodeClaim.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil //nolint:nilerr // without a provider ID it has no instance yet; one of another provider is not ours
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Spec.NodeClassRef.Name}, nodeClass); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// A class that was refused, or is not judged yet, may hold tags that are not the user's to set.
	validated := nodeClass.StatusConditions().Get(v1alpha1.ConditionValidationSucceeded)
	if !validated.IsTrue() || validated.ObservedGeneration != nodeClass.Generation {
		return reconcile.Result{}, nil // its status comes as an event
	}
	last, known := applied(nodeClaim)
	wanted := sorted(nodeClass.Spec.Tags)
	if known && slices.Equal(last, wanted) && !c.lacks(id, nodeClaim.UID, wanted) {
		return reconcile.Result{RequeueAfter: c.next(wanted)}, nil
	}
	if refused, is := c.refused.Get(nodeClaim.UID); is && slices.Equal(refused.([]string), wanted) {
		return reconcile.Result{}, nil // the reconcile that follows the pause is queued
	}
	remove, add := difference(last, wanted, classhistory.Tags(nodeClass))
	err = c.pools.SetTags(ctx, id, nodeclaim.Claimant(nodeClaim), remove, add)
	switch lkepool.KindOf(err) {
	case lkepool.KindNotFound:
		return reconcile.Result{}, nil // the instance is gone; core removes the NodeClaim
	case lkepool.KindInvalid, lkepool.KindConflict:
		c.refused.Set(nodeClaim.UID, wanted, refusalPause)
		log.FromContext(ctx).Info("the tags of an instance cannot be changed", "instance", id, "reason", err.Error())
		return reconcile.Result{RequeueAfter: refusalPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("setting the tags of instance %d: %w", id, err)
	}
	log.FromContext(ctx).Info("changed the tags of an instance", "instance", id, "removed", remove, "added", add)
	c.written.Set(nodeClaim.UID, nil, refusalPause)
	if !known || !slices.Equal(last, wanted) {
		err = c.remember(ctx, nodeClaim, wanted)
	}
	return reconcile.Result{RequeueAfter: c.next(wanted)}, err
}

// lacks returns whether the last list shows an instance without a tag that was put on it. SetTags reads the instance before it writes,
// which is the second reading.
func (c *Controller) lacks(instanceID int, uid types.UID, wanted []string) bool {
	if _, lately := c.written.Get(uid); lately || c.listed == nil {
		return false
	}
	tags, known := c.listed.Tags(instanceID)
	return known && slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(tags, tag) })
}

// next is when an instance's tags are looked at again, 0 for not before an event.
func (c *Controller) next(wanted []string) time.Duration {
	if c.listed == nil || len(wanted) == 0 {
		return 0
	}
	return sweep
}

// remember notes what was applied. Were the process killed before, the same change would be made again, which changes
// nothing.
func (c *Controller) remember(ctx context.Context, nodeClaim *karpv1.NodeClaim, tags []string) error {
	text, err := json.Marshal(tags)
	if err != nil {
		return fmt.Errorf("writing tags: %w", err)
	}
	stored := nodeClaim.DeepCopy()
	if nodeClaim.Annotations == nil {
		nodeClaim.Annotations = map[string]string{}
	}
	nodeClaim.Annotations[v1alpha1.AnnotationLastAppliedUserTags] = string(text)
	if err := c.kube.Patch(ctx, nodeClaim, client.MergeFrom(stored)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("noting the tags of NodeClaim %s: %w", nodeClaim.Name, err)
	}
	return nil
}

// applied reads what was applied last; false when that is not known, or not readable.
func applied(nodeClaim *karpv1.NodeClaim) ([]string, bool) {
	text, ok := nodeClaim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]
	if !ok {
		return nil, false
	}
	var tags []string
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, false
	}
	return sorted(tags), true
}

func sorted(tags []string) []string {
	result := append([]string{}, tags...)
	slices.Sort(result)
	return result
}

// difference returns what to take off and what to put on. A tag is taken off only if the class has had it, and never one that the provider
// manages: the annotation is its writer's. All that is wanted is put on: a tag that is there already costs nothing.
func difference(last, wanted, had []string) (remove, add []string) {
	for _, tag := range last {
		if slices.Contains(had, tag) && !slices.Contains(wanted, tag) && !v1alpha1.IsRestrictedTag(tag) {
			remove = append(remove, tag)
		}
	}
	return remove, wanted
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	return controllerruntime.NewControllerManagedBy(m).
		Named(c.Name()).
		For(&karpv1.NodeClaim{}, builder.WithPredicates(predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.Funcs{UpdateFunc: launches}))).
		Watches(&v1alpha1.LinodeNodeClass{}, handler.EnqueueRequestsFromMapFunc(nodeclaim.FromClass(c.kube))).
		WithOptions(controller.Options{RateLimiter: reasonable.RateLimiter(), MaxConcurrentReconciles: 10}).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}

// launches lets a NodeClaim pass that has got its instance: the class's tags may have changed on the way.
func launches(e event.UpdateEvent) bool {
	return e.ObjectOld.(*karpv1.NodeClaim).Status.ProviderID != e.ObjectNew.(*karpv1.NodeClaim).Status.ProviderID
}
