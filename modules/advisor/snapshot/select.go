package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Select keeps the nodes and NodeClaims that a selector matches, and the pods that are on these nodes or on no node.
func (s *Snapshot) Select(selector labels.Selector) {
	if selector.Empty() {
		return
	}
	kept := map[string]bool{"": true}
	s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n *corev1.Node) bool {
		kept[n.Name] = selector.Matches(labels.Set(n.Labels))
		return !kept[n.Name]
	})
	s.NodeClaims = slices.DeleteFunc(slices.Clone(s.NodeClaims), func(n *karpv1.NodeClaim) bool {
		return !selector.Matches(labels.Set(n.Labels))
	})
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return !kept[p.Spec.NodeName] })
}
