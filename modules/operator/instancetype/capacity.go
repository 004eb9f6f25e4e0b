package instancetype

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	// LKE nodes are configured for 110 pods.
	defaultMaxPods = 110

	mib = 1 << 20

	// The file system takes a little of the disk: a g6-standard-2 of 81920 MiB shows 82470344 KiB and a
	// g6-standard-1 of 51200 MiB 51524172 KiB, 98.3% both.
	fileSystemShare = 0.98

	// A g6-standard-2 has 3919624 KiB allocatable of 4022024 KiB, a g6-standard-1 1924896 of 2027296:
	// 100 MiB each, the kubelet's default for evictionHard memory.available, and nothing else.
	defaultMemoryEviction = "100Mi"
	// The kubelet's default for evictionHard nodefs.available.
	defaultDiskEviction = "10%"

	signalMemory = "memory.available"
	signalDisk   = "nodefs.available"
)

// recordedMemory is what nodes of LKE have shown, in bytes, by the plan's MiB: a g6-standard-1 and a g6-standard-2.
// What a guest has depends on the size of its memory and not on the plan's class, so a size that is recorded counts
// as learned for every plan that has it.
//
// Other sizes are estimated by Settings.MemoryOverhead. The two figures, 3.3% and 4.1% less than the plan, do not show
// how the share goes on: a line through them would give 4.7% at 16 GiB, but no recording shows whether that holds; the
// first registered nodes replace the estimate, and pods that were promised memory which is not there stay pending.
var recordedMemory = map[int]int64{
	2048: 2027296 << 10,
	4096: 4022024 << 10,
}

// memory is what a node of the plan shows: learned, recorded or estimated.
func memory(p Plan, s Settings) int64 {
	if s.Learned.Memory > 0 {
		return s.Learned.Memory
	}
	if recorded, ok := recordedMemory[p.MemoryMB]; ok {
		return recorded
	}
	return int64(float64(p.MemoryMB) * mib * (1 - s.MemoryOverhead))
}

func ephemeralStorage(p Plan, s Settings) int64 {
	if s.Learned.EphemeralStorage > 0 {
		return s.Learned.EphemeralStorage
	}
	return int64(float64(p.DiskMB) * mib * fileSystemShare)
}

func capacity(p Plan, s Settings) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(p.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory(p, s)/1024*1024, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(ephemeralStorage(p, s)/1024*1024, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods(p, s), resource.DecimalSI),
	}
	if p.GPUs > 0 {
		list[v1alpha1.ResourceNvidiaGPU] = *resource.NewQuantity(int64(p.GPUs), resource.DecimalSI)
	}
	return list
}

func maxPods(p Plan, s Settings) int64 {
	pods, kubelet := int64(defaultMaxPods), s.Kubelet
	if s.Learned.Pods > 0 {
		pods = s.Learned.Pods
	}
	if kubelet == nil {
		return pods
	}
	if kubelet.MaxPods != nil {
		pods = int64(*kubelet.MaxPods)
	}
	if kubelet.PodsPerCore != nil && *kubelet.PodsPerCore > 0 {
		pods = min(pods, int64(*kubelet.PodsPerCore)*int64(p.VCPUs))
	}
	return pods
}

// overhead is what pods cannot have: by the kubelet's settings, and never less than what nodes of the plan have shown.
func overhead(total corev1.ResourceList, s Settings) *cloudprovider.InstanceTypeOverhead {
	kubelet := s.Kubelet
	o := &cloudprovider.InstanceTypeOverhead{
		KubeReserved:   corev1.ResourceList{},
		SystemReserved: corev1.ResourceList{},
		EvictionThreshold: corev1.ResourceList{
			corev1.ResourceMemory:           threshold(kubelet, signalMemory, defaultMemoryEviction, total[corev1.ResourceMemory]),
			corev1.ResourceEphemeralStorage: threshold(kubelet, signalDisk, defaultDiskEviction, total[corev1.ResourceEphemeralStorage]),
		},
	}
	if kubelet != nil {
		o.KubeReserved = quantities(kubelet.KubeReserved)
		o.SystemReserved = quantities(kubelet.SystemReserved)
	}
	for name, shown := range map[corev1.ResourceName]*resource.Quantity{
		corev1.ResourceCPU:              resource.NewMilliQuantity(s.Learned.ReservedCPU, resource.DecimalSI),
		corev1.ResourceMemory:           resource.NewQuantity(s.Learned.ReservedMemory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.NewQuantity(s.Learned.ReservedStorage, resource.BinarySI),
	} {
		stated := o.Total()
		shown.Sub(stated[name])
		if shown.Sign() > 0 {
			reserved := o.KubeReserved[name]
			reserved.Add(*shown)
			o.KubeReserved[name] = reserved
		}
	}
	return o
}

// threshold is what eviction keeps free. The kubelet takes the hard threshold alone off the allocatable
// resources, not the soft one.
func threshold(kubelet *v1alpha1.KubeletConfiguration, signal, fallback string, total resource.Quantity) resource.Quantity {
	if kubelet != nil {
		if hard, ok := kubelet.EvictionHard[signal]; ok {
			return amount(string(hard), total)
		}
	}
	return amount(fallback, total)
}

// amount reads an eviction threshold, a quantity or a percentage of the total. "100%" turns a threshold
// off, as the kubelet has it. The schema of the LinodeNodeClass refuses what is neither: such a value
// counts as nothing here.
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
