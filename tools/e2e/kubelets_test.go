package e2e_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// TestKubelets is lke mode on real kubelets: LKE's nodes register themselves and run their pods.
func TestKubelets(t *testing.T) {
	t.Parallel()
	const nodes = 5
	e := start(t, "kubelets", "standard", nil, func(o *localcluster.Options) { o.Kubelets = nodes })
	e.run(t, "five nodes come, run pods and go", func(t *testing.T, e *environment) {
		e.crowd(t, "real", nodes)
		e.settled(t, "real", nodes)
		e.matched(t, nodes)
		for _, node := range e.karpenterNodes(t.Context(), NewWithT(t)) {
			realKubelet(t, node)
		}
		e.scale(t, "real", 2)
		e.matched(t, 2)
		e.settled(t, "real", 2)
		e.scale(t, "real", 0)
	})
}

// realKubelet checks that a kubelet registered a Node, and not kwok.
func realKubelet(t *testing.T, node corev1.Node) {
	t.Helper()
	if v := node.Status.NodeInfo.KubeletVersion; v != controlplane.KubernetesVersion {
		t.Errorf("%s: the kubelet's version is %s, want %s", node.Name, v, controlplane.KubernetesVersion)
	}
	if c := nodeutils.GetCondition(&node, corev1.NodeReady); c.Reason == "KubeletReady" && c.Status == corev1.ConditionTrue {
		return
	}
	t.Errorf("%s: no kubelet reports it as ready: %v", node.Name, node.Status.Conditions)
}
