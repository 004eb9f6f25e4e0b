package cloudprovider

import (
	"fmt"
	"maps"
	"slices"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// unbuyable returns why no type that meets the requirements can be bought: no type has enough of a resource, or the types with enough
// resources are not available now.
func unbuyable(requests corev1.ResourceList, compatible, fitting []*cloudprovider.InstanceType) string {
	if len(fitting) > 0 {
		names := lo.Map(fitting, func(it *cloudprovider.InstanceType, _ int) string { return it.Name })
		return fmt.Sprintf("%d of these have enough resources, but none is available now: %s", len(fitting), requirement.List(names))
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		var most resource.Quantity
		for _, it := range compatible {
			if has := it.Allocatable()[name]; has.Cmp(most) > 0 {
				most = has
			}
		}
		if asked := requests[name]; asked.Cmp(most) > 0 {
			return fmt.Sprintf("none of these has %s %s (the largest has %s)", name, asked.String(), most.String())
		}
	}
	return "none of these has enough of all its resources"
}

// impossible returns why a NodePool can never get a node of these instance types. It ignores availability and the requests of pods. Core's
// own event on such a NodePool does not name the requirement.
func impossible(all []*cloudprovider.InstanceType, nodePool *karpv1.NodePool, strict bool) error {
	requirements := nodePool.Spec.Template.Spec.Requirements
	if err := requirement.Unmet(requirements, all); err != nil || !strict {
		return err
	}
	_, _, err := requirement.Meeting(requirements,
		all).SatisfiesMinValues(scheduling.NewNodeSelectorRequirementsWithMinValues(requirements...))
	return err
}

// reservedTaint refuses a NodePool whose template has a taint that Karpenter itself uses: such nodes would never be usable.
func reservedTaint(nodePool *karpv1.NodePool) error {
	for _, t := range slices.Concat(nodePool.Spec.Template.Spec.Taints, nodePool.Spec.Template.Spec.StartupTaints) {
		if t.Key == karpv1.UnregisteredTaintKey || t.Key == karpv1.DisruptedTaintKey {
			return fmt.Errorf("its template has the taint %s, which only Karpenter may set: remove it from the template", t.Key)
		}
	}
	return nil
}
