package quantity_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

func TestQuantitiesThatNoNodeCanHaveAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"1e9999999": "1P", "-1e9999999": "-1P", "0e9999999": "0", "1e15": "1e15", "1e16": "1P", "1E": "1P", "1Pi": "1P", "100": "100",
		"100m": "100m", "1n": "1n", "0": "0", "500Gi": "500Gi", "0.000000001": "1n", "900Ti": "900Ti",
		strings.Repeat("9", 5000): "1P", "0." + strings.Repeat("0", 5000) + "1": "1n", "1" + strings.Repeat("0", 5000) + "m": "1P",
	} {
		list := corev1.ResourceList{"cpu": resource.MustParse(text)}
		quantity.Bound(list)
		q := list["cpu"]
		if got := q.String(); got != want {
			t.Errorf("%.40s became %.40s, want %s", text, got, want)
		}
		if quantity.AtMax(q) != (want == "1P" || want == "1e15") {
			t.Errorf("%.40s: at the maximum: %v", text, quantity.AtMax(q))
		}
	}
}

func TestEveryFieldOfAnObjectIsReached(t *testing.T) {
	const huge = "1e9999999"
	list := func() corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(huge), "memory": resource.MustParse("1Gi")}
	}
	needs := corev1.ResourceRequirements{Requests: list(), Limits: list()}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{Resources: needs}}, InitContainers: []corev1.Container{{Resources: *needs.DeepCopy()}},
		Resources: needs.DeepCopy(), Overhead: list(),
		Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			SizeLimit: new(resource.MustParse(huge))}}}},
	}
	pool := &karpv1.NodePool{}
	pool.Spec.Limits, pool.Status.Resources = karpv1.Limits(list()), list()
	claim := &karpv1.NodeClaim{}
	claim.Spec.Resources.Requests, claim.Status.Capacity, claim.Status.Allocatable = list(), list(), list()
	attachment := &storagev1.VolumeAttachment{}
	attachment.Spec.Source.InlineVolumeSpec = &corev1.PersistentVolumeSpec{Capacity: list()}
	daemonSet := &appsv1.DaemonSet{}
	daemonSet.Spec.Template.Spec = *spec.DeepCopy()
	for _, object := range []interface{ String() string }{
		&corev1.Pod{Spec: spec, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{AllocatedResources: list()}}}},
		daemonSet, &corev1.Node{Status: corev1.NodeStatus{Capacity: list(), Allocatable: list()}}, attachment,
		&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{Capacity: list()}},
		&corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: list()}}},
	} {
		quantity.Bound(object)
		if text := object.String(); len(text) > 100_000 || strings.Contains(text, "9999999") {
			t.Errorf("%T: a text of %d characters", object, len(text))
		}
	}
	quantity.Bound(pool)
	quantity.Bound(claim)
	for name, of := range map[string]corev1.ResourceList{"limits": corev1.ResourceList(pool.Spec.Limits), "resources": pool.Status.Resources,
		"requests": claim.Spec.Resources.Requests, "capacity": claim.Status.Capacity, "allocatable": claim.Status.Allocatable} {
		if !quantity.AtMax(of["cpu"]) || of.Memory().String() != "1Gi" || of.Cpu().String() != "1P" {
			t.Errorf("%s: %v", name, of)
		}
	}
}

func TestObjectsWithoutQuantitiesAreLeftAlone(t *testing.T) {
	for _, object := range []any{nil, (*corev1.Pod)(nil), "text", map[string]any{"cpu": "1e9999999"}, &corev1.Namespace{}} {
		quantity.Bound(object)
	}
}

func BenchmarkAPod(b *testing.B) {
	pod := &corev1.Pod{}
	for range 3 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}}})
	}
	for b.Loop() {
		quantity.Bound(pod)
	}
}
