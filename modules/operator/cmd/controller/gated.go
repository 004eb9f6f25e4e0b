package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/karpenter/pkg/apis"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// checkGatedDefinitions looks for the kinds that feature gates need: without them core's caches wait for two minutes and
// then end the process.
func checkGatedDefinitions(gates coreoptions.FeatureGates, mapper meta.RESTMapper) error {
	for _, needed := range []struct {
		gate string
		on   bool
		kind schema.GroupVersionKind
	}{
		{"NodeOverlay", gates.NodeOverlay, schema.GroupVersionKind{Group: apis.Group, Version: "v1alpha1", Kind: "NodeOverlay"}},
		{"CapacityBuffer", gates.CapacityBuffer, schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}},
	} {
		if !needed.on {
			continue
		}
		if _, err := mapper.RESTMapping(needed.kind.GroupKind(), needed.kind.Version); err != nil {
			return &setting.Error{Name: "FEATURE_GATES", Found: fmt.Sprintf("%s is on, and the Kubernetes cluster has no %s %s", needed.gate, needed.kind.GroupVersion(), needed.kind.Kind),
				Err: err, Fix: "install this version of the chart karpenter-crd first, or turn the gate off"}
		}
	}
	return nil
}
