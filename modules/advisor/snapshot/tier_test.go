package snapshot_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestTheTierShowsInClassesAndInWhatNodesKeepBack(t *testing.T) {
	node := func(labels map[string]string, capacity, allocatable string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		n.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(capacity)}
		if allocatable != "" {
			n.Status.Allocatable = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(allocatable)}
		}
		return n
	}
	class := func(version string) *v1alpha1.LinodeNodeClass {
		return &v1alpha1.LinodeNodeClass{Status: v1alpha1.LinodeNodeClassStatus{KubernetesVersion: version}}
	}
	ofLKE := map[string]string{snapshot.PoolLabel: "7"}
	tests := map[string]struct {
		nodes   []*corev1.Node
		classes []*v1alpha1.LinodeNodeClass
		want    string
	}{
		"an Enterprise version in a class's status": {classes: []*v1alpha1.LinodeNodeClass{class("v1.33.6+lke7")}, want: "enterprise"},
		"a Standard version":                        {classes: []*v1alpha1.LinodeNodeClass{class("1.35")}},
		"a node that keeps 2 GiB back":              {nodes: []*corev1.Node{node(ofLKE, "7960Mi", "6017Mi")}, want: "enterprise"},
		"a recorded node of Standard":               {nodes: []*corev1.Node{node(ofLKE, "4022024Ki", "3919624Ki")}},
		"a node without allocatable":                {nodes: []*corev1.Node{node(ofLKE, "4022024Ki", "")}},
		"a node of another platform":                {nodes: []*corev1.Node{node(nil, "7960Mi", "6017Mi")}},
		"nothing":                                   {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&snapshot.Snapshot{Nodes: tt.nodes, NodeClasses: tt.classes}).Tier(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
