package learnedcapacity

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// AnnotationSources is on the ConfigMap: by its keys, the nodes that have shown what was learned, in JSON.
const AnnotationSources = "karpenter.k8s.linode/learned-from"

const (
	// newest is how many nodes decide. The median of three is right even if one node reports a wrong figure, and two new nodes change it.
	newest = 3
	// mostWitnesses bounds how many nodes of a plan are kept, for when newer ones go.
	mostWitnesses = 20
)

// witnesses keeps what living nodes have shown, by key of the catalog.
type witnesses struct {
	mu   sync.Mutex
	keys map[string][]witness
}

// A witness is a node with what it has shown.
type witness struct {
	node    string
	created time.Time
	shown   catalog.Figures
}

// hear notes what a node shows, and returns the confirmed figures of the key and the nodes that confirm them: the newest living nodes.
func (w *witnesses) hear(key string, heard witness, alive func(node string) bool) (catalog.Figures, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string][]witness{}
	}
	nodes := slices.DeleteFunc(w.keys[key], func(n witness) bool { return n.node == heard.node || !alive(n.node) })
	nodes = append(nodes, heard)
	slices.SortStableFunc(nodes, func(a, b witness) int {
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(a.node, b.node))
	})
	nodes = nodes[:min(len(nodes), mostWitnesses)]
	w.keys[key] = nodes
	nodes = nodes[:min(len(nodes), newest)]
	var figures []catalog.Figures
	var names []string
	for _, n := range nodes {
		figures, names = append(figures, n.shown), append(names, n.node)
	}
	slices.Sort(names)
	return confirmed(figures), names
}

// confirmed takes the second smallest value of each figure, and the second largest of reservations: the median of three nodes, and of two
// nodes the value that promises more. One kubelet can report anything about itself. A value that a node does not report is 0.
func confirmed(all []catalog.Figures) (result catalog.Figures) {
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
func Shown(status corev1.NodeStatus) catalog.Figures {
	kept := func(name corev1.ResourceName, value func(corev1.ResourceList) int64) int64 {
		if _, known := status.Allocatable[name]; !known {
			return 0
		}
		return max(0, value(status.Capacity)-value(status.Allocatable))
	}
	return catalog.Figures{
		Memory: status.Capacity.Memory().Value(), EphemeralStorage: status.Capacity.StorageEphemeral().Value(),
		Pods:            status.Allocatable.Pods().Value(),
		ReservedCPU:     kept(corev1.ResourceCPU, func(l corev1.ResourceList) int64 { return l.Cpu().MilliValue() }),
		ReservedMemory:  kept(corev1.ResourceMemory, func(l corev1.ResourceList) int64 { return l.Memory().Value() }),
		ReservedStorage: kept(corev1.ResourceEphemeralStorage, func(l corev1.ResourceList) int64 { return l.StorageEphemeral().Value() }),
	}
}
