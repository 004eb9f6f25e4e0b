package simulatedlke_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// Each lie about Nodes shows on the next Node that registers. The Node is removed with its Linode in spite of the lie.
func TestLiesAboutNodes(t *testing.T) {
	for _, lie := range []report.Assumption{"", report.LateTaints, report.LessMemory, report.OtherNames} {
		t.Run(string(lie), func(t *testing.T) {
			nodes := fake.NewClientset().CoreV1().Nodes()
			runner := simulatedlke.New(nodes, simulatedlke.Config{
				ClusterID: 1, Lies: func(about report.Assumption) bool { return about == lie },
			})
			events := make(chan linodesim.Event)
			go runner.Run(t.Context(), events)
			e := event("one", 11)
			e.MemoryMB, e.DiskMB, e.VCPUs = 4096, 81920, 2
			e.Taints = []linodesim.Taint{{Key: "only", Value: "a", Effect: "NoSchedule"}}
			events <- e
			var node corev1.Node
			await(t, "the Node is initialized", func() bool {
				list, err := nodes.List(t.Context(), metav1.ListOptions{})
				if err != nil || len(list.Items) != 1 || list.Items[0].Spec.ProviderID == "" {
					return false
				}
				node = list.Items[0]
				return true
			})
			memory := node.Status.Capacity.Memory().Value()
			for what, seen := range map[report.Assumption]bool{
				report.LateTaints: len(node.Spec.Taints) == 0, report.OtherNames: node.Name != "one",
				report.LessMemory: memory < 4096<<20*3/4+1 && memory > 4096<<20/2,
			} {
				if seen != (lie == what) {
					t.Errorf("%s: %v; taints %v, memory %d", what, seen, node.Spec.Taints, memory)
				}
			}
			e.Kind = linodesim.NodeGone
			events <- e
			await(t, "the Node is gone", func() bool {
				_, err := nodes.Get(t.Context(), node.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
		})
	}
}
