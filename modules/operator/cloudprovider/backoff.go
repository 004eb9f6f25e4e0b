package cloudprovider

import (
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/backoff"
)

// launchPauses are those after launches that were given up. They stay short: a user who corrects the cause waits for the next one.
var launchPauses = []time.Duration{0, time.Minute}

// without returns the instance types with the offerings of some of them unavailable. They stay in the list: core replaces the nodes of a
// type that is not there.
func without(all []*cloudprovider.InstanceType, leftOut func(plan string) bool) []*cloudprovider.InstanceType {
	result := make([]*cloudprovider.InstanceType, 0, len(all))
	for _, it := range all {
		if leftOut(it.Name) {
			it = unavailable(it)
		}
		result = append(result, it)
	}
	return result
}

func unavailable(it *cloudprovider.InstanceType) *cloudprovider.InstanceType {
	result := &cloudprovider.InstanceType{Name: it.Name, Requirements: it.Requirements, Capacity: it.Capacity, Overhead: it.Overhead}
	for _, offering := range it.Offerings {
		result.Offerings = append(result.Offerings, &cloudprovider.Offering{Requirements: offering.Requirements, Price: offering.Price})
	}
	return result
}

// neverJoined returns whether a NodeClaim that is deleted had an instance for so long that its node should have joined. Core gives a
// registration up after 15 minutes.
func neverJoined(nodeClaim *karpv1.NodeClaim) bool {
	const joins = 14 * time.Minute
	launched, registered := nodeClaim.StatusConditions().Get(karpv1.ConditionTypeLaunched), nodeClaim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	return launched.IsTrue() && !registered.IsTrue() && time.Since(launched.LastTransitionTime.Time) > joins
}

// Failures returns what of a NodePool fails, until a node joins.
func (c *CloudProvider) Failures(nodePool string) []backoff.Failure {
	return c.backoff.Failures(nodePool)
}

// limitMemory is for how long a refusal because of the account's or the cluster's limit counts as the reason why nothing can surge.
const limitMemory = 15 * time.Minute

// Limited returns whether a launch of the NodePool was refused lately because of a limit of the account or the cluster.
func (c *CloudProvider) Limited(nodePool string) bool {
	_, is := c.limited.Get(nodePool)
	return is
}
