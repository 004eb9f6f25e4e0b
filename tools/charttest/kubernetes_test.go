package charttest

import (
	"fmt"
	"path/filepath"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// The minor versions of Kubernetes that the charts are for.
const oldestMinor, newestMinor = 31, 36

// What `helm lint --strict` finds depends on the Kubernetes version: APIs are deprecated and removed.
func TestChartsAreCleanForEveryKubernetes(t *testing.T) {
	values := map[string]any{
		"apiToken": "x", "settings": map[string]any{"clusterName": "c"},
		"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
		"networkPolicy": map[string]any{"enabled": true}, "admissionPolicy": map[string]any{"enabled": true},
		"grafanaDashboard": map[string]any{"enabled": true},
	}
	for minor := oldestMinor; minor <= newestMinor; minor++ {
		version := fmt.Sprintf("v1.%d.0", minor)
		t.Run(version, func(t *testing.T) {
			kubernetes, err := common.ParseKubeVersion(version)
			if err != nil {
				t.Fatal(err)
			}
			for chart, values := range map[string]map[string]any{"karpenter": values, "karpenter-crd": nil} {
				lint := action.NewLint()
				lint.Strict, lint.KubeVersion = true, kubernetes
				for _, message := range lint.Run([]string{filepath.Join("..", "..", "charts", chart)}, values).Messages {
					if message.Severity > support.InfoSev {
						t.Errorf("%s: %v", chart, message)
					}
				}
			}
		})
	}
}
