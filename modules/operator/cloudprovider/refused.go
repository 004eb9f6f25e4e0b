package cloudprovider

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// refusedFor bounds for how long a refusal counts while nothing is changed: its cause may be outside of the cluster, and corrected there.
const refusedFor = 5 * time.Minute

// fullGroup names the field of a placement group that takes no Linode more.
const fullGroup = "Spec.PlacementGroup"

// generations identifies what a launch was made from.
type generations struct {
	nodePool, nodeClass           types.UID
	nodePoolVersion, classVersion int64
}

func generationsOf(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) generations {
	return generations{nodePool.UID, nodeClass.UID, nodePool.Generation, nodeClass.Generation}
}

// provenRefusal returns whether a repetition of the launch can only be refused again: the API has refused the request itself, without an
// effect, and not because of the plan. While core repeats a launch it plans nothing, for any pod of the cluster.
func provenRefusal(err error) bool {
	e, ok := errors.AsType[*claims.Error](err)
	return ok && e.Kind == claims.KindInvalid && e.Effect == claims.EffectNone && e.Field != claims.FieldInstanceType
}

// ofFullGroup returns whether a placement group has no room, so that drifted nodes cannot be replaced either.
func ofFullGroup(err error) bool {
	e, ok := errors.AsType[*claims.Error](err)
	return ok && e.Field == fullGroup
}

// refuse keeps the NodePool from launching until it or its class is changed, and reports why.
func (c *CloudProvider) refuse(l Launch, reason, message string) {
	c.refused.Set(l.NodePool.Name, generationsOf(l.NodePool, l.NodeClass), refusedFor)
	c.publish(l.NodePool, events.Event{Reason: reason, DedupeTimeout: refusedFor, Message: fmt.Sprintf(
		"Launch refused, none is tried until the NodePool or its LinodeNodeClass %s is changed, or for %s: %s", l.NodeClass.Name, refusedFor,
		message)})
}

// unrefused makes all plans unavailable for a NodePool whose launch is proven to be refused as it and its class are now.
func (c *CloudProvider) unrefused(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
	all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if nodePool == nil {
		return all
	}
	if of, is := c.refused.Get(nodePool.Name); !is || of != generationsOf(nodePool, nodeClass) {
		return all
	}
	return without(all, func(string) bool { return true })
}
