package simulatedboot

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// kwok simulates no pod that was bound before it simulates the node.
func TestKwokTakesOverBeforeThePodsCome(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: corev1.NamespaceNodeLease}}
	kube := fake.NewClientset(lease, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"team": "a"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: simulatedlke.UninitializedTaint, Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
	nodes, leases := kube.CoreV1().Nodes(), kube.CoordinationV1().Leases(lease.Namespace)
	kubelet, err := process.Start(process.Spec{Name: "kubelet", Path: "/bin/sleep", Args: []string{"600"},
		LogFile: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kubelet.Kill)
	p := New(nodes, Config{Leases: leases, KwokLabels: map[string]string{"simulated-by": "kwok"}})
	p.hold("n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.handOver(t.Context(), linodesim.Event{Name: "n"}, kubelet)
	}()
	var node *corev1.Node
	handed := func(ctx context.Context) (bool, error) {
		node, err = nodes.Get(ctx, "n", metav1.GetOptions{})
		return err == nil && node.Labels["simulated-by"] == "kwok", err
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, handed); err != nil {
		t.Fatal(err)
	}
	if kubelet.Running() || !p.Holds("n") || ready(node).Status != corev1.ConditionUnknown || node.Labels["team"] != "a" {
		t.Errorf("the kubelet runs: %t; the node is %+v", kubelet.Running(), node)
	}
	if _, err := leases.Get(t.Context(), "n", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the kubelet's Lease is there, for which kwok would wait: %v", err)
	}
	select {
	case <-done:
		t.Error("the hand-over ended before kwok simulated the node")
	default:
	}
	ready(node).Status = corev1.ConditionTrue // what kwok does first
	if _, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-done
	if p.Holds("n") {
		t.Error("the node is held after the hand-over")
	}
}
