package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Labels of a Linode plan. Every instance type has a requirement for each label: a value, or DoesNotExist if the plan has no GPU or no
// accelerator. Nodes have the values as labels; NodePools and pods select nodes by these labels. Numbers are decimal integers, so Gt and
// Lt work.
const (
	// LabelInstanceGeneration is the number in the plan's ID: "6" for g6-standard-2.
	LabelInstanceGeneration = Group + "/instance-generation"
	// LabelInstanceClass is the plan's class in the API, one of the InstanceClass constants.
	LabelInstanceClass = Group + "/instance-class"
	// LabelInstanceCPU is the number of vCPUs.
	LabelInstanceCPU = Group + "/instance-cpu"
	// LabelInstanceMemory is the plan's memory in MB, as the API gives it (a node shows less).
	LabelInstanceMemory = Group + "/instance-memory"
	// LabelInstanceDisk is the plan's local disk in MB, as the API gives it.
	LabelInstanceDisk = Group + "/instance-disk"
	// LabelInstanceGPUName names the GPU model; absent on plans without one.
	LabelInstanceGPUName = Group + "/instance-gpu-name"
	// LabelInstanceGPUCount is the number of GPUs; absent on plans without one.
	LabelInstanceGPUCount = Group + "/instance-gpu-count"
	// LabelInstanceAcceleratedDevicesCount is the number of accelerators (VPUs); absent on plans without one.
	LabelInstanceAcceleratedDevicesCount = Group + "/instance-accelerated-devices-count"
	// LabelInstanceTransfer is the monthly transfer allowance in GB.
	LabelInstanceTransfer = Group + "/instance-transfer"
	// LabelInstanceNetworkOut is the outbound bandwidth in Mbit/s.
	LabelInstanceNetworkOut = Group + "/instance-network-out"
)

// LabelVolumeRegion is the topology key of Linode's block storage driver: PersistentVolumes have node affinity on it,
// StorageClasses may name it in allowedTopologies. Its values are regions.
const LabelVolumeRegion = "topology.linode.com/region"

// LabelNodeClass is the label that Karpenter's core puts on NodeClaims and nodes; its value is the name of the LinodeNodeClass. The tag
// with the class's name has the same key.
const LabelNodeClass = Group + "/linodenodeclass"

// Values of LabelInstanceClass, which are the plan classes of the Linode API.
const (
	InstanceClassNanode      = "nanode"
	InstanceClassStandard    = "standard"
	InstanceClassDedicated   = "dedicated"
	InstanceClassHighMemory  = "highmem"
	InstanceClassPremium     = "premium"
	InstanceClassGPU         = "gpu"
	InstanceClassAccelerated = "accelerated"
)

// ResourceNvidiaGPU is the extended resource of a GPU plan. A node shows it once NVIDIA's device plugin, which
// the user installs, runs on it.
const ResourceNvidiaGPU corev1.ResourceName = "nvidia.com/gpu"

// InstanceLabels returns the keys of all labels that describe a plan, in a fixed order.
func InstanceLabels() []string {
	return []string{
		LabelInstanceGeneration, LabelInstanceClass, LabelInstanceCPU, LabelInstanceMemory, LabelInstanceDisk,
		LabelInstanceGPUName, LabelInstanceGPUCount, LabelInstanceAcceleratedDevicesCount,
		LabelInstanceTransfer, LabelInstanceNetworkOut,
	}
}

func init() {
	// Labels below linode.com belong to LKE and the drivers. If a NodePool could set such a label, its Node could look like a Node of
	// another LKE pool.
	karpv1.RestrictedLabelDomains.Insert(Group, "linode.com")
	karpv1.WellKnownLabels.Insert(InstanceLabels()...)
	karpv1.WellKnownResources.Insert(ResourceNvidiaGPU)
	// Core refuses requirements on a label for which it knows no values. Without this line, pods with a Linode volume would never get a
	// node.
	karpv1.NormalizedLabels[LabelVolumeRegion] = corev1.LabelTopologyRegion
}
