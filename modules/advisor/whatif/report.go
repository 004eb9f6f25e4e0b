package whatif

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
)

// Report has the result of Run. Prices are USD for a month of running all the time.
type Report struct {
	Region string  `json:"region"`
	Prices string  `json:"prices"` // where they are from, and from when
	Pods   int     `json:"pods"`   // that move, without pods of DaemonSets
	Today  []Group `json:"today"`
	Then   []Group `json:"then"`
	Totals
	Consolidation Consolidation `json:"consolidation"`
	Unplaced      []Unplaced    `json:"unplaced,omitempty"`
	Held          []Held        `json:"held,omitempty"`
	Sensitivity   []Variation   `json:"sensitivity,omitempty"`
	Use           *Use          `json:"use,omitempty"`
	Notes         []string      `json:"notes,omitempty"`
	NotModelled   []string      `json:"notModelled"`
}

// Totals are the sums of a report.
type Totals struct {
	TodayMonthly float64 `json:"todayMonthly"`
	ThenMonthly  float64 `json:"thenMonthly"`
	LowMonthly   float64 `json:"lowMonthly"` // by the order in which nodes join
	HighMonthly  float64 `json:"highMonthly"`
	Difference   float64 `json:"difference"` // then less today; negative = cheaper
}

// Group is nodes of one plan in one pool.
type Group struct {
	Pool       string  `json:"pool"` // "LKE pool 7", "NodePool default"
	Plan       string  `json:"plan"`
	Nodes      int     `json:"nodes"`
	CPUUsed    float64 `json:"cpuUsed"` // requested share of the allocatable resources, DaemonSets included
	MemoryUsed float64 `json:"memoryUsed"`
	Pods       int     `json:"pods"`
	Monthly    float64 `json:"monthly"` // of all nodes together
	Kept       bool    `json:"kept,omitempty"`
}

// Consolidation has the changes of consolidation after the first placement.
type Consolidation struct {
	Commands      int     `json:"commands"`
	Removed       int     `json:"removed"`
	Made          int     `json:"made"`
	BeforeNodes   int     `json:"beforeNodes"`
	BeforeMonthly float64 `json:"beforeMonthly"`
	Saved         float64 `json:"saved"` // a month
}

// Unplaced has pods that get no node, and the reason.
type Unplaced struct {
	Reason string   `json:"reason"`
	Pods   []string `json:"pods"` // namespace/name
}

// Held has nodes that consolidation must not touch, and the reason.
type Held struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// Variation is the result of a simulation with a change.
type Variation struct {
	NodePool   string  `json:"nodePool"`
	Change     string  `json:"change"`
	Nodes      int     `json:"nodes"`
	Monthly    float64 `json:"monthly"`
	Difference float64 `json:"difference"` // to the report's ThenMonthly
	Unplaced   int     `json:"unplaced"`
}

// used sums the requests of pods and the allocatable resources of their nodes.
type used struct {
	cpu, cpuOf, memory, memoryOf float64
	pods                         int
}

func (u *used) add(requests, allocatable corev1.ResourceList, pods int) {
	u.cpu += requests.Cpu().AsApproximateFloat64()
	u.memory += requests.Memory().AsApproximateFloat64()
	u.cpuOf += allocatable.Cpu().AsApproximateFloat64()
	u.memoryOf += allocatable.Memory().AsApproximateFloat64()
	u.pods += pods
}

func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// tally groups nodes by pool and plan.
type tally struct {
	groups map[string]*Group
	used   map[string]*used
}

func newTally() *tally { return &tally{groups: map[string]*Group{}, used: map[string]*used{}} }

func (t *tally) add(g Group, requests, allocatable corev1.ResourceList, pods int) {
	key := g.Pool + "\x00" + g.Plan
	if t.groups[key] == nil {
		t.groups[key], t.used[key] = &Group{Pool: g.Pool, Plan: g.Plan, Kept: g.Kept}, &used{}
	}
	t.groups[key].Nodes++
	t.groups[key].Monthly += g.Monthly
	t.used[key].add(requests, allocatable, pods)
}

// sorted returns the groups by pool and price, and the sum of their prices.
func (t *tally) sorted() (groups []Group, monthly float64) {
	for _, key := range slices.Sorted(maps.Keys(t.groups)) {
		g, u := t.groups[key], t.used[key]
		g.CPUUsed, g.MemoryUsed, g.Pods = share(u.cpu, u.cpuOf), share(u.memory, u.memoryOf), u.pods
		groups = append(groups, *g)
		monthly += g.Monthly
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(b.Monthly, a.Monthly), cmp.Compare(a.Plan, b.Plan))
	})
	return groups, monthly
}

// today groups the nodes of the snapshot.
func (r *run) today() (groups []Group, monthly float64) {
	onNode := map[string][]*corev1.Pod{}
	for _, pod := range r.input.Cluster.Pods {
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			onNode[pod.Spec.NodeName] = append(onNode[pod.Spec.NodeName], pod)
		}
	}
	t := newTally()
	for _, node := range r.input.Cluster.Nodes {
		t.add(r.group(node), resources.RequestsForPods(onNode[node.Name]...), node.Status.Allocatable, len(onNode[node.Name]))
	}
	return t.sorted()
}

// group returns the group of a node in the snapshot.
func (r *run) group(node *corev1.Node) Group {
	plan := node.Labels[corev1.LabelInstanceTypeStable]
	return Group{Pool: PoolOf(node), Plan: cmp.Or(plan, "unknown plan"), Monthly: r.monthly[plan], Kept: kept(node, r.input.Keep)}
}

// PoolOf returns the name, for users, of the pool to which a node belongs.
func PoolOf(node *corev1.Node) string {
	if nodePool := node.Labels[karpv1.NodePoolLabelKey]; nodePool != "" {
		return "NodePool " + nodePool
	}
	if pool := node.Labels[PoolLabel]; pool != "" {
		return "LKE pool " + pool
	}
	return "other nodes"
}

// then groups the nodes of the simulated cluster: the kept nodes and the made ones.
func (r *run) then(w *world) (groups []Group, monthly float64) {
	t := newTally()
	onNode := func(node string) (pods []*corev1.Pod) {
		for _, pod := range r.placed(w, node) {
			pods = append(pods, &pod)
		}
		return pods
	}
	for _, node := range r.input.Cluster.Nodes {
		if kept(node, r.input.Keep) {
			pods := onNode(node.Name)
			t.add(r.group(node), resources.RequestsForPods(pods...), node.Status.Allocatable, len(pods))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		m := w.nodes[name]
		pods := append(onNode(name), w.daemons(m)...)
		t.add(Group{Pool: "NodePool " + m.nodePool(), Plan: m.plan.Name, Monthly: r.monthly[m.plan.Name]},
			resources.RequestsForPods(pods...), m.node.Status.Allocatable, len(pods))
	}
	return t.sorted()
}

// notes returns the facts about the input that a reader of the report must know.
func notes(s *snapshot.Snapshot, prices map[string]float64) (texts []string) {
	unknown := map[string]int{}
	for _, node := range s.Nodes {
		if plan := node.Labels[corev1.LabelInstanceTypeStable]; prices[plan] == 0 {
			unknown[cmp.Or(plan, "no label "+corev1.LabelInstanceTypeStable)]++
		}
	}
	for _, plan := range slices.Sorted(maps.Keys(unknown)) {
		texts = append(texts, plural(unknown[plan], "node")+" without a price count as free today: "+plan)
	}
	return texts
}
