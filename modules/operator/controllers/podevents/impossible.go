package podevents

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

// impossible returns a message about a request that is larger than any node, "" if the pod has no such request. Package quantity has
// reduced such a request to its bound.
func impossible(pod *corev1.Pod) string {
	requests := resources.RequestsForPods(pod)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if quantity.AtMax(requests[name]) {
			return fmt.Sprintf("Karpenter makes no node for this pod: it requests %.64s of %d or more, which no node can have; correct "+
				"spec.containers[].resources.requests", name, int64(quantity.Max))
		}
	}
	return ""
}
