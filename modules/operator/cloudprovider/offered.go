package cloudprovider

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// offered returns the catalog's instance types for a NodePool and its class, either of which may be nil. It makes the types unavailable
// that the NodePool must not get now, and makes all types unavailable while the API refuses every launch of the NodePool. Core plans with
// the result, and Create buys from it; both apply NodeOverlays afterwards.
func (c *CloudProvider) offered(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) []*cloudprovider.InstanceType {
	var spec *v1alpha1.LinodeNodeClassSpec
	if nodeClass != nil {
		spec = &nodeClass.Spec
	}
	return c.buyable(nodePool, c.unrefused(nodePool, nodeClass, c.market.InstanceTypes(spec)))
}

// unrefused makes all plans unavailable if a launch with the current generations of the NodePool and its class was refused.
func (c *CloudProvider) unrefused(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
	all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	if _, is := c.refusal(nodePool, nodeClass); !is {
		return all
	}
	return without(all, func(string) bool { return true })
}

// buyable makes plans unavailable that the NodePool must not get now: plans whose launches failed lately, or all plans if no node of its
// template can become usable.
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

// overlaid applies the NodeOverlays with which core schedules: core has planned the node with their prices, and until the node joins it
// counts on the capacity that they promise.
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

// without makes the offerings of some instance types unavailable. These types stay in the list: core replaces nodes whose type the list
// lacks.
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

// withShortfalls reduces the types of which this NodePool had a node that was too small for its pods. The NodePool plans with the
// resources that the node had.
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
