package catalog

import (
	"crypto/sha256"
	"encoding/hex"

	"sigs.k8s.io/karpenter/pkg/utils/pretty"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// shape has the settings of a class that nodes of one plan differ by.
type shape struct {
	Kubelet   *v1alpha1.KubeletConfiguration
	OSDisk    *v1alpha1.Disk
	DataDisks *v1alpha1.DataDisks
	SwapMB    int
}

// shapeOf returns the shape of a class, whose fields without an effect are left out already.
func shapeOf(class *v1alpha1.LinodeNodeClassSpec) shape {
	return shape{class.Kubelet, class.OSDisk, class.DataDisks, class.SwapMB()}
}

// text returns everything in it, also a setting that is added later.
func (s shape) text() string { return pretty.Concise(s) }

// keySeparator stands between a plan and the hash of a shape; no plan's name contains it.
const keySeparator = "."

// key returns the plan for a class that sets nothing, as keys were before classes counted, and otherwise adds a hash.
func (s shape) key(plan string) string {
	text := s.text()
	if text == (shape{}).text() {
		return plan
	}
	sum := sha256.Sum256([]byte(text))
	return plan + keySeparator + hex.EncodeToString(sum[:4])
}
