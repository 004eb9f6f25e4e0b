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

// AnnotationSources is on the ConfigMap. It has, in JSON, the nodes that have shown the figures of each key.
const AnnotationSources = "karpenter.k8s.linode/learned-from"

const (
	// newest is the number of nodes that decide, the newest of a key. The median of three is right even if one node reports a wrong
	// figure. If Linode changes a plan, two new nodes change the median.
	newest = 3
	// mostWitnesses bounds how many nodes of a key are kept. The older nodes count when newer nodes are gone.
	mostWitnesses = 20
)

// witnesses keeps the figures that living nodes have shown, by key of the catalog.
type witnesses struct {
	mu   sync.Mutex
	keys map[string][]witness
}

// A witness is a node with the figures that it has shown.
type witness struct {
	node    string
	created time.Time
	shown   catalog.Figures
}

// hear records the figures of a node. It returns the confirmed figures of the key, and the newest living nodes, which confirm them.
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

// confirmed returns the second smallest value of each capacity, and the second largest value of each reservation. With three nodes this is
// the median; with two nodes it is the value that leaves more for pods. With one node nothing is confirmed, because a kubelet can report
// any figure. A value of 0 means that the node does not report the figure, and does not count.
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

// Shown returns the figures that a node reports. A figure that the status lacks is 0.
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
