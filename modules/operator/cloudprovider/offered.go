package cloudprovider

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// offered returns the instance types for a NodePool and its class, either of which may be nil: the catalog's types. None is available while
// a launch can only be refused; otherwise the types that the NodePool must not get now are left out. Core plans with them, and Create buys
// from them; NodeOverlays come after.
func (c *CloudProvider) offered(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) []*cloudprovider.InstanceType {
	var spec *v1alpha1.LinodeNodeClassSpec
	if nodeClass != nil {
		spec = &nodeClass.Spec
	}
	return c.buyable(nodePool, c.unrefused(nodePool, nodeClass, c.market.InstanceTypes(spec)))
}

// unrefused makes all plans unavailable for a NodePool whose launch is proven to be refused as it and its class are now.
func (c *CloudProvider) unrefused(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
	all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if _, is := c.refusal(nodePool, nodeClass); !is {
		return all
	}
	return without(all, func(string) bool { return true })
}

// buyable takes out what the NodePool must not get now: plans that failed lately, and all when its template cannot be made.
func (c *CloudProvider) buyable(nodePool *karpv1.NodePool, all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if nodePool == nil {
		return all
	}
	if err := reservedTaint(nodePool); err != nil {
		c.events.nothingToBuy(nodePool, fmt.Errorf("this NodePool gets no nodes: %w", err))
		return without(all, func(string) bool { return true })
	}
	return c.withShortfalls(nodePool.Name,
		without(c.withOverlaidPrices(nodePool, all), func(plan string) bool { return c.launches.Pausing(nodePool.Name, plan) }))
}

// overlaid applies the NodeOverlays that core schedules with: it has chosen the node's place by their prices, and counts
// on the capacity that they promise while the node is on its way.
func (c *CloudProvider) overlaid(nodePool *karpv1.NodePool, all []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) {
	if c.cfg.Overlays == nil || nodePool == nil {
		return all, nil
	}
	result, err := c.cfg.Overlays.ApplyAll(nodePool.Name, all)
	if err != nil {
		return nil, cloudprovider.NewCreateError(fmt.Errorf("applying the NodeOverlays of NodePool %s: %w", nodePool.Name, err),
			"NodeOverlaysNotEvaluated", "The NodeOverlays are not evaluated yet; trying again")
	}
	return result, nil
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

// withShortfalls plans with what nodes of the NodePool had, where they were too small.
func (c *CloudProvider) withShortfalls(nodePool string, all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	for i, it := range all {
		if had, is := c.launches.Shortfall(launches.Target{NodePool: nodePool, Plan: it.Name}); is {
			all[i] = shortened(it, had)
		}
	}
	return all
}

// shortened returns the instance type with at most the allocatable resources that a node of it had.
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
