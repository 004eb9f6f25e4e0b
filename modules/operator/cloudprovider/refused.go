package cloudprovider

import (
	"context"
	"errors"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// sourceOf identifies what a launch is made from.
func sourceOf(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) launches.Source {
	return launches.Source{NodePool: launches.Version{UID: nodePool.UID, Generation: nodePool.Generation},
		NodeClass: launches.Version{UID: nodeClass.UID, Generation: nodeClass.Generation}}
}

// provenRefusal returns the field of a launch whose repetition can only be refused again: the API has refused the request itself, without
// an effect, and not because of the plan. While core repeats a launch it plans nothing, for any pod of the cluster.
func provenRefusal(err error) (field string, proven bool) {
	e, ok := errors.AsType[*claims.Error](err)
	if !ok || e.Kind != claims.KindInvalid || e.Effect != claims.EffectNone || e.Field == claims.FieldInstanceType {
		return "", false
	}
	return e.Field, true
}

// refuse keeps launches from being made of the NodePool, or of its class, until the refused object is changed, and reports why.
func (c *CloudProvider) refuse(l Launch, field, reason, message string) {
	c.refused.Note(sourceOf(l.NodePool, l.NodeClass), field, message)
	until := fmt.Sprintf("the NodePool or its LinodeNodeClass %s is changed", l.NodeClass.Name)
	if launches.OfClass(field) {
		until = fmt.Sprintf("the LinodeNodeClass %s is changed, for no NodePool of it", l.NodeClass.Name)
	}
	if field == claims.FieldPlacementGroups {
		c.limited.Set(l.NodePool.Name, true, limitMemory)
	}
	c.events.publish(l.NodePool, events.Event{Reason: reason, DedupeTimeout: launches.RefusalLasts, Message: fmt.Sprintf(
		"Launch refused, none is tried until %s, or for %s: %s", until, launches.RefusalLasts, message)})
}

// unrefused makes all plans unavailable for a NodePool whose launch is proven to be refused as it and its class are now.
func (c *CloudProvider) unrefused(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
	all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if _, is := c.refusal(nodePool, nodeClass); !is {
		return all
	}
	return without(all, func(string) bool { return true })
}

// refusal returns why no launch of the NodePool is tried, false if there is no such reason.
func (c *CloudProvider) refusal(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) (launches.Refusal, bool) {
	if nodePool == nil || nodeClass == nil {
		return launches.Refusal{}, false
	}
	return c.refused.Of(sourceOf(nodePool, nodeClass))
}

// ClassRefused returns why no launch from a class is tried, "" if they are.
func (c *CloudProvider) ClassRefused(nodeClass *v1alpha1.LinodeNodeClass) string {
	refusal, _ := c.refusal(&karpv1.NodePool{}, nodeClass)
	return refusal.Message
}

// Limited returns whether a launch of the NodePool was refused lately because of a limit of the account or the cluster, or because the
// placement groups of its class are full.
func (c *CloudProvider) Limited(ctx context.Context, nodePool *karpv1.NodePool) bool {
	if _, is := c.limited.Get(nodePool.Name); is {
		return true
	}
	refusal, _ := c.refusal(nodePool, c.objects.classOf(ctx, nodePool))
	return refusal.Field == claims.FieldPlacementGroups
}
