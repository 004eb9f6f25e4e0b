package cloudprovider

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
)

// cheapest picks the instance type of the lowest price among those that meet the NodeClaim's requirements,
// hold its resources and can be bought; of two with the same price the first by name, so that the choice is
// the same every time. Prices are those of the instance types given, overlays applied.
//
// A requirement's minValues asks for a choice of so many values when the node is bought; strict means that without
// that choice nothing is bought, as core has it.
func cheapest(all []*cloudprovider.InstanceType, nodeClaim *karpv1.NodeClaim, strict bool) (*cloudprovider.InstanceType, error) {
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(nodeClaim.Spec.Requirements...)
	requests := launchRequests(nodeClaim)
	type candidate struct {
		instanceType *cloudprovider.InstanceType
		price        float64
	}
	var candidates []candidate
	var compatible, fitting []*cloudprovider.InstanceType
	for _, it := range all {
		if !wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels) {
			continue
		}
		compatible = append(compatible, it)
		if !resources.Fits(requests, it.Allocatable()) {
			continue
		}
		fitting = append(fitting, it)
		if offerings := it.Offerings.Available().Compatible(wanted); len(offerings) > 0 {
			candidates = append(candidates, candidate{it, offerings.Cheapest().Price})
		}
	}
	if err := requirement.Unmet(nodeClaim.Spec.Requirements, all); err != nil {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: %w", err)
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: of %d types %d meet its requirements, %s",
			len(all), len(compatible), unbuyable(requests, compatible, fitting))
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

// unbuyable returns why none of the types that meet the requirements can be bought: a resource of which none has enough, or
// that those which have enough are not available now.
func unbuyable(requests corev1.ResourceList, compatible, fitting []*cloudprovider.InstanceType) string {
	if len(fitting) > 0 {
		names := make([]string, 0, len(fitting))
		for _, it := range fitting {
			names = append(names, it.Name)
		}
		if more := len(names) - 5; more > 0 {
			names = append(names[:5], fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf("%d of them hold its resources, none of them is available now: %s", len(fitting), strings.Join(names, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		var most resource.Quantity
		for _, it := range compatible {
			if has := it.Allocatable()[name]; has.Cmp(most) > 0 {
				most = has
			}
		}
		if asked := requests[name]; asked.Cmp(most) > 0 {
			return fmt.Sprintf("none of them holds %s %s: the largest has %s", name, asked.String(), most.String())
		}
	}
	return "none of them holds all of its resources together"
}

// impossible returns why a NodePool can never get a node of these instance types, whatever is available and whatever pods
// ask for. Core's own event on such a NodePool does not name the requirement.
func impossible(all []*cloudprovider.InstanceType, nodePool *karpv1.NodePool, strict bool) error {
	requirements := nodePool.Spec.Template.Spec.Requirements
	if err := requirement.Unmet(requirements, all); err != nil || !strict {
		return err
	}
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(requirements...)
	compatible := cloudprovider.InstanceTypes(slices.DeleteFunc(slices.Clone(all), func(it *cloudprovider.InstanceType) bool {
		return !wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels)
	}))
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
