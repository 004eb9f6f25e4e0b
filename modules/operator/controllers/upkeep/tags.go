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

// refusalPause is the time after which a refused change is tried again, because each attempt costs requests. Example: the engine refuses to
// write to a pool of another release. After a restart of the operator each refused change is tried once more.
const refusalPause = 10 * time.Minute

// sweep is the time between two comparisons of tags with the last list of instances. Core requests a new list as often.
const sweep = 2 * time.Minute

// keepTags brings the tags of an instance up to date, and returns the time until the next look. With 0 only an event leads to the next
// look.
func (c *Controller) keepTags(ctx context.Context, id int, nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) (
	time.Duration, error) {
	// A class that failed its validation, or is not validated yet, may have tags that a user may not set.
	validated := nodeClass.StatusConditions().Get(v1alpha1.ConditionValidationSucceeded)
	if !validated.IsTrue() || validated.ObservedGeneration != nodeClass.Generation {
		return 0, nil // the change of the class's status is an event
	}
	last, known := lastApplied(nodeClaim)
	wanted := sets.New(nodeClass.Spec.Tags...)
	applied := known && last.Equal(wanted)
	if applied && !c.lacks(id, nodeClaim.UID, wanted) {
		return next(wanted), nil
	}
	if refused, is := c.refused.Get(nodeClaim.UID); is && wanted.Equal(refused.(sets.Set[string])) {
		return sweep, nil // no request until refusalPause has passed
	}
	// add has all tags of the class: SetTags does not write a tag that the instance already has.
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

// lacks returns whether the last list shows an instance without a tag that was put on it. The list may lag, but SetTags reads the instance
// before it writes.
func (c *Controller) lacks(instanceID int, uid types.UID, wanted sets.Set[string]) bool {
	if _, lately := c.written.Get(uid); lately {
		return false
	}
	tags, known := c.listed.Tags(instanceID)
	return known && !sets.New(tags...).IsSuperset(wanted)
}

// next returns the time until the next look at an instance's tags: sweep, or 0 if the class has no tags.
func next(wanted sets.Set[string]) time.Duration {
	if len(wanted) == 0 {
		return 0
	}
	return sweep
}

// remember records the applied tags in the NodeClaim's annotation. If the process is killed before this write, the next process makes the
// same change again and finds nothing to change.
func (c *Controller) remember(ctx context.Context, nodeClaim *karpv1.NodeClaim, tags []string) error {
	text, _ := json.Marshal(tags) // strings always encode
	stored := nodeClaim.DeepCopy()
	metav1.SetMetaDataAnnotation(&nodeClaim.ObjectMeta, v1alpha1.AnnotationLastAppliedUserTags, string(text))
	if err := c.kube.Patch(ctx, nodeClaim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting the tags of NodeClaim %s: %w", nodeClaim.Name, err)
	}
	return nil
}

// lastApplied returns the tags that were applied last. It returns false if the annotation is missing or not readable.
func lastApplied(nodeClaim *karpv1.NodeClaim) (sets.Set[string], bool) {
	var tags []string
	err := json.Unmarshal([]byte(nodeClaim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]), &tags)
	if err != nil {
		tags = nil
	}
	return sets.New(tags...), err == nil
}

// removable returns the given tags that the class has had and that the provider does not manage. The given tags come from an annotation,
// in which a writer of NodeClaims could name any tag.
func removable(tags sets.Set[string], had []string) []string {
	return slices.DeleteFunc(sets.List(tags), func(tag string) bool { return !slices.Contains(had, tag) || v1alpha1.IsRestrictedTag(tag) })
}
