package learnedcapacity

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

// AnnotationSources is on the ConfigMap: by plan, the nodes that have shown what was learned, in JSON.
const AnnotationSources = "karpenter.k8s.linode/learned-from"

// mostWitnesses bounds how many nodes of a plan are kept: two are enough, more only protect from several that report too little.
const mostWitnesses = 20

// witnesses keeps what nodes have shown, by plan and node. One kubelet can report anything about itself, so a figure counts when a second
// node has shown one that is no better.
type witnesses struct {
	mu    sync.Mutex
	plans map[string]map[string]instancetype.Figures
}

// hear notes what a node shows, and returns what is confirmed of the plan and by which nodes.
func (w *witnesses) hear(plan, node string, shown instancetype.Figures) (instancetype.Figures, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.plans == nil {
		w.plans = map[string]map[string]instancetype.Figures{}
	}
	nodes := w.plans[plan]
	if nodes == nil {
		nodes = map[string]instancetype.Figures{}
		w.plans[plan] = nodes
	}
	if _, known := nodes[node]; known || len(nodes) < mostWitnesses {
		nodes[node] = shown
	}
	return confirmed(slices.Collect(maps.Values(nodes))), slices.Sorted(maps.Keys(nodes))
}

// confirmed takes of each figure the second smallest, and of reservations the second largest.
func confirmed(all []instancetype.Figures) (result instancetype.Figures) {
	if len(all) < 2 {
		return result
	}
	second := func(of func(instancetype.Figures) int64) int64 {
		var values []int64
		for _, f := range all {
			if v := of(f); v != 0 {
				values = append(values, v)
			}
		}
		if len(values) < 2 {
			return 0
		}
		slices.Sort(values)
		return values[1]
	}
	return instancetype.Figures{
		Memory:           second(func(f instancetype.Figures) int64 { return f.Memory }),
		EphemeralStorage: second(func(f instancetype.Figures) int64 { return f.EphemeralStorage }),
		Pods:             second(func(f instancetype.Figures) int64 { return f.Pods }),
		ReservedCPU:      -second(func(f instancetype.Figures) int64 { return -f.ReservedCPU }),
		ReservedMemory:   -second(func(f instancetype.Figures) int64 { return -f.ReservedMemory }),
		ReservedStorage:  -second(func(f instancetype.Figures) int64 { return -f.ReservedStorage }),
	}
}

// shown is what a node reports. What an answer lacks is 0.
func shown(status corev1.NodeStatus) instancetype.Figures {
	reserved := func(name corev1.ResourceName, value func(corev1.ResourceList) int64) int64 {
		if _, known := status.Allocatable[name]; !known {
			return 0
		}
		return max(0, value(status.Capacity)-value(status.Allocatable))
	}
	return instancetype.Figures{
		Memory: status.Capacity.Memory().Value(), EphemeralStorage: status.Capacity.StorageEphemeral().Value(), Pods: status.Allocatable.Pods().Value(),
		ReservedCPU:     reserved(corev1.ResourceCPU, func(l corev1.ResourceList) int64 { return l.Cpu().MilliValue() }),
		ReservedMemory:  reserved(corev1.ResourceMemory, func(l corev1.ResourceList) int64 { return l.Memory().Value() }),
		ReservedStorage: reserved(corev1.ResourceEphemeralStorage, func(l corev1.ResourceList) int64 { return l.StorageEphemeral().Value() }),
	}
}
