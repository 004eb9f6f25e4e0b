package simulatedlke

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Machine is the size of a plan, in the Linode API's units.
type Machine struct {
	VCPUs, GPUs      int
	Shares           int // of each GPU; 0 = GPUs are not shared
	MemoryMB, DiskMB int
	Tier             string // of LKE; "" where the machine is no worker of LKE
	Memory           Memory
}

// Memory chooses how much memory a worker shows and how much its kubelet reserves, for
// plans without a recording.
type Memory string

// The variants. Sources: FACTS.md, section 18, rows 1 to 3 of the first table.
const (
	// MemoryLean: a worker shows the plan's memory less 1/64 and less a fixed part.
	// Kubelets of Enterprise reserve the larger of the amounts of MemoryByPod and
	// MemoryByShare.
	MemoryLean Memory = ""
	// MemoryLeaner: the memory of larger plans lies on the line through the recorded
	// plans, so that a worker shows about 4.9% less than the plan. Kubelets reserve as
	// with MemoryLean.
	MemoryLeaner Memory = "leaner"
	// MemoryByPod: kubelets of Enterprise reserve 255 MiB and 11 MiB for each pod.
	MemoryByPod Memory = "by-pod"
	// MemoryByShare: kubelets of Enterprise reserve a share of the memory: 25% of the
	// first 4 GiB, 20% of the next 4 GiB, and less of each further part.
	MemoryByShare Memory = "by-share"
)

// figure has the figure of a plan and the figure of its node, in KiB. The figures of two
// plans were recorded on real LKE nodes (Kubernetes 1.35, 2026).
type figure struct{ plan, node int64 }

var (
	memorySmall, memoryLarge = figure{2048 << 10, 2027296}, figure{4096 << 10, 4022024}     // g6-standard-1, g6-standard-2
	diskSmall, diskLarge     = figure{51200 << 10, 51524172}, figure{81920 << 10, 82470344} // the same two
)

// The kubelet's own reservations. On Standard these are only the kubelet's default
// eviction thresholds: the recorded difference between capacity and allocatable memory.
const (
	memoryThreshold   = 100 << 10 // KiB
	diskThresholdPart = 10        // percent of the disk
	podsPerNode       = 110
)

// Capacity returns what the kubelet of such a machine reports as capacity and
// allocatable.
//
// The disk lies on the line through the two recorded plans; a node shows about 1.6%
// less than its plan. The memory is exact for the two recorded plans; for larger plans
// see Memory. GPUs are reported as if NVIDIA's device plugin were installed, which
// renames shared GPUs.
func Capacity(m Machine) (capacity, allocatable corev1.ResourceList) {
	memory := memoryOf(m)
	disk := onLine(int64(m.DiskMB)<<10, diskSmall, diskLarge)
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:                   *resource.NewQuantity(int64(m.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:                kibibytes(memory),
		corev1.ResourceEphemeralStorage:      kibibytes(disk),
		corev1.ResourcePods:                  *resource.NewQuantity(podsPerNode, resource.DecimalSI),
		corev1.ResourceName("hugepages-1Gi"): *resource.NewQuantity(0, resource.BinarySI),
		corev1.ResourceName("hugepages-2Mi"): *resource.NewQuantity(0, resource.BinarySI),
	}
	switch {
	case m.GPUs > 0 && m.Shares > 0:
		capacity["nvidia.com/gpu.shared"] = *resource.NewQuantity(int64(m.GPUs*m.Shares), resource.DecimalSI)
	case m.GPUs > 0:
		capacity["nvidia.com/gpu"] = *resource.NewQuantity(int64(m.GPUs), resource.DecimalSI)
	}
	allocatable = capacity.DeepCopy()
	allocatable[corev1.ResourceMemory] = kibibytes(memory - memoryThreshold - Reserved(m))
	allocatable[corev1.ResourceEphemeralStorage] = *resource.NewQuantity((disk<<10)/100*(100-diskThresholdPart), resource.DecimalSI)
	return capacity, allocatable
}

// memoryOf is the memory, in KiB, that a node's kernel shows.
func memoryOf(m Machine) int64 {
	plan := int64(m.MemoryMB) << 10
	if plan <= memoryLarge.plan || m.Memory == MemoryLeaner {
		return onLine(plan, memorySmall, memoryLarge)
	}
	pages := func(plan int64) int64 { return plan / 64 }
	fixed := memoryLarge.plan - pages(memoryLarge.plan) - memoryLarge.node
	return plan - pages(plan) - fixed
}

// Reserved is the memory, in KiB, that a kubelet reserves in addition to its eviction
// threshold.
func Reserved(m Machine) int64 {
	const mib, gib = 1 << 10, 1 << 20
	if m.Tier != linodesim.Enterprise {
		return 0
	}
	byPod, byShare, rest := int64(255+11*podsPerNode)*mib, int64(0), int64(m.MemoryMB)<<10
	for _, part := range []struct{ size, percent int64 }{{4 * gib, 25}, {4 * gib, 20}, {8 * gib, 10}, {112 * gib, 6}, {rest, 2}} {
		taken := min(rest, part.size)
		byShare, rest = byShare+taken*part.percent/100, rest-taken
	}
	switch m.Memory {
	case MemoryByPod:
		return byPod
	case MemoryByShare:
		return byShare
	case MemoryLean, MemoryLeaner:
	}
	return max(byPod, byShare)
}

// machineOf is the machine of a worker.
func machineOf(e linodesim.Event, memory Memory) Machine {
	return Machine{VCPUs: e.VCPUs, GPUs: e.GPUs, Shares: shares(e.Labels), MemoryMB: e.MemoryMB, DiskMB: e.DiskMB, Tier: e.Cluster.Tier,
		Memory: memory}
}

// pluginConfigLabel names the configuration that NVIDIA's device plugin uses on a node (github.com/NVIDIA/k8s-device-plugin, README).
const pluginConfigLabel = "nvidia.com/device-plugin.config"

// shares returns how many shares the plugin makes of each GPU of a node. The simulated plugin has a configuration shared-N for each N, as
// docs/gpu-sharing.md has shared-4; any other name leaves GPUs whole.
func shares(labels map[string]string) int {
	replicas, named := strings.CutPrefix(labels[pluginConfigLabel], "shared-")
	n, err := strconv.Atoi(replicas)
	if !named || err != nil {
		return 0
	}
	return n
}

// onLine is the value at plan on the line through two figures.
func onLine(plan int64, a, b figure) int64 {
	return a.node + (plan-a.plan)*(b.node-a.node)/(b.plan-a.plan)
}

// kibibytes returns a quantity with the suffix Ki, as kubelets write it.
func kibibytes(n int64) resource.Quantity {
	return resource.MustParse(strconv.FormatInt(n, 10) + "Ki")
}
