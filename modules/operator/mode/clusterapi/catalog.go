package clusterapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	ours "github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// market is the cloudprovider.Catalog of this mode. It has the instance types of the deployments that a class selects: several
// deployments of one type are one instance type with several offerings. Sizes, learned sizes and prices come from Linode's catalogue.
type market struct {
	ours.Catalog
	view   *view
	region string
}

// InstanceTypes implements cloudprovider.Catalog.
func (c *market) InstanceTypes(class *v1alpha1.LinodeNodeClassSpec) []*cloudprovider.InstanceType {
	listed := c.Catalog.InstanceTypes(class)
	var result []*cloudprovider.InstanceType
	for _, d := range c.view.selected(class) {
		if d.instanceType == "" {
			continue
		}
		if n := len(result); n == 0 || result[n-1].Name != d.instanceType {
			base := c.base(d, listed)
			if base == nil {
				continue
			}
			result = append(result, base)
		}
		is := result[len(result)-1]
		is.Offerings = append(is.Offerings, c.offering(d, listed))
	}
	return result
}

// base returns the instance type of a deployment, without offerings. It returns nil for a Linode plan that the catalogue does not list.
func (c *market) base(d deployment, listed []*cloudprovider.InstanceType) *cloudprovider.InstanceType {
	if it := find(listed, d.instanceType); it != nil {
		return &cloudprovider.InstanceType{Name: it.Name, Requirements: it.Requirements, Capacity: it.Capacity, Overhead: it.Overhead,
			VolumeAttachmentLimits: it.VolumeAttachmentLimits}
	}
	if d.capacity == nil {
		return nil
	}
	is := func(key, value string) *scheduling.Requirement {
		return scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value)
	}
	return &cloudprovider.InstanceType{
		Name: d.instanceType,
		Requirements: scheduling.NewRequirements(is(corev1.LabelInstanceTypeStable, d.instanceType),
			is(corev1.LabelArchStable, karpv1.ArchitectureAmd64), is(corev1.LabelOSStable, string(corev1.Linux)),
			is(corev1.LabelTopologyRegion, c.region), is(corev1.LabelTopologyZone, c.region),
			is(karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand)),
		Capacity: d.capacity, Overhead: &cloudprovider.InstanceTypeOverhead{},
	}
}

// offering returns the offering of one deployment.
func (c *market) offering(d deployment, listed []*cloudprovider.InstanceType) *cloudprovider.Offering {
	o := &cloudprovider.Offering{
		Requirements: scheduling.NewRequirements(
			scheduling.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand),
			scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, c.region),
			scheduling.NewRequirement(corev1.LabelTopologyRegion, corev1.NodeSelectorOpIn, c.region)),
		Price: d.price, Available: d.unusable() == "",
	}
	if _, resting := c.Launches().Resting(d.instanceType); resting {
		o.Available = false
	}
	if it := find(listed, d.instanceType); it != nil && len(it.Offerings) > 0 {
		// The catalogue makes a plan without a list price unavailable. With a contract price the plan can be used.
		if o.Price == 0 {
			o.Price = it.Offerings[0].Price
			o.Available = o.Available && it.Offerings[0].Available
		} else if it.Offerings[0].Price > 0 {
			o.Available = o.Available && it.Offerings[0].Available
		}
	}
	return o
}

// Unpriced returns the plans of deployments that could be used if their price were known.
func (c *market) Unpriced() []string {
	return slices.DeleteFunc(c.Catalog.Unpriced(), func(plan string) bool {
		return !slices.ContainsFunc(c.view.selected(nil), func(d deployment) bool { return d.instanceType == plan && d.price == 0 })
	})
}

func find(all []*cloudprovider.InstanceType, name string) *cloudprovider.InstanceType {
	for _, it := range all {
		if it.Name == name {
			return it
		}
	}
	return nil
}
