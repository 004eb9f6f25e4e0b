package cloudprovider

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// cheapest picks the instance type of the lowest price among those that meet the NodeClaim's requirements,
// hold its resources and can be bought; of two with the same price the first by name, so that the choice is
// the same every time. Prices are those of the instance types given, overlays applied.
//
// A requirement's minValues asks for a choice of so many values when the node is bought; strict says that without
// that choice nothing is bought, as core has it.
func cheapest(all []*cloudprovider.InstanceType, nodeClaim *karpv1.NodeClaim, strict bool) (*cloudprovider.InstanceType, error) {
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(nodeClaim.Spec.Requirements...)
	requests := launchRequests(nodeClaim)
	type candidate struct {
		instanceType *cloudprovider.InstanceType
		price        float64
	}
	var candidates []candidate
	compatible, fitting := 0, 0
	for _, it := range all {
		if !wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels) {
			continue
		}
		compatible++
		if !resources.Fits(requests, it.Allocatable()) {
			continue
		}
		fitting++
		if offerings := it.Offerings.Available().Compatible(wanted); len(offerings) > 0 {
			candidates = append(candidates, candidate{it, offerings.Cheapest().Price})
		}
	}
	if err := onDemand(wanted); err != nil {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: %w", err)
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: of %d types %d meet its requirements, %d of them hold its resources, none of them is available",
			len(all), compatible, fitting)
	}
	if strict {
		var choice cloudprovider.InstanceTypes
		for _, c := range candidates {
			choice = append(choice, c.instanceType)
		}
		if _, _, err := choice.SatisfiesMinValues(wanted); err != nil {
			return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: %d can be, which is not the choice that it asks for: %w", len(candidates), err)
		}
	}
	return slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.instanceType.Name, b.instanceType.Name))
	}).instanceType, nil
}

// onDemand refuses requirements that leave no room for the one capacity type that there is.
func onDemand(wanted scheduling.Requirements) error {
	if capacityType := wanted.Get(karpv1.CapacityTypeLabelKey); !capacityType.Has(karpv1.CapacityTypeOnDemand) {
		return fmt.Errorf("the capacity type on-demand alone exists at Linode, and required is %s", capacityType)
	}
	return nil
}

// impossible says why a NodePool can never get a node of these instance types, whatever is available and whatever pods
// ask for. Core leaves such a NodePool out without a word to its user.
func impossible(all []*cloudprovider.InstanceType, nodePool *karpv1.NodePool, strict bool) error {
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(nodePool.Spec.Template.Spec.Requirements...)
	if err := onDemand(wanted); err != nil {
		return err
	}
	var compatible cloudprovider.InstanceTypes
	for _, it := range all {
		if wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels) {
			compatible = append(compatible, it)
		}
	}
	if len(compatible) == 0 {
		return fmt.Errorf("none of %d Linode types meets the requirements of its template", len(all))
	}
	if !strict {
		return nil
	}
	_, _, err := compatible.SatisfiesMinValues(wanted)
	return err
}

// launchRequests is what the instance must hold. A NodeOverlay can promise resources that no plan has: core
// has counted them already, and the plan is judged by the resources it does have.
func launchRequests(nodeClaim *karpv1.NodeClaim) corev1.ResourceList {
	requests := nodeClaim.Spec.Resources.Requests
	if nodeClaim.Annotations[karpv1alpha1.CapacityOverlayAppliedAnnotationKey] == "" {
		return requests
	}
	known := corev1.ResourceList{}
	for name, quantity := range requests {
		if karpv1.WellKnownResources.Has(name) {
			known[name] = quantity
		}
	}
	return known
}

func find(all []*cloudprovider.InstanceType, name string) *cloudprovider.InstanceType {
	for _, it := range all {
		if it.Name == name {
			return it
		}
	}
	return nil
}
