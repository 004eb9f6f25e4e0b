// Package nodeview summarises the nodes of a cluster: the requests of their pods, their prices, and Karpenter's plans for them.
//
// Of is a pure function of a snapshot, prices and a time. Requests are the requests of all running pods on a node, including DaemonSets'
// pods, as the scheduler counts them. Use is not measured. A NodeClaim whose node does not exist yet has a row, too. Prices are USD,
// without NodeOverlays. A plan without a price counts as free, and Node.Priced is false.
//
// Write draws the view for a terminal, in colours if the terminal has colours.
//
// The program karpenter-linode top calls the package. Live reads again after each interval. It shows the error of a failed read, and goes
// on with the next read. The package writes nothing to the cluster.
//
// Nodes are in the order of their pools and names. A node has the first State that applies, in the order of the constants: a node in
// deletion that has also drifted is deleting.
package nodeview

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	clock "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

// State names the phase of a node. A node has the first State that applies, in the order of the constants.
type State string

// The states.
const (
	Deleting      State = "deleting"      // it or its NodeClaim is being deleted
	Consolidating State = "consolidating" // Karpenter has decided to remove or replace it
	Joining       State = "joining"       // it is not there, or not initialized yet
	NotReady      State = "not ready"     // its kubelet reports so, or nothing
	Cordoned      State = "cordoned"      // new pods are kept away
	Drifted       State = "drifted"       // a new node would be made otherwise
	Held          State = "held"          // karpenter.sh/do-not-disrupt is true on it, or keeps one of its pods where it is
	Ready         State = "ready"
)

// Price returns the price of a plan in the cluster's region. known is false if the price is not known.
type Price func(plan string) (hourly, monthly float64, known bool)

// Node is one row.
type Node struct {
	Name        string  `json:"name"`
	Pool        string  `json:"pool"`
	Plan        string  `json:"plan"`
	CPU         float64 `json:"cpu"` // requested share of the allocatable resources
	Memory      float64 `json:"memory"`
	Pods        int     `json:"pods"`
	MaxPods     int     `json:"maxPods"`
	Hourly      float64 `json:"hourly"`
	Monthly     float64 `json:"monthly"`
	Priced      bool    `json:"priced"`
	AgeSeconds  int64   `json:"ageSeconds"`
	State       State   `json:"state"`
	requests    corev1.ResourceList
	allocatable corev1.ResourceList
}

// Sum has the sums of several nodes.
type Sum struct {
	Pool    string  `json:"pool"`
	Nodes   int     `json:"nodes"`
	CPU     float64 `json:"cpu"`
	Memory  float64 `json:"memory"`
	Pods    int     `json:"pods"`
	Hourly  float64 `json:"hourly"`
	Monthly float64 `json:"monthly"`
}

// View has all nodes, by pool and name, and their sums.
type View struct {
	Nodes   []Node `json:"nodes"`
	Pools   []Sum  `json:"pools"`
	Total   Sum    `json:"total"`
	Waiting int    `json:"waiting"` // pods without a node
	// OffHours has a line for each NodePool that is held without nodes now.
	OffHours []string `json:"offHours,omitempty"`
}

// Of returns the view of a cluster at the given time.
func Of(cluster *snapshot.Snapshot, price Price, now time.Time) View {
	pods := map[string][]*corev1.Pod{}
	v := View{Total: Sum{Pool: "all nodes"}}
	for _, pod := range cluster.Pods {
		switch {
		case podutil.IsTerminal(pod):
		case pod.Spec.NodeName == "":
			v.Waiting++
		default:
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	for _, nodePool := range cluster.NodePools {
		if held := offhours.Held(nodePool); held != "" {
			v.OffHours = append(v.OffHours, nodePool.Name+": "+held)
		}
	}
	claims, joined := map[string]*karpv1.NodeClaim{}, map[string]bool{}
	for _, claim := range cluster.NodeClaims {
		claims[cmp.Or(claim.Status.ProviderID, "\x00"+claim.Name)] = claim
	}
	for _, node := range cluster.Nodes {
		claim := claims[cmp.Or(node.Spec.ProviderID, "\x00")]
		if claim != nil {
			joined[claim.Name] = true
		}
		v.Nodes = append(v.Nodes, row(node, claim, pods[node.Name], price, now))
	}
	for _, claim := range cluster.NodeClaims {
		if !joined[claim.Name] {
			v.Nodes = append(v.Nodes, coming(claim, price, now))
		}
	}
	slices.SortFunc(v.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name)) })
	v.sum()
	return v
}

func row(node *corev1.Node, claim *karpv1.NodeClaim, pods []*corev1.Pod, price Price, now time.Time) Node {
	n := Node{
		Name: node.Name, Pool: whatif.PoolOf(node), Plan: node.Labels[corev1.LabelInstanceTypeStable], Pods: len(pods),
		MaxPods: int(node.Status.Allocatable.Pods().Value()), AgeSeconds: int64(now.Sub(node.CreationTimestamp.Time).Seconds()),
		State: stateOf(node, claim, pods, now), requests: resources.RequestsForPods(pods...), allocatable: node.Status.Allocatable,
	}
	n.CPU, n.Memory = shares(n.requests, n.allocatable)
	n.Hourly, n.Monthly, n.Priced = price(n.Plan)
	return n
}

// coming returns the row of a NodeClaim without a node.
func coming(claim *karpv1.NodeClaim, price Price, now time.Time) Node {
	n := Node{Name: claim.Name, Pool: "NodePool " + claim.Labels[karpv1.NodePoolLabelKey], Plan: claim.Labels[corev1.LabelInstanceTypeStable],
		State: Joining, AgeSeconds: int64(now.Sub(claim.CreationTimestamp.Time).Seconds())}
	if !claim.DeletionTimestamp.IsZero() {
		n.State = Deleting
	}
	if claim.Status.ProviderID != "" { // billed from then on
		n.Hourly, n.Monthly, n.Priced = price(n.Plan)
	}
	return n
}

func shares(requests, allocatable corev1.ResourceList) (cpu, memory float64) {
	share := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	return share(requests.Cpu().AsApproximateFloat64(), allocatable.Cpu().AsApproximateFloat64()),
		share(requests.Memory().AsApproximateFloat64(), allocatable.Memory().AsApproximateFloat64())
}

func stateOf(node *corev1.Node, claim *karpv1.NodeClaim, pods []*corev1.Pod, now time.Time) State {
	is := func(condition string) bool { return claim != nil && claim.StatusConditions().Get(condition).IsTrue() }
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey })
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	clk := clock.NewFakeClock(now)
	protected := func(pod *corev1.Pod) bool { return !podutil.IsDisruptable(pod, clk, nil) }
	switch {
	case !node.DeletionTimestamp.IsZero(), claim != nil && !claim.DeletionTimestamp.IsZero():
		return Deleting
	case tainted, is(karpv1.ConditionTypeDisruptionReason):
		return Consolidating
	case claim != nil && !is(karpv1.ConditionTypeInitialized):
		return Joining
	case !ready:
		return NotReady
	case node.Spec.Unschedulable:
		return Cordoned
	case is(karpv1.ConditionTypeDrifted):
		return Drifted
	case node.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true", slices.ContainsFunc(pods, protected):
		return Held
	}
	return Ready
}

// sum fills in the sums.
func (v *View) sum() {
	pools := map[string]*Sum{}
	of := map[string][2]corev1.ResourceList{}
	add := func(s *Sum, n Node) {
		s.Nodes++
		s.Pods += n.Pods
		s.Hourly += n.Hourly
		s.Monthly += n.Monthly
		of[s.Pool] = [2]corev1.ResourceList{resources.Merge(of[s.Pool][0], n.requests), resources.Merge(of[s.Pool][1], n.allocatable)}
	}
	for _, n := range v.Nodes {
		if pools[n.Pool] == nil {
			pools[n.Pool] = &Sum{Pool: n.Pool}
		}
		add(pools[n.Pool], n)
		add(&v.Total, n)
	}
	v.Total.CPU, v.Total.Memory = shares(of[v.Total.Pool][0], of[v.Total.Pool][1])
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		s := pools[pool]
		s.CPU, s.Memory = shares(of[pool][0], of[pool][1])
		v.Pools = append(v.Pools, *s)
	}
}
