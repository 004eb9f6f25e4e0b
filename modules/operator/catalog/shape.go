package catalog

import (
	"crypto/sha256"
	"encoding/hex"

	"sigs.k8s.io/karpenter/pkg/utils/pretty"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// shape has the settings of a class by which nodes of one plan differ.
type shape struct {
	Kubelet   *v1alpha1.KubeletConfiguration
	OSDisk    *v1alpha1.Disk
	DataDisks *v1alpha1.DataDisks
	SwapMB    int
}

// shapeOf returns the shape of a class. The caller has removed the fields without an effect.
func shapeOf(class *v1alpha1.LinodeNodeClassSpec) shape {
	return shape{class.Kubelet, class.OSDisk, class.DataDisks, class.SwapMB()}
}

// text returns all settings of the shape, including settings that are added to the type later.
func (s shape) text() string { return pretty.Concise(s) }

// keySeparator stands between a plan and the hash of a shape; no plan's name contains it.
const keySeparator = "."

// key returns the plan for a class that sets nothing, and otherwise the plan with a hash. Older versions of the operator stored figures
// by the plan alone.
func (s shape) key(plan string) string {
	text := s.text()
	if text == (shape{}).text() {
		return plan
	}
	sum := sha256.Sum256([]byte(text))
	return plan + keySeparator + hex.EncodeToString(sum[:4])
}
