package cloudprovider

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// shortfallTTL is for how long a NodePool plans with the node that was too small. By then a second node of the plan has taught the
// catalog, or the next one is tried.
const shortfallTTL = 6 * time.Hour

// TooSmall notes a registered node that cannot hold the pods that its NodeClaim was made for. Without that, core would buy the same plan
// for them again and again: its NodePool plans with what the node has instead. Only this NodePool, because one kubelet's report is no
// proof.
func (c *CloudProvider) TooSmall(ctx context.Context, nodeClaim *karpv1.NodeClaim, node *corev1.Node) {
	plan, name := nodeClaim.Labels[corev1.LabelInstanceTypeStable], nodeClaim.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return
	}
	c.shortfalls.Set(launches.Target{NodePool: name, Plan: plan}, node.Status.Allocatable.DeepCopy(), shortfallTTL)
	nodePool, err := c.objects.nodePoolOf(ctx, nodeClaim)
	if err != nil {
		return // it is called again with the next change of the NodeClaim
	}
	allocatable := node.Status.Allocatable
	c.events.publish(nodePool, events.Event{
		Reason: EventNodeTooSmall, DedupeValues: []string{nodeClaim.Name}, DedupeTimeout: shortfallTTL,
		Message: fmt.Sprintf("Node %s, a %s, has allocatable cpu %s, memory %s, ephemeral-storage %s and %s pods, which is less than the pods "+
			"need that NodeClaim %s was made for; "+
			"the NodePool plans with what it has", node.Name, plan, allocatable.Cpu(), allocatable.Memory(), allocatable.StorageEphemeral(),
			allocatable.Pods(), nodeClaim.Name),
	})
}

// without makes the offerings of some of the instance types unavailable. They stay in the list: core replaces the nodes of a type that is
// not there.
func without(all []*cloudprovider.InstanceType, leftOut func(plan string) bool) []*cloudprovider.InstanceType {
	for i, it := range all {
		if leftOut(it.Name) {
			all[i] = it.DeepCopy()
			for _, offering := range all[i].Offerings {
				offering.Available = false
			}
		}
	}
	return all
}

// shortened returns the instance type with no more to allocate than a node of it had.
func shortened(it *cloudprovider.InstanceType, had corev1.ResourceList) *cloudprovider.InstanceType {
	short := it.DeepCopy()
	for name, quantity := range it.Allocatable() {
		if is, known := had[name]; known && quantity.Cmp(is) > 0 {
			quantity.Sub(is)
			quantity.Add(short.Overhead.KubeReserved[name])
			short.Overhead.KubeReserved[name] = quantity
		}
	}
	return short
}

// withShortfalls plans with what nodes of the NodePool had, where they were too small.
func (c *CloudProvider) withShortfalls(nodePool string, all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	for i, it := range all {
		if had, is := c.shortfalls.Get(launches.Target{NodePool: nodePool, Plan: it.Name}); is {
			all[i] = shortened(it, had.(corev1.ResourceList)) //nolint:forcetypeassert // nothing else is in it
		}
	}
	return all
}
