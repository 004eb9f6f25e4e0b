package podusage_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/podusage"
)

func amounts(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

// ofDeployment is a pod of the Deployment web with the containers main and log.
func ofDeployment(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"pod-template-hash": "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d4f", Controller: ptr.To(true)}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "main", Resources: corev1.ResourceRequirements{Requests: amounts("1", "1Gi")}},
			{Name: "log", Resources: corev1.ResourceRequirements{Requests: amounts("100m", "100Mi")}},
		}},
	}
}

func reading(pod, container, cpu, memory string) *v1beta1.PodMetrics {
	return &v1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod},
		Containers: []v1beta1.ContainerMetrics{{Name: container, Usage: amounts(cpu, memory)}}}
}

// requested writes the requests of all containers of a pod.
func requested(pod *corev1.Pod) (text string) {
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		text += fmt.Sprintf("%s %s %s ", c.Name, c.Resources.Requests.Cpu(), c.Resources.Requests.Memory())
	}
	return text
}

func TestAWorkloadIsWhatOwnsThePod(t *testing.T) {
	owned := func(kind, name, hash string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", Labels: map[string]string{}}}
		if hash != "" {
			pod.Labels["pod-template-hash"] = hash
		}
		if kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "x"}, {Kind: kind, Name: name, Controller: ptr.To(true)}}
		}
		return pod
	}
	for want, pod := range map[string]*corev1.Pod{
		"Deployment a/web":      owned("ReplicaSet", "web-5d4f", "5d4f"),
		"ReplicaSet a/web-5d4f": owned("ReplicaSet", "web-5d4f", ""),
		"ReplicaSet a/web":      owned("ReplicaSet", "web", "5d4f"),
		"StatefulSet a/db":      owned("StatefulSet", "db", ""),
		"Pod a/p":               owned("", "", "5d4f"),
	} {
		if got := podusage.WorkloadOf(pod).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMeasuredIsAPercentileOfAllReadingsOfAWorkload(t *testing.T) {
	pods := []*corev1.Pod{ofDeployment("a"), ofDeployment("b")}
	var readings []*v1beta1.PodMetrics
	for i := range 10 { // 100m to 1000m, in pods of one workload in turn
		readings = append(readings, reading([]string{"a", "b"}[i%2], "main", fmt.Sprintf("%dm", 1000-100*i), fmt.Sprintf("%dMi", 100+i)))
	}
	readings = append(readings, reading("gone", "main", "9", "9Gi"))
	for _, c := range []struct {
		percentile, headroom float64
		want                 string
	}{
		{50, 0, "main 500m 104Mi log 100m 100Mi "},
		{90, 0, "main 900m 108Mi log 100m 100Mi "},
		{95, 0, "main 1 109Mi log 100m 100Mi "},
		{100, 0, "main 1 109Mi log 100m 100Mi "},
		{0.1, 0, "main 100m 100Mi log 100m 100Mi "},
		{50, 0.15, "main 575m 120Mi log 100m 100Mi "},
		{50, 1, "main 1 208Mi log 100m 100Mi "},
	} {
		changed, known := podusage.Measured(pods, readings, c.percentile, c.headroom).Pod(pods[0])
		if got := requested(changed); got != c.want || !known {
			t.Errorf("percentile %v, headroom %v: %q %v, want %q", c.percentile, c.headroom, got, known, c.want)
		}
	}
	if got := requested(pods[0]); got != "main 1 1Gi log 100m 100Mi " {
		t.Errorf("the pod itself was changed: %q", got)
	}
}

func TestAmountsAreRoundedUp(t *testing.T) {
	pod := ofDeployment("a")
	for use, want := range map[[2]string]string{
		{"1n", "1"}: "main 1m 1Mi log 100m 100Mi ", {"0", "0"}: "main 0 0 log 100m 100Mi ",
		{"250000001n", "1048577"}: "main 251m 2Mi log 100m 100Mi ", {"250m", "1Mi"}: "main 250m 1Mi log 100m 100Mi ",
	} {
		changed, _ := podusage.Measured([]*corev1.Pod{pod}, []*v1beta1.PodMetrics{reading("a", "main", use[0], use[1])}, 95, 0).Pod(pod)
		if got := requested(changed); got != want {
			t.Errorf("%v: %q, want %q", use, got, want)
		}
	}
}

func vpa(kind, name, container, cpu, memory string) *vpav1.VerticalPodAutoscaler {
	a := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "any"}}
	a.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{Kind: kind, Name: name}
	a.Status.Recommendation = &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{
		{ContainerName: container, Target: amounts(cpu, memory), UpperBound: amounts("64", "64Gi")},
	}}
	return a
}

func TestRecommendedIsTheTarget(t *testing.T) {
	limited, sidecar, whole := ofDeployment("a"), ofDeployment("a"), ofDeployment("a")
	limited.Spec.Containers[0].Resources.Limits = amounts("", "200Mi")
	sidecar.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
		{Name: "init"}}
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("4", "4Gi")}
	main := vpa("Deployment", "web", "main", "50m", "300Mi")
	for name, c := range map[string]struct {
		pod      *corev1.Pod
		from     []*vpav1.VerticalPodAutoscaler
		headroom float64
		want     string
		known    bool
	}{
		"target":   {ofDeployment("a"), []*vpav1.VerticalPodAutoscaler{main}, 0, "main 50m 300Mi log 100m 100Mi ", true},
		"headroom": {ofDeployment("a"), []*vpav1.VerticalPodAutoscaler{main}, 0.5, "main 75m 450Mi log 100m 100Mi ", true},
		"one resource": {ofDeployment("a"), []*vpav1.VerticalPodAutoscaler{vpa("Deployment", "web", "main", "50m", "")}, 0,
			"main 50m 1Gi log 100m 100Mi ", true},
		"a limit": {limited, []*vpav1.VerticalPodAutoscaler{main}, 0, "main 50m 200Mi log 100m 100Mi ", true},
		"another workload": {ofDeployment("a"), []*vpav1.VerticalPodAutoscaler{vpa("StatefulSet", "web", "main", "50m", "1Mi")}, 0,
			"main 1 1Gi log 100m 100Mi ", false},
		"no target": {ofDeployment("a"), []*vpav1.VerticalPodAutoscaler{{}}, 0, "main 1 1Gi log 100m 100Mi ", false},
		"a sidecar": {sidecar, []*vpav1.VerticalPodAutoscaler{vpa("Deployment", "web", "proxy", "5m", "8Mi")}, 0,
			"proxy 5m 8Mi init 0 0 main 1 1Gi log 100m 100Mi ", false},
		"an init container that ends": {sidecar, []*vpav1.VerticalPodAutoscaler{vpa("Deployment", "web", "init", "5m", "8Mi")}, 0,
			"proxy 0 0 init 0 0 main 1 1Gi log 100m 100Mi ", false},
	} {
		changed, known := podusage.Recommended(c.from, c.headroom).Pod(c.pod)
		if got := requested(changed); got != c.want || known != c.known {
			t.Errorf("%s: %q %v, want %q", name, got, known, c.want)
		}
	}
	both := append([]vpav1.RecommendedContainerResources{{ContainerName: "log", Target: amounts("1m", "")}},
		main.Status.Recommendation.ContainerRecommendations...)
	main.Status.Recommendation.ContainerRecommendations = both
	changed, _ := podusage.Recommended([]*vpav1.VerticalPodAutoscaler{main}, 0).Pod(whole)
	if _, cpu := changed.Spec.Resources.Requests[corev1.ResourceCPU]; cpu || changed.Spec.Resources.Requests.Memory().String() != "4Gi" {
		t.Errorf("requests of the whole pod: %v, want those of memory, which is not known of every container", changed.Spec.Resources.Requests)
	}
}

func TestDaemonSetsOfNodesToComeChangeToo(t *testing.T) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "logs"}}
	set.Spec.Template.Spec = ofDeployment("a").Spec
	changed := podusage.Recommended([]*vpav1.VerticalPodAutoscaler{vpa("DaemonSet", "logs", "main", "2m", "3Mi")}, 0).DaemonSet(set)
	if got := requested(&corev1.Pod{Spec: changed.Spec.Template.Spec}); got != "main 2m 3Mi log 100m 100Mi " {
		t.Errorf("%q", got)
	}
}
