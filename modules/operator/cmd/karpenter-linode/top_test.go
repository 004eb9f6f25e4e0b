package main

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/snapshot"
)

// The cache refuses a reading before it is started. Each round races a new cache with its first reading.
func TestTheLiveViewOfTopReadsAClusterFromItsFirstReading(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	environment, err := apiserver.Start(crds.All())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	kube, err := client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke1-7-a"}}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		cluster, err := follow(t.Context(), &access{kubeconfig: kubeconfig})
		if err != nil {
			t.Fatal(err)
		}
		read, err := snapshot.Running(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Nodes) != 1 || read.Nodes[0].Name != "lke1-7-a" {
			t.Fatalf("nodes: %v", read.Nodes)
		}
	}
}
