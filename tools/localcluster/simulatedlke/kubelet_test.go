package simulatedlke_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// kubelets register Nodes themselves, one worker's kubelet at a time; the first attempt to start one fails.
type kubelets struct {
	nodes         corev1client.NodeInterface
	failed        atomic.Bool
	started, live atomic.Int32
}

func (k *kubelets) Start(e linodesim.Event) (func(context.Context), error) {
	if k.failed.CompareAndSwap(false, true) {
		return nil, errors.New("no port is free")
	}
	if k.live.Load() > 0 {
		return nil, nil
	}
	k.started.Add(1)
	k.live.Add(1)
	_, err := k.nodes.Create(context.Background(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: e.Name, Labels: map[string]string{"by": "kubelet"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: simulatedlke.UninitializedTaint, Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}},
	}, metav1.CreateOptions{})
	return func(context.Context) { k.live.Add(-1) }, err
}

// A Node of a real kubelet is initialised like every other Node, and its kubelet ends with its Linode.
func TestNodesOfRealKubeletsComeAndGo(t *testing.T) {
	nodes := fake.NewClientset().CoreV1().Nodes()
	real := &kubelets{nodes: nodes}
	runner := simulatedlke.New(nodes, simulatedlke.Config{ClusterID: 1, Kubelets: real, Labels: map[string]string{"by": "kwok"}})
	events := make(chan linodesim.Event)
	ended := make(chan struct{})
	go func() { defer close(ended); runner.Run(t.Context(), events) }()
	first, second := event("first", 11), event("second", 12)
	events <- first
	await(t, "the kubelet's node is initialised", func() bool {
		node, err := nodes.Get(t.Context(), "first", metav1.GetOptions{})
		return err == nil && node.Spec.ProviderID == "linode://11" && node.Labels["by"] == "kubelet" && node.Labels["team"] == "a" &&
			node.Labels[simulatedlke.PoolIDLabel] == "5" && len(node.Status.Addresses) > 1 && len(node.Spec.Taints) == 0
	})
	events <- second
	await(t, "kwok's node is initialised", func() bool {
		node, err := nodes.Get(t.Context(), "second", metav1.GetOptions{})
		return err == nil && node.Spec.ProviderID == "linode://12" && node.Labels["by"] == "kwok"
	})
	first.Kind = linodesim.NodeGone
	events <- first
	await(t, "the node goes with its kubelet", func() bool {
		_, err := nodes.Get(t.Context(), "first", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && real.live.Load() == 0
	})
	events <- event("third", 13)
	await(t, "another kubelet is started", func() bool { return real.started.Load() == 2 })
	close(events)
	<-ended
	if n := real.live.Load(); n != 0 {
		t.Errorf("%d kubelets run when the runner has ended", n)
	}
}

func event(name string, id int) linodesim.Event {
	return linodesim.Event{
		Kind: linodesim.NodeJoins, Name: name, Cluster: linodesim.EventCluster{ID: 1},
		EventPool:   linodesim.EventPool{PoolID: 5, Labels: map[string]string{"team": "a"}},
		EventLinode: linodesim.EventLinode{InstanceID: id, PublicIPv4: "192.0.2.1"},
		EventPlan:   linodesim.EventPlan{Type: "g6-standard-1", VCPUs: 1, MemoryMB: 2048, DiskMB: 51200},
	}
}

func await(t *testing.T, what string, check func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
