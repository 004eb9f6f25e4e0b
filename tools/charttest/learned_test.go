package charttest

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

// The controller's learned figures survive each `helm upgrade`, and `helm uninstall` removes them.
func TestLearnedCapacitySurvivesAnUpgrade(t *testing.T) {
	needServer(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	release := charts.Release{Name: "karpenter", Namespace: "kube-system", Chart: "../../charts/karpenter",
		Values: map[string]any{"apiToken": "t", "settings": map[string]any{"clusterName": "my-cluster"}}}
	if err := charts.Apply(t.Context(), path, release, slog.DiscardHandler); err != nil {
		t.Fatal(err)
	}
	installed := true
	t.Cleanup(func() {
		if installed {
			_ = charts.Remove(t.Context(), path, release.Namespace, release.Name, slog.DiscardHandler)
		}
	})
	key := client.ObjectKey{Namespace: "kube-system", Name: "karpenter-learned-capacity"}
	learned := &corev1.ConfigMap{}
	if err := api.Get(t.Context(), key, learned); err != nil || len(learned.Data) != 0 {
		t.Fatalf("after the installation: %v, %v", learned.Data, err)
	}
	learned.Data = map[string]string{"g6-standard-4": `{"memory":"8140000Ki"}`}
	want := maps.Clone(learned.Data)
	if err := api.Update(t.Context(), learned); err != nil {
		t.Fatal(err)
	}
	for _, values := range []map[string]any{
		{"apiToken": "t", "settings": map[string]any{"clusterName": "my-cluster"}},
		{"apiToken": "u", "additionalLabels": map[string]any{"a": "b"}, "settings": map[string]any{"clusterName": "my-cluster"}},
	} {
		release.Values = values
		if err := charts.Apply(t.Context(), path, release, slog.DiscardHandler); err != nil {
			t.Fatal(err)
		}
		if err := api.Get(t.Context(), key, learned); err != nil || !maps.Equal(learned.Data, want) {
			t.Errorf("after an upgrade: %v, %v", learned.Data, err)
		}
	}
	if learned.Labels["a"] != "b" {
		t.Errorf("the upgrade did not reach the ConfigMap: %v", learned.Labels)
	}
	if err := charts.Remove(t.Context(), path, release.Namespace, release.Name, slog.DiscardHandler); err != nil {
		t.Fatal(err)
	}
	installed = false
	if err := api.Get(t.Context(), key, learned); !apierrors.IsNotFound(err) {
		t.Errorf("after the release was removed: %v", err)
	}
}
