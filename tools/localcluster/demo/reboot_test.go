package demo

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var rebootedAt = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func bootedNode(uid types.UID, bootID string, is corev1.ConditionStatus) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}, Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{BootID: bootID},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}},
	}}
}

func startedPod(uid types.UID, is corev1.ConditionStatus, started time.Time) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: is}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}}},
	}}
}

func TestANodeIsRebootedOnlyWithItsPods(t *testing.T) {
	r := reboot{node: bootedNode("1", "old", corev1.ConditionTrue), pods: []types.UID{"a", "b"}, since: rebootedAt}
	again, before := rebootedAt.Add(5*time.Second), rebootedAt.Add(-5*time.Second)
	node, both := bootedNode("1", "new", corev1.ConditionTrue), []corev1.Pod{
		startedPod("a", corev1.ConditionTrue, again), startedPod("b", corev1.ConditionTrue, again)}
	for name, c := range map[string]struct {
		node corev1.Node
		pods []corev1.Pod
		want string
	}{
		"rebooted":         {node, both, ""},
		"not yet":          {bootedNode("1", "old", corev1.ConditionTrue), both, "boot ID \"old\" as before"},
		"without boot ID":  {bootedNode("1", "", corev1.ConditionTrue), both, "boot ID \"\""},
		"silent":           {bootedNode("1", "new", corev1.ConditionUnknown), both, "not Ready"},
		"another node":     {bootedNode("2", "new", corev1.ConditionTrue), both, "is gone"},
		"a pod is missing": {node, both[:1], "1 of the 2 pods"},
		"another pod":      {node, []corev1.Pod{both[0], startedPod("c", corev1.ConditionTrue, again)}, "1 of the 2 pods"},
		"a pod of before":  {node, []corev1.Pod{both[0], startedPod("b", corev1.ConditionTrue, before)}, "1 of the 2 pods"},
		"a pod not ready":  {node, []corev1.Pod{both[0], startedPod("b", corev1.ConditionFalse, again)}, "1 of the 2 pods"},
	} {
		missing := strings.Join(r.missing([]corev1.Node{c.node}, c.pods), "; ")
		if c.want == "" && missing != "" || !strings.Contains(missing, c.want) {
			t.Errorf("%s: missing is %q, want %q", name, missing, c.want)
		}
	}
}
