package simulatedlke

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Machine is the size of a plan, in the Linode API's units.
type Machine struct {
	VCPUs, GPUs      int
	MemoryMB, DiskMB int
}

// A node's own figures beside its plan's, all in KiB. Two plans were recorded on
// real LKE nodes (Kubernetes 1.35, 2026).
type figure struct{ plan, node int64 }

var (
	memorySmall, memoryLarge = figure{2048 << 10, 2027296}, figure{4096 << 10, 4022024}     // g6-standard-1, g6-standard-2
	diskSmall, diskLarge     = figure{51200 << 10, 51524172}, figure{81920 << 10, 82470344} // the same two
)

// The kubelet's own reservations, as the recorded difference between capacity
// and allocatable memory shows: its default eviction thresholds and no more.
const (
	memoryThreshold   = 100 << 10 // KiB
	diskThresholdPart = 10        // percent of the disk
	podsPerNode       = 110
)

// Capacity returns what the kubelet of such a machine reports as capacity and
// allocatable.
//
// Memory and disk lie on the line through the two recorded plans and are exact
// for those; for every other plan they are extrapolated: about 4.9% of memory and
// 1.6% of disk are missing from large plans. Real large nodes probably miss less
// memory, so that what schedules here schedules there. GPUs are reported as if
// NVIDIA's device plugin were installed.
func Capacity(m Machine) (capacity, allocatable corev1.ResourceList) {
	memory := onLine(int64(m.MemoryMB)<<10, memorySmall, memoryLarge)
	disk := onLine(int64(m.DiskMB)<<10, diskSmall, diskLarge)
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:                   *resource.NewQuantity(int64(m.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:                kibibytes(memory),
		corev1.ResourceEphemeralStorage:      kibibytes(disk),
		corev1.ResourcePods:                  *resource.NewQuantity(podsPerNode, resource.DecimalSI),
		corev1.ResourceName("hugepages-1Gi"): *resource.NewQuantity(0, resource.BinarySI),
		corev1.ResourceName("hugepages-2Mi"): *resource.NewQuantity(0, resource.BinarySI),
	}
	if m.GPUs > 0 {
		capacity["nvidia.com/gpu"] = *resource.NewQuantity(int64(m.GPUs), resource.DecimalSI)
	}
	allocatable = capacity.DeepCopy()
	allocatable[corev1.ResourceMemory] = kibibytes(memory - memoryThreshold)
	allocatable[corev1.ResourceEphemeralStorage] = *resource.NewQuantity((disk<<10)/100*(100-diskThresholdPart), resource.DecimalSI)
	return capacity, allocatable
}

// onLine is the value at plan on the line through two figures.
func onLine(plan int64, a, b figure) int64 {
	return a.node + (plan-a.plan)*(b.node-a.node)/(b.plan-a.plan)
}

// kibibytes is written with the suffix Ki, as kubelets do.
func kibibytes(n int64) resource.Quantity {
	return resource.MustParse(strconv.FormatInt(n, 10) + "Ki")
}
