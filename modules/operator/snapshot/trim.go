package snapshot

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trim removes from all objects what no scheduling decision reads.
func (s *Snapshot) Trim() {
	for _, object := range s.Objects() {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		object.SetGenerateName("")
		object.SetAnnotations(deciding(object.GetAnnotations()))
	}
	for _, pod := range s.Pods {
		trimPod(&pod.Spec)
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: trimConditions(pod.Status.Conditions),
			StartTime: pod.Status.StartTime}
	}
	for _, set := range s.DaemonSets {
		set.Spec.Template.Annotations = deciding(set.Spec.Template.Annotations)
		trimPod(&set.Spec.Template.Spec)
	}
	for _, node := range s.Nodes {
		node.Status = corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable,
			Conditions: trimNodeConditions(node.Status.Conditions)}
	}
	for _, volume := range s.Volumes {
		if csi := volume.Spec.CSI; csi != nil {
			volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: csi.Driver, VolumeHandle: csi.VolumeHandle},
			}
		}
	}
	for _, class := range s.StorageClasses {
		class.Parameters = nil
	}
	for _, class := range s.NodeClasses {
		class.Annotations = nil
	}
}

// deciding keeps the annotations of Karpenter, and those by which Kubernetes chooses among pods.
func deciding(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return domain != "karpenter.sh" && !strings.HasSuffix(domain, ".karpenter.sh") && domain != "controller.kubernetes.io" &&
			domain != "storageclass.kubernetes.io" && domain != "volume.kubernetes.io" && domain != "pv.kubernetes.io"
	})
	return kept
}

// trimPod keeps of a pod its resources, ports on the host, claims and constraints.
func trimPod(spec *corev1.PodSpec) {
	trimContainers(spec.InitContainers)
	trimContainers(spec.Containers)
	spec.EphemeralContainers, spec.ImagePullSecrets, spec.HostAliases, spec.SecurityContext = nil, nil, nil, nil
	var volumes []corev1.Volume
	for _, volume := range spec.Volumes {
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			volumes = append(volumes, volume)
		}
	}
	spec.Volumes = volumes
}

func trimContainers(containers []corev1.Container) {
	for i, c := range containers {
		containers[i] = corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
	}
}

func trimConditions(conditions []corev1.PodCondition) (kept []corev1.PodCondition) {
	for _, c := range conditions {
		kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
	}
	return kept
}

func trimNodeConditions(conditions []corev1.NodeCondition) (kept []corev1.NodeCondition) {
	for _, c := range conditions {
		kept = append(kept, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: metav1.Time{}})
	}
	return kept
}
