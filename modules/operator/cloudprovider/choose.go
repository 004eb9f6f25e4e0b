package cloudprovider

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// Cheapest returns the instance type that Create buys for a NodeClaim, for programs that explain or predict it.
func Cheapest(all []*cloudprovider.InstanceType, nodeClaim *karpv1.NodeClaim) (*cloudprovider.InstanceType, error) {
	return cheapest(all, nodeClaim, true)
}

// cheapest picks the instance type of the lowest price among the types that meet the NodeClaim's requirements, hold its resources and can
// be bought. Of two types with the same price it picks the first by name, so that the choice is the same every time. The caller has
// applied NodeOverlays to the prices in all. If strict is set, as in core's policy Strict, cheapest returns an error unless the candidates
// satisfy minValues.
func cheapest(all []*cloudprovider.InstanceType, nodeClaim *karpv1.NodeClaim, strict bool) (*cloudprovider.InstanceType, error) {
	requests, wanted := launchRequests(nodeClaim), scheduling.NewNodeSelectorRequirementsWithMinValues(nodeClaim.Spec.Requirements...)
	compatible := requirement.Meeting(nodeClaim.Spec.Requirements, all)
	fitting := lo.Filter(compatible, func(it *cloudprovider.InstanceType, _ int) bool { return resources.Fits(requests, it.Allocatable()) })
	candidates := fitting.Compatible(wanted)
	if err := requirement.Unmet(nodeClaim.Spec.Requirements, all); err != nil {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: %w", err)
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: %d of %d types meet its requirements, and %s",
			len(compatible), len(all), unbuyable(requests, compatible, fitting))
	}
	if _, _, err := candidates.SatisfiesMinValues(wanted); err != nil && strict {
		return nil, fmt.Errorf("no Linode type can be bought for the NodeClaim: only %d types are available, too few for its minValues: %w",
			len(candidates), err)
	}
	price := func(it *cloudprovider.InstanceType) float64 {
		return it.Offerings.Available().Compatible(wanted).Cheapest().Price
	}
	return slices.MinFunc(candidates, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Or(cmp.Compare(price(a), price(b)), cmp.Compare(a.Name, b.Name))
	}), nil
}

// launchRequests returns the resources that the plan must hold. A NodeOverlay can promise resources that no plan has. Core has already
// counted such resources, so launchRequests leaves them out.
func launchRequests(nodeClaim *karpv1.NodeClaim) corev1.ResourceList {
	requests := nodeClaim.Spec.Resources.Requests
	if nodeClaim.Annotations[karpv1alpha1.CapacityOverlayAppliedAnnotationKey] == "" {
		return requests
	}
	return lo.PickBy(requests, func(name corev1.ResourceName, _ resource.Quantity) bool { return karpv1.WellKnownResources.Has(name) })
}

func find(all []*cloudprovider.InstanceType, name string) *cloudprovider.InstanceType {
	it, _ := lo.Find(all, func(it *cloudprovider.InstanceType) bool { return it.Name == name })
	return it
}
