package podevents

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// elsewhere returns a message about a pod that requires a zone which no plan has, such as a zone of another cloud. It returns "" if a zone
// of the plans meets the requirement. Core's event lists all requirements and does not explain that the zone is the region.
func elsewhere(pod *corev1.Pod, bounds []bound) string {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil &&
		len(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) > 1 {
		return "" // core tries one term after the other
	}
	wanted := scheduling.NewStrictPodRequirements(pod)
	zones := zonesOf(bounds)
	if !wanted.Has(corev1.LabelTopologyZone) || len(zones) == 0 || slices.ContainsFunc(zones, wanted.Get(corev1.LabelTopologyZone).Has) {
		return ""
	}
	return fmt.Sprintf("No node can meet the pod's requirement %s: at Linode a zone is the region, here %s",
		wanted.Get(corev1.LabelTopologyZone), strings.Join(zones, ", "))
}

// zonesOf returns the zones of all offerings, sorted.
func zonesOf(bounds []bound) []string {
	zones := map[string]bool{}
	for _, b := range bounds {
		for _, it := range slices.Concat(b.within, b.beyond) {
			for _, zone := range offered(it) {
				zones[zone] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

func offered(it *cloudprovider.InstanceType) (zones []string) {
	for _, offering := range it.Offerings {
		if offering.Requirements.Has(corev1.LabelTopologyZone) {
			zones = append(zones, offering.Requirements.Get(corev1.LabelTopologyZone).Values()...)
		}
	}
	return zones
}
