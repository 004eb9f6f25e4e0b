package workload

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// field is a field of the pod, as the downward API names it.
func field(pod *corev1.Pod, path string) (string, error) {
	if key, found := subscript(path, "metadata.labels"); found {
		return pod.Labels[key], nil
	}
	if key, found := subscript(path, "metadata.annotations"); found {
		return pod.Annotations[key], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return pod.Status.HostIP, nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	default:
		return "", fmt.Errorf("field %q is not one of the downward API's", path)
	}
}

// subscript reads the key of path['key'].
func subscript(path, field string) (string, bool) {
	rest, found := strings.CutPrefix(path, field+"['")
	if !found {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}

// resource is a limit or request of the container in units of the divisor, rounded up. If
// the container has no such limit, it is the node's allocatable amount.
func (r *resolver) resource(ref *corev1.ResourceFieldSelector) (string, error) {
	container := r.container
	if ref.ContainerName != "" && ref.ContainerName != container.Name {
		return "", fmt.Errorf("resource of another container (%s)", ref.ContainerName)
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	lists := map[string]corev1.ResourceList{"limits": container.Resources.Limits, "requests": container.Resources.Requests}
	list, known := lists[kind]
	if !known {
		return "", fmt.Errorf("resource %q is neither a limit nor a request", ref.Resource)
	}
	quantity, set := list[corev1.ResourceName(name)]
	if !set && kind == "limits" && r.node != nil {
		quantity = r.node.Status.Allocatable[corev1.ResourceName(name)]
	}
	return strconv.FormatInt(divide(quantity, ref.Divisor, name), 10), nil
}

// divide rounds up: a tenth of a CPU is one CPU for a program that counts whole CPUs.
func divide(quantity, divisor resource.Quantity, name string) int64 {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	n, d := quantity.Value(), divisor.Value()
	if name == string(corev1.ResourceCPU) {
		n, d = quantity.MilliValue(), divisor.MilliValue()
	}
	return (n + d - 1) / d
}
