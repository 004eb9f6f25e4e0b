// Package podusage computes the requests that containers would have if their requests followed their use.
//
// There are two sources. Measured uses PodMetrics of metrics-server: for each container, a percentile over all readings of all pods of the
// workload. Recommended uses the targets of VerticalPodAutoscalers. Both add headroom, a share: 0.15 turns 100m into 115m.
//
// Guarantees: functions are pure, and the same objects give the same requests. CPU is rounded up to millicores and memory to MiB. A
// container without a reading or target keeps its requests. No request exceeds the container's limit, because the API server would refuse
// such a pod. Only CPU and memory change.
//
// Not guaranteed: that a workload runs well with these requests. A reading of metrics-server is an average over seconds.
//
// The callers are the program karpenter-linode and package whatif, for whatif --use.
//
// The percentile is above 0 and at most 100. A ReplicaSet whose name ends in the hash of the pod's template belongs to a Deployment. A pod
// without a controller is itself a workload.
package podusage

import (
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Workload is the owner of pods: a Deployment, another controller, or the pod itself if no controller owns it.
type Workload struct {
	Kind, Namespace, Name string
}

func (w Workload) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// WorkloadOf returns the workload of a pod. A ReplicaSet whose name ends in the pod's template hash belongs to a Deployment.
func WorkloadOf(pod *corev1.Pod) Workload {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return Workload{"Pod", pod.Namespace, pod.Name}
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" && owner.Kind == "ReplicaSet" {
		if deployment, ok := strings.CutSuffix(owner.Name, "-"+hash); ok {
			return Workload{"Deployment", pod.Namespace, deployment}
		}
	}
	return Workload{owner.Kind, pod.Namespace, owner.Name}
}

// Requests has the requests of the containers of workloads, by the container's name.
type Requests map[Workload]map[string]corev1.ResourceList

func (r Requests) set(w Workload, container string, name corev1.ResourceName, amount float64) {
	if r[w] == nil {
		r[w] = map[string]corev1.ResourceList{}
	}
	if r[w][container] == nil {
		r[w][container] = corev1.ResourceList{}
	}
	r[w][container][name] = rounded(name, amount)
}

var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

const mebibyte = 1 << 20

// rounded rounds cores up to millicores, and bytes up to MiB. noise keeps an error of floating point, such as 100.0000000001 millicores,
// from being rounded up to 101.
func rounded(name corev1.ResourceName, amount float64) resource.Quantity {
	const noise = 1e-9
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(int64(math.Ceil(amount*1000-noise)), resource.DecimalSI)
	}
	return *resource.NewQuantity(int64(math.Ceil(amount/mebibyte-noise))*mebibyte, resource.BinarySI)
}

// Measured returns, for each container of a workload, the percentile of its readings plus headroom. percentile is above 0 and at most 100.
// Measured ignores readings of pods that are not in pods.
func Measured(pods []*corev1.Pod, readings []*v1beta1.PodMetrics, percentile, headroom float64) Requests {
	type measured struct {
		workload  Workload
		container string
		resource  corev1.ResourceName
	}
	workloads, values := map[types.NamespacedName]Workload{}, map[measured][]float64{}
	for _, pod := range pods {
		workloads[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = WorkloadOf(pod)
	}
	for _, reading := range readings {
		workload, known := workloads[types.NamespacedName{Namespace: reading.Namespace, Name: reading.Name}]
		if !known {
			continue
		}
		for _, container := range reading.Containers {
			for _, name := range counted {
				if used, ok := container.Usage[name]; ok {
					key := measured{workload, container.Name, name}
					values[key] = append(values[key], used.AsApproximateFloat64())
				}
			}
		}
	}
	requests := Requests{}
	for key, all := range values {
		slices.Sort(all)
		rank := int(math.Ceil(percentile / 100 * float64(len(all))))
		requests.set(key.workload, key.container, key.resource, all[min(max(rank, 1), len(all))-1]*(1+headroom))
	}
	return requests
}

// Recommended returns the targets of VerticalPodAutoscalers plus headroom. The bounds of the autoscalers' policies are already in the
// targets.
func Recommended(autoscalers []*vpav1.VerticalPodAutoscaler, headroom float64) Requests {
	requests := Requests{}
	for _, vpa := range autoscalers {
		if vpa.Spec.TargetRef == nil || vpa.Status.Recommendation == nil {
			continue
		}
		workload := Workload{vpa.Spec.TargetRef.Kind, vpa.Namespace, vpa.Spec.TargetRef.Name}
		for _, container := range vpa.Status.Recommendation.ContainerRecommendations {
			for _, name := range counted {
				if target, ok := container.Target[name]; ok {
					requests.set(workload, container.ContainerName, name, target.AsApproximateFloat64()*(1+headroom))
				}
			}
		}
	}
	return requests
}

// Pod returns a copy of a pod with these requests, and whether Requests has an entry for a container of the pod.
func (r Requests) Pod(pod *corev1.Pod) (*corev1.Pod, bool) {
	pod = pod.DeepCopy()
	return pod, change(&pod.Spec, r[WorkloadOf(pod)])
}

// DaemonSet returns a copy of a DaemonSet whose pods have these requests.
func (r Requests) DaemonSet(set *appsv1.DaemonSet) *appsv1.DaemonSet {
	set = set.DeepCopy()
	change(&set.Spec.Template.Spec, r[Workload{"DaemonSet", set.Namespace, set.Name}])
	return set
}

// change sets the requests of containers and sidecars, which run at the same time. It leaves other init containers as they are, because
// these end before the containers start. It returns whether requests has an entry for a container that is no init container.
func change(pod *corev1.PodSpec, requests map[string]corev1.ResourceList) bool {
	known := false
	for i := range pod.InitContainers {
		if policy := pod.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			set(&pod.InitContainers[i], requests)
		}
	}
	for i := range pod.Containers {
		known = set(&pod.Containers[i], requests) || known
	}
	if pod.Resources == nil {
		return known
	}
	for _, name := range counted { // a request of the whole pod would override the new requests of its containers
		if !slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { _, ok := requests[c.Name][name]; return !ok }) {
			delete(pod.Resources.Requests, name)
		}
	}
	return known
}

func set(container *corev1.Container, requests map[string]corev1.ResourceList) bool {
	own := requests[container.Name]
	for name, amount := range own {
		if limit, limited := container.Resources.Limits[name]; limited && limit.Cmp(amount) < 0 {
			amount = limit
		}
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		container.Resources.Requests[name] = amount
	}
	return len(own) > 0
}
