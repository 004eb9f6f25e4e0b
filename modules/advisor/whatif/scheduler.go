package whatif

import (
	"context"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	corescheduling "sigs.k8s.io/karpenter/pkg/scheduling"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// The kube-scheduler's weights and defaults for a pod that states no preferences (kubernetes.io/docs/reference/scheduling/config: the
// default plugins, and the constraints of "internal default constraints" of topology spread).
const (
	spreadWeight  = 2 // PodTopologySpread; NodeResourcesFit and NodeResourcesBalancedAllocation have 1
	spreadMaxSkew = 3 // over hosts
)

// A board has the nodes for plain pods, with the figures by which the kube-scheduler compares nodes.
type board struct {
	slots []*slot
}

// A slot is a node with its free resources.
type slot struct {
	name        string
	node        *corev1.Node
	labels      corescheduling.Requirements
	allocatable corev1.ResourceList
	requested   corev1.ResourceList
	owned       map[any]int // pods by their controller
}

// newBoard reads nodes of the simulated cluster and their pods. Without names it reads all nodes.
func (w *world) newBoard(ctx context.Context, names ...string) (*board, error) {
	b, nodes := &board{}, &corev1.NodeList{}
	if err := w.store.List(ctx, nodes); err != nil {
		return nil, err
	}
	for _, node := range nodes.Items {
		if node.Spec.Unschedulable || len(names) > 0 && !slices.Contains(names, node.Name) {
			continue
		}
		s := &slot{name: node.Name, node: &node, labels: corescheduling.NewLabelRequirements(node.Labels),
			allocatable: node.Status.Allocatable, requested: corev1.ResourceList{}, owned: map[any]int{}}
		if m := w.nodes[node.Name]; m != nil {
			s.requested = resources.RequestsForPods(w.daemons(m)...)
		}
		pods := &corev1.PodList{}
		if err := w.store.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
			return nil, err
		}
		for _, pod := range pods.Items {
			if !podutil.IsTerminal(&pod) {
				s.add(&pod)
			}
		}
		b.slots = append(b.slots, s)
	}
	return b, nil
}

func (s *slot) add(pod *corev1.Pod) {
	s.requested = resources.Merge(s.requested, resources.RequestsForPods(pod))
	s.owned[controllerOf(pod)]++
}

// A demand has the needs of a pod, computed once for all nodes.
type demand struct {
	pod          *corev1.Pod
	requests     corev1.ResourceList
	requirements corescheduling.Requirements
	owner        any
}

func demandOf(pod *corev1.Pod) demand {
	return demand{pod: pod, requests: resources.RequestsForPods(pod), requirements: corescheduling.NewStrictPodRequirements(pod),
		owner: controllerOf(pod)}
}

// takes returns whether a node takes a pod. It checks the resources first, because most nodes that do not take a pod are full.
func (s *slot) takes(d demand) bool {
	for name, quantity := range d.requests {
		if quantity.IsZero() {
			continue
		}
		sum := s.requested[name].DeepCopy()
		sum.Add(quantity)
		if sum.Cmp(s.allocatable[name]) > 0 {
			return false
		}
	}
	return corescheduling.Taints(s.node.Spec.Taints).ToleratesPod(d.pod) == nil && s.labels.Compatible(d.requirements) == nil
}

// room returns the score of NodeResourcesFit (least allocated) and NodeResourcesBalancedAllocation for CPU and memory.
func (s *slot) room(d demand) float64 {
	fraction := func(name corev1.ResourceName) float64 {
		sum := s.requested[name].DeepCopy()
		sum.Add(d.requests[name])
		of := s.allocatable[name]
		return share(sum.AsApproximateFloat64(), of.AsApproximateFloat64())
	}
	cpu, memory := fraction(corev1.ResourceCPU), fraction(corev1.ResourceMemory)
	return 100*(1-(cpu+memory)/2) + 100*(1-math.Abs(cpu-memory)/2)
}

// best returns the node with the highest score among the nodes that take the pod, nil if no node does. Of several nodes with this score
// it returns the first; the kube-scheduler takes any.
func (b *board) best(pod *corev1.Pod) *slot {
	wanted := demandOf(pod)
	fitting := slices.DeleteFunc(slices.Clone(b.slots), func(s *slot) bool { return !s.takes(wanted) })
	if len(fitting) == 0 {
		return nil
	}
	weight := math.Log(float64(len(fitting) + 2))
	spread := make([]float64, len(fitting))
	for i, s := range fitting {
		spread[i] = math.Round(float64(s.owned[wanted.owner])*weight + spreadMaxSkew - 1)
	}
	least, most := slices.Min(spread), slices.Max(spread)
	best, highest := fitting[0], -1.0
	for i, s := range fitting {
		score := s.room(wanted) + spreadWeight*100
		if most > 0 {
			score = s.room(wanted) + spreadWeight*100*(most+least-spread[i])/most
		}
		if score > highest {
			best, highest = s, score
		}
	}
	return best
}

// schedule places waiting pods on nodes as the kube-scheduler does, one after the other, and returns the pods that fit nowhere. With
// names it considers only these nodes.
func (w *world) schedule(ctx context.Context, queue []*corev1.Pod, names ...string) (left []*corev1.Pod, _ error) {
	if len(queue) == 0 {
		return nil, nil
	}
	b, err := w.newBoard(ctx, names...)
	if err != nil {
		return nil, err
	}
	placed := map[string][]*corev1.Pod{}
	for _, pod := range queue {
		s := b.best(pod)
		if s == nil {
			left = append(left, pod)
			continue
		}
		s.add(pod)
		placed[s.name] = append(placed[s.name], pod)
	}
	for _, s := range b.slots {
		if err := w.bind(ctx, s.name, placed[s.name]); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// controllerOf identifies the workload of a pod, whose pods the kube-scheduler spreads by default.
func controllerOf(pod *corev1.Pod) any {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return client.ObjectKeyFromObject(pod)
}
