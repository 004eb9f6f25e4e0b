// Package tagging keeps the user's tags on instances in step with the LinodeNodeClass.
//
// Tags are changed on the running Linode; no node is replaced for them. Of an instance's tags only those that
// came from the class are replaced: a NodeClaim's annotation lists those applied last, and the class's history those that it has had. The
// annotation is written after the tags, so a restart in between repeats the change, which then writes nothing. A NodeClaim without a
// readable annotation, as the alpha provider or a user leaves it, gets the class's tags and loses none. A tag of the class that was taken
// off by hand, alone or with all others, is put on again, at most once in ten minutes.
//
// The Linode API is called only when the annotation and the class differ, or the last list of instances, which others read, lacks a
// tag: a read and a write for each instance. The claim on the instance is never lost: lkepool writes under the instance's lock and refuses
// tags that are not a user's. A change that lkepool refuses is not tried again for ten minutes. Names of instances are left alone: in
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeclaimutils "sigs.k8s.io/karpenter/pkg/utils/nodeclaim"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Engine changes tags; *allocator.Allocator is one.
type Engine interface {
	SetTags(ctx context.Context, instanceID int, by claims.Claimant, remove, add []string) error
}

// Inventory has the tags of instances as they were listed last, without a request; *cloudprovider.CloudProvider does. known is false for
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
	engine  Engine
	listed  Inventory
	refused *cache.Expiring // by UID: the tags that could not be set
	written *cache.Expiring // UIDs of NodeClaims whose instance had its tags set, which a list may not show yet
}

// NewController returns a Controller. The cache behind kube must have core's index on the NodeClass reference of
// NodeClaims.
func NewController(kube client.Client, engine Engine, listed Inventory) *Controller {
	return &Controller{kube: kube, engine: engine, listed: listed, refused: cache.NewExpiring(), written: cache.NewExpiring()}
}

// Reconcile brings the tags of one NodeClaim's instance up to date.
func (c *Controller) Reconcile(ctx context.Context, nodeClaim *karpv1.NodeClaim) (reconcile.Result, error) {
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
	last, known := lastApplied(nodeClaim)
	wanted := sets.New(nodeClass.Spec.Tags...)
	applied := known && last.Equal(wanted)
	if applied && !c.lacks(id, nodeClaim.UID, wanted) {
		return reconcile.Result{RequeueAfter: next(wanted)}, nil
	}
	if refused, is := c.refused.Get(nodeClaim.UID); is && wanted.Equal(refused.(sets.Set[string])) {
		return reconcile.Result{}, nil // the reconcile that follows the pause is queued
	}
	// a tag that is there already costs nothing
	remove, add := removable(last.Difference(wanted), nodeclass.TagHistory(nodeClass)), sets.List(wanted)
	err = c.engine.SetTags(ctx, id, nodeclaim.Claimant(nodeClaim), remove, add)
	switch claims.KindOf(err) {
	case claims.KindNotFound:
		return reconcile.Result{}, nil // the instance is gone; core removes the NodeClaim
	case claims.KindInvalid, claims.KindConflict:
		c.refused.Set(nodeClaim.UID, wanted, refusalPause)
		log.FromContext(ctx).Info("the tags of an instance cannot be changed", "instance", id, "reason", err.Error())
		return reconcile.Result{RequeueAfter: refusalPause}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("setting the tags of instance %d: %w", id, err)
	}
	log.FromContext(ctx).Info("changed the tags of an instance", "instance", id, "removed", remove, "added", add)
	c.written.Set(nodeClaim.UID, nil, refusalPause)
	if !applied {
		err = c.remember(ctx, nodeClaim, add)
	}
	return reconcile.Result{RequeueAfter: next(wanted)}, err
}

// lacks returns whether the last list shows an instance without a tag that was put on it. SetTags reads the instance before it writes,
// which is the second reading.
func (c *Controller) lacks(instanceID int, uid types.UID, wanted sets.Set[string]) bool {
	if _, lately := c.written.Get(uid); lately {
		return false
	}
	tags, known := c.listed.Tags(instanceID)
	return known && !sets.New(tags...).IsSuperset(wanted)
}

// next is when an instance's tags are looked at again, 0 for not before an event.
func next(wanted sets.Set[string]) time.Duration {
	if len(wanted) == 0 {
		return 0
	}
	return sweep
}

// remember notes what was applied. Were the process killed before, the same change would be made again, which changes
// nothing.
func (c *Controller) remember(ctx context.Context, nodeClaim *karpv1.NodeClaim, tags []string) error {
	text, _ := json.Marshal(tags) // strings always encode
	stored := nodeClaim.DeepCopy()
	metav1.SetMetaDataAnnotation(&nodeClaim.ObjectMeta, v1alpha1.AnnotationLastAppliedUserTags, string(text))
	if err := c.kube.Patch(ctx, nodeClaim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting the tags of NodeClaim %s: %w", nodeClaim.Name, err)
	}
	return nil
}

// lastApplied reads what was applied last; false when that is not known, or not readable.
func lastApplied(nodeClaim *karpv1.NodeClaim) (sets.Set[string], bool) {
	var tags []string
	err := json.Unmarshal([]byte(nodeClaim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]), &tags)
	if err != nil {
		tags = nil
	}
	return sets.New(tags...), err == nil
}

// removable are the tags that the class has had, and none that the provider manages: the annotation is its writer's.
func removable(tags sets.Set[string], had []string) []string {
	return slices.DeleteFunc(sets.List(tags), func(tag string) bool { return !slices.Contains(had, tag) || v1alpha1.IsRestrictedTag(tag) })
}

// Register adds the controller to a manager.
func (c *Controller) Register(_ context.Context, m manager.Manager) error {
	changes := predicate.Or(predicate.AnnotationChangedPredicate{}, predicate.Funcs{UpdateFunc: launches})
	return controllers.For(m, "nodeclaim.tagging", &karpv1.NodeClaim{}, 10, changes).
		Watches(&v1alpha1.LinodeNodeClass{}, nodeclaimutils.NodeClassEventHandler(c.kube)).
		Complete(reconcile.AsReconciler(m.GetClient(), c))
}

// launches lets a NodeClaim pass that has got its instance: the class's tags may have changed on the way.
func launches(e event.UpdateEvent) bool {
	return e.ObjectOld.(*karpv1.NodeClaim).Status.ProviderID != e.ObjectNew.(*karpv1.NodeClaim).Status.ProviderID
}
