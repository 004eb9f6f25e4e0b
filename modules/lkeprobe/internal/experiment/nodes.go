package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

// arrival holds the readings of nodes that were requested together.
type arrival struct {
	*pool
	n      int
	asked  poll.Window
	marks  map[string][]poll.Mark // by delay: one mark a node, in the order in which they show
	before map[string]bool        // entries of older nodes
	mine   map[string]bool        // entries of the nodes, once all are there
	old    map[int]bool           // Linodes of older nodes
	joined map[int]*poll.Mark     // by Linode: when its Kubernetes Node had the run's taint
	lower  poll.Window            // the first reading of a count that is lower than it was set
	bare   bool                   // a Kubernetes Node waits for the run's taint
	first  []api.Instance         // the first answer of the list that had each Linode
	count  int                    // the pool's count as it was set; 0 = not compared
	last   *api.LKENodePool       // the pool as read last
	latest []string               // tags of the first Linode, as read last
	// unlisted is called on Enterprise with a node's ID when the node's Linode is there before its entry is; nil = not
	// needed.
	unlisted func(nodeID string)
}

// expect watches for n nodes that a write requested; nodes that the pool had before do not count.
func (p *pool) expect(n int, asked poll.Window, before *api.LKENodePool) *arrival {
	a := &arrival{pool: p, n: n, asked: asked, marks: map[string][]poll.Mark{}, before: map[string]bool{}, old: map[int]bool{},
		mine: map[string]bool{}, joined: map[int]*poll.Mark{}, count: n}
	for _, delay := range []string{report.NodeEntry, report.InstanceID, report.LinodeListed, report.LinodeTagged, report.Ready,
		report.NodeReady} {
		a.marks[delay] = make([]poll.Mark, n)
	}
	if before != nil {
		a.count += len(before.Nodes)
		for _, node := range before.Nodes {
			a.before[node.ID] = true
			if node.InstanceID != nil {
				a.old[*node.InstanceID] = true
			}
		}
	}
	return a
}

// wait watches until all nodes have a Linode that is listed and, on Enterprise, tagged. With joined, it also waits
// until all nodes are ready. It waits for the arrivals along, of the same pool, in the same way and by the same
// readings.
func (a *arrival) wait(ctx context.Context, joined bool, along ...*arrival) {
	all := append([]*arrival{a}, along...)
	until(ctx, func() bool {
		done := true
		a.readPool(ctx, all)
		linodes, w, err := poll.Read(func() ([]api.Instance, error) { return a.Linodes(ctx) })
		must(err)
		for _, one := range all {
			one.takeLinodes(linodes, w)
		}
		if a.Nodes != nil {
			nodes, w, err := poll.Read(func() ([]Node, error) { return a.Nodes.Nodes(ctx) })
			must(err)
			for _, one := range all {
				one.takeNodes(nodes, w)
			}
		}
		for _, one := range all {
			done = done && one.complete(joined)
		}
		return done
	})
}

// waitForIDs waits until all nodes have a Linode's ID, by reads of the pool alone: many pools wait at once, and lists have a low limit.
func (a *arrival) waitForIDs(ctx context.Context) {
	until(ctx, func() bool {
		a.readPool(ctx, []*arrival{a})
		must(poll.Pause(ctx, 2*time.Second))
		return a.seen(report.InstanceID)
	})
}

func (a *arrival) complete(joined bool) bool {
	waiting := []string{report.NodeEntry, report.InstanceID, report.LinodeListed}
	if a.Enterprise {
		waiting = append(waiting, report.LinodeTagged)
	}
	if joined {
		waiting = append(waiting, report.Ready)
	}
	if joined && a.Nodes != nil {
		waiting = append(waiting, report.NodeReady)
	}
	return (!joined || !a.bare) && !slices.ContainsFunc(waiting, func(delay string) bool { return !a.seen(delay) })
}

// seen reports whether all nodes have a mark.
func (a *arrival) seen(delay string) bool {
	return !slices.ContainsFunc(a.marks[delay], func(m poll.Mark) bool { return !m.Seen() })
}

// show notes how many nodes a reading shows.
func (a *arrival) show(delay string, n int, w poll.Window) {
	for i := range a.marks[delay] {
		a.marks[delay][i].Note(n > i, w)
	}
}

func (a *arrival) readPool(ctx context.Context, all []*arrival) {
	pool, w := a.read(ctx)
	if pool == nil {
		a.Book.Anomaly("a 404 for a pool that exists")
		return
	}
	for _, one := range all {
		one.takePool(pool, w)
	}
}

func (a *arrival) takePool(pool *api.LKENodePool, w poll.Window) {
	a.last = pool
	a.weighCount(pool.Count, w)
	entries, ids, ready := 0, 0, 0
	for _, n := range pool.Nodes {
		if !a.expects(n) {
			continue
		}
		entries++
		if n.InstanceID != nil && !a.old[*n.InstanceID] {
			ids++
		}
		if n.Status == "ready" {
			ready++
		}
	}
	a.show(report.NodeEntry, entries, w)
	a.show(report.InstanceID, ids, w)
	a.show(report.Ready, ready, w)
}

// agreed is how long readings must agree that a count is lower, or that a node is back. A single reading may be late.
const agreed = 3 * settleTime

// weighCount compares the pool's count with the count that was set. A count that stays lower ends the trial.
func (a *arrival) weighCount(count int, w poll.Window) {
	switch {
	case count >= a.count:
		a.lower = poll.Window{}
		if a.count > 1 {
			a.Book.Weigh(report.LoweredCounts, true, "the count stayed %d", a.count)
		}
	case a.lower.From.IsZero():
		a.lower.From = w.From
	case w.From.Sub(a.lower.From) > agreed:
		err := fmt.Errorf("the pool's count was set to %d, and LKE lowered it to %d", a.count, count)
		a.Book.Weigh(report.LoweredCounts, false, "%v", err)
		must(err)
	}
}

// expects reports whether an entry is one of the requested nodes. Once all requested nodes are known, a new entry is
// another node.
func (a *arrival) expects(n api.LKENode) bool {
	if a.before[n.ID] || n.InstanceID != nil && a.old[*n.InstanceID] {
		return false
	}
	if len(a.mine) < a.n {
		a.mine[n.ID] = true
	}
	return a.mine[n.ID]
}

// own lists the IDs of the new nodes' Linodes as far as entries have them.
func (a *arrival) own() []int {
	var ids []int
	if a.last != nil {
		for _, n := range a.last.Nodes {
			if n.InstanceID != nil && a.mine[n.ID] {
				ids = append(ids, *n.InstanceID)
			}
		}
	}
	return ids
}

func (a *arrival) takeLinodes(list []api.Instance, w poll.Window) {
	listed, tagged := 0, 0
	for _, i := range list {
		if a.old[i.ID] || !a.has(i, a.own()) {
			continue
		}
		if listed == 0 {
			a.latest = i.Tags
		}
		listed++
		if listed > len(a.first) && len(a.first) < a.n {
			a.first = append(a.first, i)
			if a.unlisted != nil && !a.marks[report.NodeEntry][0].Seen() && a.form(i.Label) == report.ValueLKELabel {
				_, node, _ := strings.Cut(i.Label, "-")
				a.unlisted(node)
			}
		}
		if slices.Contains(i.Tags, fmt.Sprintf("nodepool=%d", a.id)) && slices.Contains(i.Tags, fmt.Sprintf("lke%d", a.ClusterID)) {
			tagged++
		}
	}
	a.show(report.LinodeListed, listed, w)
	a.show(report.LinodeTagged, tagged, w)
}

// takeNodes weighs each Kubernetes Node of the new Linodes: its name, its memory, and when its taint came.
func (a *arrival) takeNodes(list []Node, w poll.Window) {
	ready := 0
	a.bare = false
	for _, node := range list {
		if node.LinodeID == 0 || !slices.Contains(a.own(), node.LinodeID) {
			continue
		}
		if node.Ready {
			ready++
		}
		if a.joined[node.LinodeID] == nil {
			a.joined[node.LinodeID] = &poll.Mark{}
			a.meet(node)
		}
		mark := a.joined[node.LinodeID]
		had := mark.Seen()
		mark.Note(slices.Contains(node.Taints, TaintKey), w)
		switch {
		case mark.Seen() && !had:
			a.Book.Within(report.LateTaints, taintsWithin, "the pool's taint after the Node registered",
				mark.Since(poll.Window{From: node.Created, To: node.Created}))
		case mark.Seen():
		case w.From.Sub(node.Created) > 4*taintsWithin:
			a.Book.Weigh(report.LateTaints, false, "a Node lacks its pool's taint %v after it registered",
				w.From.Sub(node.Created).Round(time.Second))
		default:
			a.bare = true
		}
	}
	a.show(report.NodeReady, ready, w)
}

// meet weighs a Node's name and memory, which it has from the start.
func (a *arrival) meet(node Node) {
	for _, i := range a.first {
		if i.ID != node.LinodeID {
			continue
		}
		seen := "the Linode's label"
		if node.Name != i.Label {
			seen = either(strings.Contains(node.Name, i.Label), "more than the Linode's label",
				"neither the Linode's label nor anything that was made of it")
		}
		a.Book.Weigh(report.OtherNames, node.Name == i.Label, "a Node's name is %s", seen)
	}
	if a.MemoryMB > 0 && node.MemoryKiB > 0 {
		share := float64(node.MemoryKiB) / float64(a.MemoryMB<<10)
		a.Book.Weigh(report.LessMemory, share >= memoryShare, "a Node of %s has %.1f%% of the plan's memory, pods can have %.1f%%", a.Type,
			100*share, 100*float64(node.ForPods)/float64(a.MemoryMB<<10))
	}
}

// note notes the measured delays, also if some nodes have not come.
func (a *arrival) note() {
	a.weigh()
	shown := report.InstanceID
	if a.Enterprise { // entries come late there
		shown = report.LinodeListed
	}
	for delay, marks := range a.marks {
		for i := range marks {
			m, base := &marks[i], &a.marks[shown][i]
			switch delay {
			case report.NodeEntry, report.InstanceID, report.LinodeListed:
				a.delay(delay, m)
			default:
				if m.Seen() && base.Seen() && (delay != report.LinodeTagged || a.Enterprise) {
					a.Book.Delay(delay, m.After(base))
				}
			}
			lost := map[string]string{report.NodeEntry: "an entry of a node missing after it was there",
				report.LinodeListed: "a Linode missing in the list after it was there"}[delay]
			for n := m.Lost(); lost != "" && n > 0; n-- {
				a.Book.Anomaly(lost)
			}
		}
	}
}

// delay notes the time from the request to a mark, under a name.
func (a *arrival) delay(name string, m *poll.Mark) {
	if m.Seen() {
		a.Book.Delay(name, m.Since(a.asked))
	}
}

// weigh compares the nodes with what the operator assumes.
func (a *arrival) weigh() {
	for n, i := range a.first {
		took := a.marks[report.InstanceID][n].Since(a.asked)
		if a.Enterprise { // there only lists show it, and lists may lag; Created is a time of the API's clock
			took = a.marks[report.LinodeListed][n].Since(a.asked)
			took.AtLeast = min(took.AtLeast, max(0, i.Created.Sub(a.asked.From)))
		}
		a.Book.Within(report.LateIDs, firstID, "a Linode's ID", took)
		// The operator buys another plan in the place of a late node, which helps only if other nodes come in time.
		a.Book.Mostly(report.LateIDs, took.AtLeast <= operatorWaits, fmt.Sprintf("nodes got their Linode after %v", operatorWaits))
	}
	if waited := time.Since(a.asked.To); len(a.first) < a.n && waited > never && len(a.own()) < a.n {
		a.Book.Weigh(report.HangingPools, false, "%d of %d nodes had no Linode after %v", a.n-len(a.first), a.n, waited.Round(time.Minute))
	} else if len(a.first) == a.n {
		a.Book.Weigh(report.HangingPools, true, "%d of %d nodes have a Linode", len(a.first), a.n)
	}
}

// tagForm describes the tags of the first Linode, in terms of the pool and the cluster.
func (a *arrival) tagForm() string {
	pool, own := 0, []string{}
	for _, t := range a.latest {
		switch {
		case t == fmt.Sprintf("lke%d", a.ClusterID):
			own = append(own, "lke<cluster>")
		case t == fmt.Sprintf("nodepool=%d", a.id):
			own = append(own, "nodepool=<pool>")
		case slices.Contains(a.tags, t):
			pool++
		default:
			own = append(own, "another")
		}
	}
	switch {
	case len(a.latest) == 0:
		return "none"
	case pool > 0:
		own = append(own, either(pool == len(a.tags), "the pool's", "some of the pool's"))
	}
	return strings.Join(own, ", ")
}
