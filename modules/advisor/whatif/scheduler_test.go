package whatif

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	corescheduling "sigs.k8s.io/karpenter/pkg/scheduling"
)

func amounts(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse(pods)}
}

// slotOf is a node of 8 CPUs and 16 GiB with so many pods of a workload, which request 500m and 1 GiB each.
func slotOf(name, owner string, pods int, edit ...func(*corev1.Node)) *slot {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: amounts("8", "16Gi", "110")}}
	for _, edit := range edit {
		edit(node)
	}
	s := &slot{name: name, node: node, labels: corescheduling.NewLabelRequirements(node.Labels), allocatable: node.Status.Allocatable,
		owned: map[any]int{}}
	for range pods {
		s.add(podOf(owner, "500m", "1Gi"))
	}
	return s
}

func podOf(owner, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", OwnerReferences: []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)},
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		}}}},
	}
}

func TestANodeIsChosenAsTheKubeSchedulerDoes(t *testing.T) {
	tainted := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}} }
	small := func(n *corev1.Node) { n.Status.Allocatable = amounts("1", "1Gi", "110") }
	fewPods := func(n *corev1.Node) { n.Status.Allocatable = amounts("8", "16Gi", "2") }
	elsewhere := podOf("web", "500m", "1Gi")
	elsewhere.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "b"}
	web := podOf("web", "500m", "1Gi")
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		slots []*slot
		want  string
	}{
		"the emptier of two":                      {web, []*slot{slotOf("a", "other", 6), slotOf("b", "other", 2)}, "b"},
		"the one with fewer pods of the workload": {web, []*slot{slotOf("a", "web", 4), slotOf("b", "other", 6)}, "b"},
		"the first of equal ones":                 {web, []*slot{slotOf("a", "web", 1), slotOf("b", "web", 1)}, "a"},
		"one that it tolerates":                   {web, []*slot{slotOf("a", "web", 0, tainted), slotOf("b", "web", 5)}, "b"},
		"one that has room":                       {web, []*slot{slotOf("a", "web", 1, small), slotOf("b", "web", 5)}, "b"},
		"one that has room for a pod":             {web, []*slot{slotOf("a", "other", 2, fewPods), slotOf("b", "web", 5)}, "b"},
		"one that it selects":                     {elsewhere, []*slot{slotOf("a", "web", 0), slotOf("b", "web", 5)}, "b"},
		"none":                                    {web, []*slot{slotOf("a", "web", 0, tainted)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if s := (&board{slots: c.slots}).best(c.pod); s != nil {
				got = s.name
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
