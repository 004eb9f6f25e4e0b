package explain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/surge"
)

// single names the workloads that are down while the node's pods move, because their only pod is on it, and which of them can surge.
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

// ownerOf is the controller of a pod, comparable, and empty without one.
func ownerOf(pod *corev1.Pod) metav1.OwnerReference {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return metav1.OwnerReference{}
	}
	return metav1.OwnerReference{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
}
