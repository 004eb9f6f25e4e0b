package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// An arrival is the order in which planned nodes join and pods of one age are in the scheduler's queue.
type arrival int

// The arrivals that are simulated. The kube-scheduler does not know Karpenter's plan: when a node joins, it gives the node the waiting
// pods that fit, in the order of its queue.
const (
	asPlanned     arrival = iota // each pod runs where Karpenter has planned it
	inOrder                      // nodes join one after the other
	lastNodeFirst                // in the opposite order
	lastPodFirst                 // pods of one age are in the opposite order
	lastFirst                    // both
	together                     // all nodes at once
)

var arrivals = []arrival{asPlanned, inOrder, lastNodeFirst, lastPodFirst, lastFirst, together}

// manyPods is the number of pods above which fewer arrivals are simulated, because each takes long.
const manyPods = 1000

// tried returns the arrivals that are simulated for the given number of pods. If it leaves arrivals out, it also returns a note.
func tried(pods int) ([]arrival, string) {
	if pods <= manyPods {
		return arrivals, ""
	}
	some := []arrival{asPlanned, inOrder, together}
	return some, fmt.Sprintf("of more than %d pods the range is computed from %d orders of arrival and not from %d: it may be wider", manyPods,
		len(some), len(arrivals))
}

// join makes the planned nodes. It places pods as planned if their constraints concern other pods, volumes or ports.
func (w *world) join(ctx context.Context, planned []*scheduling.NodeClaim) error {
	if w.arrival == asPlanned {
		for _, claim := range planned {
			if _, err := w.make(ctx, claim); err != nil {
				return err
			}
		}
		return nil
	}
	planned = slices.Clone(planned)
	if w.arrival == lastNodeFirst || w.arrival == lastFirst {
		slices.Reverse(planned)
	}
	var waiting queue
	for _, claim := range planned {
		waiting.take(claim)
	}
	queue := waiting.sorted(w.arrival)
	for i, claim := range planned {
		name, err := w.make(ctx, claim)
		if err != nil {
			return err
		}
		if w.arrival == together {
			continue
		}
		var joined []string // all nodes at first; then the nodes that have joined before are only fuller than when they did not take the pod
		if i > 0 {
			joined = []string{name}
		}
		if queue, err = w.schedule(ctx, queue, joined...); err != nil {
			return err
		}
	}
	if w.arrival != together {
		return nil
	}
	_, err := w.schedule(ctx, queue)
	return err
}

// A queue has pods that the kube-scheduler places.
type queue []*corev1.Pod

// take moves the plain pods of a planned node into the queue.
func (q *queue) take(claim *scheduling.NodeClaim) { claim.Pods = q.without(claim.Pods) }

// without moves the plain pods into the queue and returns the others.
func (q *queue) without(pods []*corev1.Pod) (others []*corev1.Pod) {
	for _, pod := range pods {
		if plain(pod) {
			*q = append(*q, pod)
		} else {
			others = append(others, pod)
		}
	}
	return others
}

// sorted returns the pods in the order in which the kube-scheduler tries them.
func (q queue) sorted(as arrival) []*corev1.Pod {
	reversed := 1
	if as == lastPodFirst || as == lastFirst {
		reversed = -1
	}
	return slices.SortedFunc(slices.Values(q), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			reversed*cmp.Compare(a.Namespace, b.Namespace), reversed*cmp.Compare(a.Name, b.Name))
	})
}

// plain returns whether only the node itself decides whether the pod fits.
func plain(pod *corev1.Pod) bool {
	if a := pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return false
	}
	ports := slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
	})
	claims := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { // every pod also has its ServiceAccount's token
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
	return len(pod.Spec.TopologySpreadConstraints) == 0 && !claims && !ports
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
