package requirement

import (
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Equivalent returns whether a label belongs to another cloud's Karpenter provider, and the label of this provider with the same meaning.
// ours is "" if this provider has no such label. A label of another provider in a NodePool does not select plans: core regards it as a
// label that the user puts on nodes.
func Equivalent(key string) (ours string, elsewhere bool) {
	domain, name, _ := strings.Cut(key, "/")
	if !otherProvider(domain) {
		return "", false
	}
	ours, _ = lo.FindKeyBy(equivalents, func(_ string, theirs []string) bool { return slices.Contains(theirs, name) })
	return ours, true
}

// otherProvider returns whether labels of a domain describe the machines of another cloud. Other Karpenter providers have
// domains that begin with "karpenter."; karpenter.sh is core's.
func otherProvider(domain string) bool {
	switch domain {
	case apis.Group, v1alpha1.Group:
		return false
	case "eks.amazonaws.com", "topology.k8s.aws", "cloud.google.com", "kubernetes.azure.com":
		return true
	}
	return strings.HasPrefix(domain, "karpenter.") && !strings.HasSuffix(domain, "."+apis.Group)
}

// equivalents maps a label of this provider to the labels of other providers with the same meaning, without their domains.
var equivalents = map[string][]string{
	v1alpha1.LabelInstanceClass:                   {"instance-category", "instance-family", "machine-family", "sku-family", "sku-series"},
	v1alpha1.LabelInstanceGeneration:              {"instance-generation", "sku-version"},
	v1alpha1.LabelInstanceCPU:                     {"instance-cpu", "sku-cpu"},
	v1alpha1.LabelInstanceMemory:                  {"instance-memory", "sku-memory"},
	v1alpha1.LabelInstanceDisk:                    {"instance-local-nvme"},
	v1alpha1.LabelInstanceGPUName:                 {"sku-gpu-name", "instance-gpu-name", "gke-accelerator"},
	v1alpha1.LabelInstanceGPUCount:                {"instance-gpu-count", "sku-gpu-count"},
	v1alpha1.LabelInstanceAcceleratedDevicesCount: {"instance-accelerator-count"},
	v1alpha1.LabelInstanceNetworkOut:              {"instance-network-bandwidth"},
	corev1.LabelInstanceTypeStable:                {"instance-size", "sku-name"},
	corev1.LabelTopologyZone:                      {"zone-id"},
	karpv1.CapacityTypeLabelKey:                   {"capacityType", "gke-spot", "gke-provisioning"},
}
