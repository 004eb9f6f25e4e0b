package catalog

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// LKE nodes are configured for 110 pods.
	defaultMaxPods = 110

	mib = 1 << 20

	// The file system takes a little of the disk: a g6-standard-2 of 81920 MiB shows 82470344 KiB and a
	// g6-standard-1 of 51200 MiB 51524172 KiB, 98.3% both.
	fileSystemShare = 0.98

	// A g6-standard-2 has 3919624 KiB allocatable of 4022024 KiB, a g6-standard-1 1924896 of 2027296: 100 MiB each, the kubelet's default
	// for evictionHard memory.available, and no reservation.
	defaultMemoryEviction = "100Mi"
	memoryEviction        = 100 * mib // the same
	// The kubelet's default for evictionHard nodefs.available.
	defaultDiskEviction = "10%"
)

// capacity returns the size of a node of the plan: a learned, a recorded or an estimated size.
func capacity(p Plan, s Settings) corev1.ResourceList {
	memory := cmp.Or(s.Learned.Memory, estimated(p, s).memory)
	storage := cmp.Or(s.Learned.EphemeralStorage, int64(float64(s.RootDisk)*mib*fileSystemShare))
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(p.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory/1024*1024, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(storage/1024*1024, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods(p, s), resource.DecimalSI),
	}
	if p.GPUs > 0 {
		list[v1alpha1.ResourceNvidiaGPU] = *resource.NewQuantity(int64(p.GPUs), resource.DecimalSI)
	}
	return list
}

func maxPods(p Plan, s Settings) int64 {
	kubelet := ptr.Deref(s.Kubelet, v1alpha1.KubeletConfiguration{})
	pods := int64(ptr.Deref(kubelet.MaxPods, int32(cmp.Or(s.Learned.Pods, defaultMaxPods))))
	if perCore := ptr.Deref(kubelet.PodsPerCore, 0); perCore > 0 {
		pods = min(pods, int64(perCore)*int64(p.VCPUs))
	}
	return pods
}

// overhead returns the part of a node that pods cannot have, by the kubelet's settings. It is at least the part that nodes of the plan
// reserve, or if none has registered, the part that they are expected to reserve. The kubelet subtracts the hard eviction threshold from
// the allocatable resources, but not the soft threshold.
func overhead(p Plan, total corev1.ResourceList, s Settings) *cloudprovider.InstanceTypeOverhead {
	kubelet := ptr.Deref(s.Kubelet, v1alpha1.KubeletConfiguration{})
	memory, disk := cmp.Or(kubelet.EvictionHard["memory.available"], defaultMemoryEviction),
		cmp.Or(kubelet.EvictionHard["nodefs.available"], defaultDiskEviction)
	o := &cloudprovider.InstanceTypeOverhead{
		KubeReserved:   quantities(kubelet.KubeReserved),
		SystemReserved: quantities(kubelet.SystemReserved),
		EvictionThreshold: corev1.ResourceList{
			corev1.ResourceMemory:           amount(string(memory), total[corev1.ResourceMemory]),
			corev1.ResourceEphemeralStorage: amount(string(disk), total[corev1.ResourceEphemeralStorage]),
		},
	}
	memoryReserved := cmp.Or(s.Learned.ReservedMemory, estimated(p, s).reserved)
	shown := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(s.Learned.ReservedCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memoryReserved, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(s.Learned.ReservedStorage, resource.BinarySI),
	}
	for name, more := range resources.Subtract(shown, o.Total()) {
		if more.Sign() > 0 {
			more.Add(o.KubeReserved[name])
			o.KubeReserved[name] = more
		}
	}
	return o
}

// amount reads an eviction threshold, a quantity or a percentage of the total; "100%" turns a threshold off, as in the kubelet. Any other
// value counts as 0; the schema of the LinodeNodeClass refuses such values.
func amount(text string, total resource.Quantity) resource.Quantity {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || share >= 100 {
			return resource.Quantity{}
		}
		return *resource.NewQuantity(int64(math.Ceil(total.AsApproximateFloat64()*share/100)), resource.BinarySI)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

func quantities(from map[string]v1alpha1.ReservedQuantity) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range from {
		if q, err := resource.ParseQuantity(string(text)); err == nil {
			list[corev1.ResourceName(name)] = q
		}
	}
	return list
}
