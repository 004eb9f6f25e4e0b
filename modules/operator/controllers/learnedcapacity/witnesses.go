package learnedcapacity

import (
	"maps"
	"slices"
	"strings"
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

// confirmed takes of each figure the second smallest, and of reservations the second largest. What a node does not report is 0.
func confirmed(all []instancetype.Figures) (result instancetype.Figures) {
	for i, field := range fieldsOf(&result) {
		var values []int64
		for _, f := range all {
			if value := *fieldsOf(&f)[i].value; value != 0 {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		if strings.HasPrefix(string(field.name), reserved) {
			slices.Reverse(values)
		}
		if len(values) > 1 {
			*field.value = values[1]
		}
	}
	return result
}

// Shown returns the figures that a node reports. A figure that the answer lacks is 0.
func Shown(status corev1.NodeStatus) instancetype.Figures {
	kept := func(name corev1.ResourceName, value func(corev1.ResourceList) int64) int64 {
		if _, known := status.Allocatable[name]; !known {
			return 0
		}
		return max(0, value(status.Capacity)-value(status.Allocatable))
	}
	return instancetype.Figures{
		Memory: status.Capacity.Memory().Value(), EphemeralStorage: status.Capacity.StorageEphemeral().Value(),
		Pods:            status.Allocatable.Pods().Value(),
		ReservedCPU:     kept(corev1.ResourceCPU, func(l corev1.ResourceList) int64 { return l.Cpu().MilliValue() }),
		ReservedMemory:  kept(corev1.ResourceMemory, func(l corev1.ResourceList) int64 { return l.Memory().Value() }),
		ReservedStorage: kept(corev1.ResourceEphemeralStorage, func(l corev1.ResourceList) int64 { return l.StorageEphemeral().Value() }),
	}
}
