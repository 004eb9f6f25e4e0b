// Package leaving finds the nodes of a NodePool that use up its disruption budgets, and the cause that keeps these nodes from going.
//
// Core counts an initialized node against every budget while the node is not ready, and from the node's deletion until its Linode is being
// removed. So a node in deletion whose pods may not be evicted uses up a budget until its pods go. In this time the NodePool's other nodes
// stay, empty nodes too, and core publishes no event about the cause. Example: a budget of 10% lets 1 of 10 nodes go. Node c is being
// deleted and waits for a pod whose PodDisruptionBudget allows no eviction. Nodes a and b are empty, and are billed until a person looks
// at c.
//
// A pod holds its node if the pod has the annotation karpenter.sh/do-not-disrupt, or if a PodDisruptionBudget allows no eviction of the pod
// now. A pod that is already terminating does not hold its node.
//
// The package reports only if an empty node stays because of this. A node is empty if consolidation would remove it as empty: it has no pod
// that would move to another node, and no annotation karpenter.sh/do-not-disrupt. At least one of the nodes that use up the budget must
// have done so for two minutes, because every node needs some time to leave. A node in deletion counts for this only if a pod holds it. A
// budget of 0 is never reported, because the user requested it.
//
// Of is a pure function, except for the clock. Package controllers/nodepoolstatus uses it for the condition, and package explain shows it.
//
// Texts contain the time at which a state began, so that the same state gives the same text. LimitsOf makes one list and returns the API
// server's error.
//
// A sentence names three nodes at most, and counts the others. Of returns an error for a budget that cannot be read, such as a wrong
// schedule.
package leaving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// usual is longer than a node takes to leave if no pod holds it: by default, pods have 30 seconds to end. Without this time, each
// scale-down would publish an event.
const usual = 2 * time.Minute

// Limits are the PodDisruptionBudgets of a cluster.
type Limits = pdb.Limits

// LimitsOf reads the PodDisruptionBudgets.
func LimitsOf(ctx context.Context, kube client.Client) (Limits, error) {
	return pdb.NewLimits(ctx, kube)
}

// A Member is an initialized node of a NodePool.
type Member struct {
	Claim *karpv1.NodeClaim
	Node  *corev1.Node
	Pods  []*corev1.Pod
}

// Members returns the members of a NodePool, sorted by the name of the node. pods returns the pods of a node.
func Members(nodePool string, claims []*karpv1.NodeClaim, nodes []*corev1.Node, pods func(node string) []*corev1.Pod) (all []Member) {
	byProviderID := map[string]*corev1.Node{}
	for _, node := range nodes {
		if node.Spec.ProviderID != "" {
			byProviderID[node.Spec.ProviderID] = node
		}
	}
	for _, claim := range claims {
		node := byProviderID[claim.Status.ProviderID]
		if node == nil || claim.Labels[karpv1.NodePoolLabelKey] != nodePool || node.Labels[karpv1.NodeInitializedLabelKey] != "true" ||
			claim.StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating).IsTrue() {
			continue
		}
		all = append(all, Member{claim, node, pods(node.Name)})
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return all
}

// A Hold is a pod that may not be evicted.
type Hold struct {
	Pod     client.ObjectKey
	Budgets []client.ObjectKey // PodDisruptionBudgets; none = the pod's annotation karpenter.sh/do-not-disrupt
}

func (h Hold) String() string {
	if len(h.Budgets) == 0 {
		return fmt.Sprintf("pod %s has the annotation %s", h.Pod, karpv1.DoNotDisruptAnnotationKey)
	}
	var names []string
	for _, budget := range h.Budgets {
		names = append(names, "PodDisruptionBudget "+budget.String())
	}
	return fmt.Sprintf("%s allows no eviction of pod %s", strings.Join(names, " with "), h.Pod)
}

// Holds returns the pods that have to be evicted and may not be evicted now, in order of their names.
func Holds(pods []*corev1.Pod, limits Limits, clk clock.Clock) (all []Hold) {
	for _, pod := range pods {
		if !podutil.IsWaitingEviction(pod, clk) || podutil.IsTerminating(pod) {
			continue
		}
		hold := Hold{Pod: client.ObjectKeyFromObject(pod)}
		if !podutil.IsDoNotDisruptActive(pod, clk, unheard{}) {
			budgets, evictable := limits.CanEvictPods([]*corev1.Pod{pod}, clk, unheard{})
			if evictable {
				continue
			}
			hold.Budgets = budgets
		}
		all = append(all, hold)
	}
	slices.SortFunc(all, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	return all
}

// unheard drops the events of core's functions about invalid annotations, because core itself publishes the same events.
type unheard struct{}

func (unheard) Publish(...events.Event) {}

// A Node counts against the budgets of its NodePool.
type Node struct {
	Name  string
	Since time.Time // when its deletion began, or when it became not ready
	Going bool      // it is being deleted
	Holds []Hold
}

// String describes the node, with the time at which its state began.
func (n Node) String() string {
	since := n.Since.UTC().Format(time.RFC3339)
	switch {
	case !n.Going:
		return fmt.Sprintf("node %s, which has not been ready since %s", n.Name, since)
	case len(n.Holds) == 0:
		return fmt.Sprintf("node %s, whose deletion began at %s", n.Name, since)
	}
	text := fmt.Sprintf("node %s, whose deletion began at %s and waits, because %s", n.Name, since, n.Holds[0])
	if more := len(n.Holds) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more pods)", more)
	}
	return text
}

// Use shows how the nodes of a NodePool use its budgets for empty nodes.
type Use struct {
	Allowed int      // nodes that the budgets let go at a time
	By      []Node   // the nodes that count against the budgets, by name
	Empty   []string // names of the nodes that Karpenter would remove now if a budget allowed it
}

// Of returns the use of a NodePool's budgets.
func Of(nodePool *karpv1.NodePool, members []Member, limits Limits, clk clock.Clock) (Use, error) {
	allowed, err := nodePool.GetAllowedDisruptionsByReason(clk, len(members), karpv1.DisruptionReasonEmpty)
	if err != nil {
		return Use{}, fmt.Errorf("the budgets of NodePool %s: %w", nodePool.Name, err)
	}
	use := Use{Allowed: allowed}
	for _, m := range members {
		since, ready := readiness(m.Node)
		switch deleted := m.Claim.DeletionTimestamp; {
		case !deleted.IsZero():
			use.By = append(use.By, Node{m.Node.Name, deleted.Time, true, Holds(m.Pods, limits, clk)})
		case !ready:
			use.By = append(use.By, Node{m.Node.Name, since, false, nil})
		case empty(nodePool, m):
			use.Empty = append(use.Empty, m.Node.Name)
		}
	}
	return use, nil
}

// Exhausted returns whether the nodes that count against the budgets keep all other nodes from going. It returns false for a budget of 0,
// because the user requested it.
func (u Use) Exhausted() bool { return u.Allowed > 0 && len(u.By) >= u.Allowed }

// Kept returns a sentence that names the empty nodes that stay and the nodes that use up the budget. It returns "" if no empty node stays,
// or if no node has used up the budget for longer than a node usually takes to leave.
func (u Use) Kept(now time.Time) string {
	long := func(n Node) bool { return now.Sub(n.Since) > usual && (!n.Going || len(n.Holds) > 0) }
	if len(u.Empty) == 0 || !u.Exhausted() || !slices.ContainsFunc(u.By, long) {
		return ""
	}
	const named = 3
	names := slices.Clone(u.Empty[:min(named, len(u.Empty))])
	if more := len(u.Empty) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	var by []string
	for _, node := range u.By[:min(named, len(u.By))] {
		by = append(by, node.String())
	}
	return fmt.Sprintf("Empty nodes stay and are billed (%s): the budgets of the NodePool let %d leave at a time, and other nodes use the "+
		"budgets up: %s", strings.Join(names, ", "), u.Allowed, strings.Join(by, "; "))
}

func readiness(node *corev1.Node) (since time.Time, ready bool) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.LastTransitionTime.Time, condition.Status == corev1.ConditionTrue
		}
	}
	return node.CreationTimestamp.Time, false
}

// empty returns whether consolidation would remove the node as empty.
func empty(nodePool *karpv1.NodePool, m Member) bool {
	return nodePool.Spec.Disruption.ConsolidateAfter.Duration != nil && nodePool.Spec.Replicas == nil &&
		m.Claim.StatusConditions().Get(karpv1.ConditionTypeConsolidatable).IsTrue() &&
		m.Node.Annotations[karpv1.DoNotDisruptAnnotationKey] != "true" &&
		!slices.ContainsFunc(m.Pods, podutil.IsReschedulable)
}
