package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
)

func TestAWorkloadWithItsOnlyPodOnTheNodeIsNamed(t *testing.T) {
	pod := func(name, node, kind, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{
			Kind: kind, Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}}, Spec: corev1.PodSpec{NodeName: node}}
	}
	e := Explainer{Cluster: &snapshot.Snapshot{Pods: []*corev1.Pod{
		pod("web-1-x", "n1", "ReplicaSet", "web-1"), pod("db-0", "n1", "StatefulSet", "db"),
		pod("two-1-a", "n1", "ReplicaSet", "two-1"), pod("two-1-b", "n2", "ReplicaSet", "two-1"),
		pod("else-1-x", "n2", "ReplicaSet", "else-1"), pod("agent-x", "n1", "DaemonSet", "agent"),
	}}}
	var x Explanation
	e.single(&x, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	want := []string{
		"Pod shop/db-0 is the only one of StatefulSet db, which is down while it moves: a StatefulSet cannot surge.",
		"Pod shop/web-1-x is the only one of ReplicaSet web-1, which is down while it moves, unless its Deployment can surge and has the " +
			"annotation karpenter.k8s.linode/surge-before-drain.",
	}
	if got := strings.Join(x.Sentences, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
}
