package catalog

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Settings configure the conversion of a plan.
type Settings struct {
	Region         string
	Tier           string   // of the LKE cluster, as the API names it; "" = nodes are not LKE's
	MemoryOverhead *float64 // share of the plan's memory that pods cannot have, where no node has shown one; nil = it is estimated
	Learned        Figures  // figures of registered nodes of the plan
	Kubelet        *v1alpha1.KubeletConfiguration
	RootDisk       int // MiB of the plan's disk that pods share; 0 = all of it
	Disks          int // of the Linode; 0 = 1
}

// Convert turns a plan into an instance type. available is true if the plan can be bought now.
func Convert(p Plan, available bool, s Settings) *cloudprovider.InstanceType {
	s.RootDisk = cmp.Or(s.RootDisk, p.Disk)
	if s.RootDisk != p.Disk { // other nodes have shown another disk
		s.Learned.EphemeralStorage, s.Learned.ReservedStorage = 0, 0
	}
	total := capacity(p, s)
	return &cloudprovider.InstanceType{
		Name:         p.ID,
		Requirements: requirements(p, s.Region),
		Offerings: cloudprovider.Offerings{{
			Requirements: scheduling.NewRequirements(
				is(karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand),
				is(corev1.LabelTopologyZone, s.Region),
				is(corev1.LabelTopologyRegion, s.Region),
			),
			Price:     p.PriceIn(s.Region).Hourly,
			Available: available,
		}},
		Capacity:               total,
		Overhead:               overhead(p, total, s),
		VolumeAttachmentLimits: volumeLimits(p, max(s.Disks, 1)),
	}
}

func requirements(p Plan, region string) scheduling.Requirements {
	return scheduling.NewRequirements(
		is(corev1.LabelInstanceTypeStable, p.ID),
		is(corev1.LabelArchStable, karpv1.ArchitectureAmd64), // the API has no field for it; every plan is amd64
		is(corev1.LabelOSStable, string(corev1.Linux)),
		is(corev1.LabelTopologyRegion, region),
		is(corev1.LabelTopologyZone, region),
		is(karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand),
		is(corev1.LabelWindowsBuild, ""),
		is(v1alpha1.LabelInstanceGeneration, p.Generation()),
		is(v1alpha1.LabelInstanceClass, string(p.Class)),
		is(v1alpha1.LabelInstanceCPU, positive(p.VCPUs)),
		is(v1alpha1.LabelInstanceMemory, positive(p.Memory)),
		is(v1alpha1.LabelInstanceDisk, positive(p.Disk)),
		is(v1alpha1.LabelInstanceGPUName, p.GPUName()),
		is(v1alpha1.LabelInstanceGPUCount, positive(p.GPUs)),
		is(v1alpha1.LabelInstanceAcceleratedDevicesCount, positive(p.acceleratedDevices())),
		is(v1alpha1.LabelInstanceTransfer, positive(p.Transfer)),
		is(v1alpha1.LabelInstanceNetworkOut, positive(p.NetworkOut)),
	)
}

// is requires a label to have a value. For an empty value it requires that the label does not exist: without this requirement, a plan
// without a GPU would meet `gpu-name In [rtx4000a]`.
func is(key, value string) *scheduling.Requirement {
	if value == "" {
		return scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist)
	}
	return scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
