package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestAGateWhoseDefinitionIsMissingIsNamedAtStart(t *testing.T) {
	base := func() *meta.DefaultRESTMapper {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(v1alpha1.GroupVersionKind, meta.RESTScopeRoot)
		for _, kind := range []string{"NodePool", "NodeClaim"} {
			mapper.Add(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: kind}, meta.RESTScopeRoot)
		}
		return mapper
	}
	empty, full := base(), base()
	full.Add(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1alpha1", Kind: "NodeOverlay"}, meta.RESTScopeRoot)
	full.Add(schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}, meta.RESTScopeNamespace)
	for name, test := range map[string]struct {
		gates  coreoptions.FeatureGates
		mapper meta.RESTMapper
		want   string
	}{
		"no gate needs a definition": {coreoptions.FeatureGates{NodeRepair: true, StaticCapacity: true}, empty, ""},
		"CapacityBuffer is missing":  {coreoptions.FeatureGates{CapacityBuffer: true}, empty, "FEATURE_GATES: CapacityBuffer is on"},
		"NodeOverlay is missing":     {coreoptions.FeatureGates{NodeOverlay: true}, empty, "FEATURE_GATES: NodeOverlay is on"},
		"the chart is not installed": {coreoptions.FeatureGates{CapacityBuffer: true}, meta.NewDefaultRESTMapper(nil),
			"KUBECONFIG: the Kubernetes cluster does not know LinodeNodeClass"},
		"all definitions are present": {coreoptions.FeatureGates{NodeOverlay: true, CapacityBuffer: true}, full, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkDefinitions(test.mapper, test.gates)
			if (err == nil) != (test.want == "") || (err != nil && !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
