package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// A change that was refused is tried again after this time: pools of another release, for example, are not ours to write to, and each
// attempt costs requests. A restart forgets it, which costs one attempt each.
const refusalPause = 10 * time.Minute

// sweep is how often tags are compared with the last list; a new one comes as often.
const sweep = 2 * time.Minute

// keepTags brings the tags of an instance up to date, and returns the time to the next look, 0 for none before an event.
func (c *Controller) keepTags(ctx context.Context, id int, nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) (
	time.Duration, error) {
	// A class that was refused, or is not judged yet, may hold tags that are not the user's to set.
	validated := nodeClass.StatusConditions().Get(v1alpha1.ConditionValidationSucceeded)
	if !validated.IsTrue() || validated.ObservedGeneration != nodeClass.Generation {
		return 0, nil // its status comes as an event
	}
	last, known := lastApplied(nodeClaim)
	wanted := sets.New(nodeClass.Spec.Tags...)
	applied := known && last.Equal(wanted)
	if applied && !c.lacks(id, nodeClaim.UID, wanted) {
		return next(wanted), nil
	}
	if refused, is := c.refused.Get(nodeClaim.UID); is && wanted.Equal(refused.(sets.Set[string])) {
		return sweep, nil // without a request, until the pause ends
	}
	// a tag that is there already costs nothing
	remove, add := removable(last.Difference(wanted), nodeclass.TagHistory(nodeClass)), sets.List(wanted)
	err := c.engine.SetTags(ctx, id, nodeclaim.Claimant(nodeClaim), remove, add)
	switch claims.KindOf(err) {
	case claims.KindNotFound:
		return 0, nil // the instance is gone; core removes the NodeClaim
	case claims.KindInvalid, claims.KindConflict:
		c.refused.Set(nodeClaim.UID, wanted, refusalPause)
		log.FromContext(ctx).Info("the tags of an instance cannot be changed", "instance", id, "reason", err.Error())
		return refusalPause, nil
	}
	if err != nil {
		return 0, fmt.Errorf("setting the tags of instance %d: %w", id, err)
	}
	log.FromContext(ctx).Info("changed the tags of an instance", "instance", id, "removed", remove, "added", add)
	c.written.Set(nodeClaim.UID, nil, refusalPause)
	if !applied {
		err = c.remember(ctx, nodeClaim, add)
	}
	return next(wanted), err
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

// next is the time until the next look at an instance's tags, 0 if an event has to come first.
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
