package explain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/surge"
)

// single adds the workloads whose only pod is on the node, and which are down while this pod moves. It also names the workloads among
// them that can surge.
func (e Explainer) single(x *Explanation, node *corev1.Node) {
	pods := map[metav1.OwnerReference]int{}
	for _, pod := range e.Cluster.Pods {
		if owner := ownerOf(pod); owner.UID != "" {
			pods[owner]++
		}
	}
	var here []*corev1.Pod
	for _, pod := range e.Cluster.Pods {
		if pod.Spec.NodeName == node.Name && pods[ownerOf(pod)] == 1 {
			here = append(here, pod)
		}
	}
	slices.SortFunc(here, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range here {
		switch owner := ownerOf(pod); owner.Kind {
		case "StatefulSet":
			x.add("Pod %s/%s is the only one of StatefulSet %s, which is down while it moves: a StatefulSet cannot surge.",
				pod.Namespace, pod.Name, owner.Name)
		case "ReplicaSet":
			x.add("Pod %s/%s is the only one of ReplicaSet %s, which is down while it moves, unless its Deployment can surge and has the "+
				"annotation %s.",
				pod.Namespace, pod.Name, owner.Name, surge.Annotation)
		}
	}
}

// ownerOf returns the controller of a pod in a comparable form, empty if the pod has none.
func ownerOf(pod *corev1.Pod) metav1.OwnerReference {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return metav1.OwnerReference{}
	}
	return metav1.OwnerReference{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}
