package requirement

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Equivalent returns, for a label of another cloud's Karpenter provider, the label of this provider that means the same; ours is
// empty where there is none. Such a label in a NodePool selects no plans: core takes it for a label that the user puts on nodes.
func Equivalent(key string) (ours string, elsewhere bool) {
	domain, name, _ := strings.Cut(key, "/")
	if !otherProvider(domain) {
		return "", false
	}
	return equivalents[name], true
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

// equivalents are by the name after the domain, which providers share for the most part.
var equivalents = map[string]string{
	"instance-category":          v1alpha1.LabelInstanceClass,
	"instance-family":            v1alpha1.LabelInstanceClass,
	"machine-family":             v1alpha1.LabelInstanceClass,
	"sku-family":                 v1alpha1.LabelInstanceClass,
	"sku-series":                 v1alpha1.LabelInstanceClass,
	"instance-generation":        v1alpha1.LabelInstanceGeneration,
	"sku-version":                v1alpha1.LabelInstanceGeneration,
	"instance-cpu":               v1alpha1.LabelInstanceCPU,
	"sku-cpu":                    v1alpha1.LabelInstanceCPU,
	"instance-memory":            v1alpha1.LabelInstanceMemory,
	"sku-memory":                 v1alpha1.LabelInstanceMemory,
	"instance-local-nvme":        v1alpha1.LabelInstanceDisk,
	"sku-gpu-name":               v1alpha1.LabelInstanceGPUName,
	"instance-gpu-name":          v1alpha1.LabelInstanceGPUName,
	"gke-accelerator":            v1alpha1.LabelInstanceGPUName,
	"instance-gpu-count":         v1alpha1.LabelInstanceGPUCount,
	"sku-gpu-count":              v1alpha1.LabelInstanceGPUCount,
	"instance-accelerator-count": v1alpha1.LabelInstanceAcceleratedDevicesCount,
	"instance-network-bandwidth": v1alpha1.LabelInstanceNetworkOut,
	"instance-size":              corev1.LabelInstanceTypeStable,
	"sku-name":                   corev1.LabelInstanceTypeStable,
	"zone-id":                    corev1.LabelTopologyZone,
	"capacityType":               karpv1.CapacityTypeLabelKey,
	"gke-spot":                   karpv1.CapacityTypeLabelKey,
	"gke-provisioning":           karpv1.CapacityTypeLabelKey,
}
