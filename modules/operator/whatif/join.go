package whatif

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	corescheduling "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// An arrival is the order in which planned nodes join and pods of one age are in the scheduler's queue.
type arrival int

// The arrivals that are tried. The kube-scheduler has not read Karpenter's plan: it gives each node that joins those of the waiting pods
// that fit, in the order of its queue.
const (
	asPlanned     arrival = iota // each pod runs where Karpenter has planned it
	inOrder                      // nodes join one after the other
	lastNodeFirst                // in the opposite order
	lastPodFirst                 // pods of one age are in the opposite order
	lastFirst                    // both
)

var arrivals = []arrival{asPlanned, inOrder, lastNodeFirst, lastPodFirst, lastFirst}

// join makes the planned nodes. Pods whose constraints look at other pods, at volumes or at ports are placed as planned.
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
	var queue []*corev1.Pod
	for _, claim := range planned {
		claim.Pods = slices.DeleteFunc(claim.Pods, func(pod *corev1.Pod) bool {
			if !plain(pod) {
				return false
			}
			queue = append(queue, pod)
			return true
		})
	}
	reversed := 1
	if w.arrival == lastPodFirst || w.arrival == lastFirst {
		reversed = -1
	}
	slices.SortFunc(queue, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			reversed*cmp.Compare(a.Namespace, b.Namespace), reversed*cmp.Compare(a.Name, b.Name))
	})
	for _, claim := range planned {
		name, err := w.make(ctx, claim)
		if err != nil {
			return err
		}
		if queue, err = w.fill(ctx, name, queue); err != nil {
			return err
		}
	}
	return nil
}

// fill places waiting pods on a node while they fit, and returns the others.
func (w *world) fill(ctx context.Context, name string, queue []*corev1.Pod) (left []*corev1.Pod, _ error) {
	m := w.nodes[name]
	free := m.node.Status.Allocatable.DeepCopy()
	for _, daemon := range w.daemons(m) {
		free = resources.Subtract(free, resources.RequestsForPods(daemon))
	}
	for key := range m.pods {
		pod := &corev1.Pod{}
		if err := w.store.Get(ctx, key, pod); err != nil {
			return nil, err
		}
		free = resources.Subtract(free, resources.RequestsForPods(pod))
	}
	labels := corescheduling.NewLabelRequirements(m.node.Labels)
	var placed []*corev1.Pod
	for _, pod := range queue {
		requests := resources.RequestsForPods(pod)
		if corescheduling.Taints(m.node.Spec.Taints).ToleratesPod(pod) != nil || !resources.Fits(requests, free) ||
			labels.Compatible(corescheduling.NewStrictPodRequirements(pod)) != nil {
			left = append(left, pod)
			continue
		}
		free = resources.Subtract(free, requests)
		placed = append(placed, pod)
	}
	return left, w.bind(ctx, name, placed)
}

// plain returns whether nothing but the node itself decides whether a pod fits.
func plain(pod *corev1.Pod) bool {
	if a := pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return false
	}
	ports := slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
	})
	return len(pod.Spec.TopologySpreadConstraints) == 0 && len(pod.Spec.Volumes) == 0 && !ports
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
