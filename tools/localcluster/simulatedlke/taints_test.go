package simulatedlke_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// A Node has its pool's taints from its registration on, or gets them afterwards; then there is a window in which pods that do not
// tolerate them may be bound to it, once it is initialised. A user's removal of such a taint stays.
func TestWhenANodeGetsItsPoolsTaints(t *testing.T) {
	for name, after := range map[string]time.Duration{"at registration": 0, "late": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { taints(t, after) })
		})
	}
}

// taints runs in virtual time, in which a Node gets its taints exactly after the configured time.
func taints(t *testing.T, after time.Duration) {
	client := fake.NewClientset()
	nodes := client.CoreV1().Nodes()
	changes, err := nodes.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	runner := simulatedlke.New(nodes, simulatedlke.Config{ClusterID: 1, TaintsAfter: after})
	events := make(chan linodesim.Event)
	go runner.Run(t.Context(), events)
	e := event("one", 11)
	e.Taints = []linodesim.Taint{{Key: "only", Value: "a", Effect: "NoSchedule"}}
	began := time.Now()
	events <- e
	open, tainted := false, false // whether pods could be bound to it without tolerating the taint
	for change := range changes.ResultChan() {
		node, ok := change.Object.(*corev1.Node)
		if !ok || change.Type == watch.Deleted {
			continue
		}
		if change.Type == watch.Added {
			if has := len(node.Spec.Taints) == 2; has != (after == 0) {
				t.Errorf("registered with %v", node.Spec.Taints)
			}
		}
		open = open || len(node.Spec.Taints) == 0
		if node.Spec.ProviderID != "" && len(node.Spec.Taints) == 1 && node.Spec.Taints[0].Key == "only" {
			tainted = true
			break
		}
	}
	if !tainted || open != (after > 0) || time.Since(began) != after {
		t.Errorf("tainted %v after %s, open before %v", tainted, time.Since(began), open)
	}
	node, err := nodes.Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints = nil
	if _, err := nodes.Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.Kind, e.Labels = linodesim.NodeChanged, map[string]string{"team": "b"}
	events <- e
	await(t, "the pool's label is there", func() bool {
		node, err := nodes.Get(t.Context(), "one", metav1.GetOptions{})
		return err == nil && node.Labels["team"] == "b" && len(node.Spec.Taints) == 0
	})
}
