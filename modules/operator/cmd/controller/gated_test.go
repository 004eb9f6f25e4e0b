package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"
)

func TestAGateWhoseDefinitionIsMissingIsNamedAtStart(t *testing.T) {
	empty := meta.NewDefaultRESTMapper(nil)
	full := meta.NewDefaultRESTMapper(nil)
	full.Add(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1alpha1", Kind: "NodeOverlay"}, meta.RESTScopeRoot)
	full.Add(schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}, meta.RESTScopeNamespace)
	for name, test := range map[string]struct {
		gates  coreoptions.FeatureGates
		mapper meta.RESTMapper
		want   string
	}{
		"no gate needs a definition":  {coreoptions.FeatureGates{NodeRepair: true, StaticCapacity: true}, empty, ""},
		"CapacityBuffer is missing":   {coreoptions.FeatureGates{CapacityBuffer: true}, empty, "FEATURE_GATES: CapacityBuffer is on"},
		"NodeOverlay is missing":      {coreoptions.FeatureGates{NodeOverlay: true}, empty, "FEATURE_GATES: NodeOverlay is on"},
		"all definitions are present": {coreoptions.FeatureGates{NodeOverlay: true, CapacityBuffer: true}, full, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkGatedDefinitions(test.gates, test.mapper)
			if (err == nil) != (test.want == "") || (err != nil && !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
