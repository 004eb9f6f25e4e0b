package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

func asError(err error) (*linode.Error, bool) {
	var e *linode.Error
	ok := errors.As(err, &e)
	return e, ok
}

// Arrival holds the readings of nodes that were requested together. Each list has
// one mark per node, in the order in which they show.
type Arrival struct {
	pool   *Pool
	asked  poll.Window
	before map[string]bool    // entries of older nodes
	mine   map[string]bool    // entries of the nodes, once all are there
	old    map[int]bool       // their Linodes
	joined map[int]*poll.Mark // by Linode: when its Kubernetes Node had the run's taint
	lower  poll.Window        // the first reading of a count that is lower than it was set
	bare   bool               // a Kubernetes Node waits for the run's taint
	marks

	// First is the first answer of the list that had each Linode.
	First []api.Instance
	// Count is the pool's as it was set; 0 = not compared.
	Count int
	// Last is the pool as read last.
	Last   *api.LKENodePool
	latest []string // tags of the first Linode, as read last
	// Unlisted is called on Enterprise with the node of a Linode that is there
	// before its entry is; nil = not needed.
	Unlisted func(ctx context.Context, nodeID string) error
}

// marks has one mark per node for each thing that is waited for.
type marks struct{ entries, ids, linodes, tagged, ready, nodes []poll.Mark }

// Expect watches for n nodes that a write requested; nodes that the pool had
// before do not count.
func (p *Pool) Expect(n int, asked poll.Window, before *api.LKENodePool) *Arrival {
	a := &Arrival{
		pool: p, asked: asked, before: map[string]bool{}, old: map[int]bool{}, mine: map[string]bool{}, joined: map[int]*poll.Mark{},
		marks: marks{
			entries: make([]poll.Mark, n), ids: make([]poll.Mark, n), linodes: make([]poll.Mark, n),
			tagged: make([]poll.Mark, n), ready: make([]poll.Mark, n), nodes: make([]poll.Mark, n),
		},
	}
	a.Count = n
	if before != nil {
		a.Count += len(before.Nodes)
		for _, node := range before.Nodes {
			a.before[node.ID] = true
			if node.InstanceID != nil {
				a.old[*node.InstanceID] = true
			}
		}
	}
	return a
}

// Wait watches until all nodes have a Linode that is listed and, on Enterprise,
// tagged; with joined also until all are ready. Others of the same pool that are
// watched along are waited for in the same way, by the same readings.
func (a *Arrival) Wait(ctx context.Context, joined bool, along ...*Arrival) error {
	all := append([]*Arrival{a}, along...)
	return poll.Until(ctx, func(ctx context.Context) (bool, error) {
		for _, read := range []func(context.Context, []*Arrival) error{a.pool.readPool, a.pool.readLinodes, a.pool.readNodes} {
			if err := read(ctx, all); err != nil {
				return false, err
			}
		}
		done := true
		for _, one := range all {
			done = done && one.complete(joined)
		}
		return done, nil
	})
}

func (a *Arrival) complete(joined bool) bool {
	waiting := [][]poll.Mark{a.entries, a.ids, a.linodes}
	if a.pool.lab.Enterprise {
		waiting = append(waiting, a.tagged)
	}
	if joined {
		waiting = append(waiting, a.ready)
		if a.pool.lab.Nodes != nil {
			waiting = append(waiting, a.nodes)
			if a.bare {
				return false
			}
		}
	}
	for _, marks := range waiting {
		for i := range marks {
			if !marks[i].Seen() {
				return false
			}
		}
	}
	return true
}

// each gives a reading to all that wait for it.
func each(all []*Arrival, take func(*Arrival) error) error {
	for _, a := range all {
		if err := take(a); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) readPool(ctx context.Context, all []*Arrival) error {
	pool, w, err := p.Read(ctx)
	if err != nil {
		return err
	}
	if pool == nil {
		p.lab.Book.Anomaly("a 404 for a pool that exists")
		return nil
	}
	return each(all, func(a *Arrival) error { return a.takePool(pool, w) })
}

func (a *Arrival) takePool(pool *api.LKENodePool, w poll.Window) error {
	a.Last = pool
	if err := a.weighCount(pool.Count, w); err != nil {
		return err
	}
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
	count(a.entries, entries, w)
	count(a.ids, ids, w)
	count(a.ready, ready, w)
	return nil
}

// settled is for how long readings must agree that a count is lower, or a node back, before they count: single ones may be late.
const settled = 12 * time.Second

// weighCount compares the pool's count with what was set. A count that stays lower ends the wait.
func (a *Arrival) weighCount(count int, w poll.Window) error {
	want, book := a.Count, a.pool.lab.Book
	switch {
	case count >= want:
		a.lower = poll.Window{}
		if want > 1 {
			book.Weigh(report.LoweredCounts, true, "the count stayed %d", want)
		}
	case a.lower.From.IsZero():
		a.lower.From = w.From
	case w.From.Sub(a.lower.From) > settled:
		book.Weigh(report.LoweredCounts, false, "the count was set to %d, and LKE has %d", want, count)
		return fmt.Errorf("the count was set to %d, and LKE has %d", want, count)
	}
	return nil
}

// expects reports whether an entry is one of the nodes that were requested. Once
// all are known, later ones are others.
func (a *Arrival) expects(n api.LKENode) bool {
	if a.before[n.ID] || n.InstanceID != nil && a.old[*n.InstanceID] {
		return false
	}
	if len(a.mine) < len(a.entries) {
		a.mine[n.ID] = true
	}
	return a.mine[n.ID]
}

func count(marks []poll.Mark, n int, w poll.Window) {
	for i := range marks {
		marks[i].Note(n > i, w)
	}
}

// own lists the IDs of the new nodes' Linodes as far as entries have them.
func (a *Arrival) own() []int {
	var ids []int
	if a.Last != nil {
		for _, n := range a.Last.Nodes {
			if n.InstanceID != nil && a.mine[n.ID] {
				ids = append(ids, *n.InstanceID)
			}
		}
	}
	return ids
}

func (p *Pool) readLinodes(ctx context.Context, all []*Arrival) error {
	var list []api.Instance
	w, err := poll.Around(func() error {
		var err error
		list, err = p.lab.Linodes(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return each(all, func(a *Arrival) error { return a.takeLinodes(ctx, list, w) })
}

func (a *Arrival) takeLinodes(ctx context.Context, list []api.Instance, w poll.Window) error {
	listed, tagged := 0, 0
	for _, i := range list {
		if a.old[i.ID] || !a.pool.has(i, a.own()) {
			continue
		}
		if listed == 0 {
			a.latest = i.Tags
		}
		listed++
		if listed > len(a.First) && len(a.First) < len(a.linodes) {
			a.First = append(a.First, i)
			if err := a.unlisted(ctx, i); err != nil {
				return err
			}
		}
		if a.autoTagged(i) {
			tagged++
		}
	}
	count(a.linodes, listed, w)
	count(a.tagged, tagged, w)
	return nil
}

// unlisted reads a node whose Linode is there and whose entry is not.
func (a *Arrival) unlisted(ctx context.Context, i api.Instance) error {
	prefix := fmt.Sprintf("lke%d-", a.pool.lab.ClusterID)
	if a.Unlisted == nil || a.entries[0].Seen() || a.pool.LKEForm(i.Label) != report.ValueLKELabel {
		return nil
	}
	return a.Unlisted(ctx, i.Label[len(prefix):])
}

// autoTagged reports whether LKE's own tags are on a Linode.
func (a *Arrival) autoTagged(i api.Instance) bool {
	pool, cluster := fmt.Sprintf("nodepool=%d", a.pool.ID), fmt.Sprintf("lke%d", a.pool.lab.ClusterID)
	both := 0
	for _, t := range i.Tags {
		if t == pool || t == cluster {
			both++
		}
	}
	return both == 2
}

// readNodes reads the Kubernetes Nodes. takeNodes weighs each Node of the new Linodes: its name, its memory, and when its taint came.
func (p *Pool) readNodes(ctx context.Context, all []*Arrival) error {
	if p.lab.Nodes == nil {
		return nil
	}
	var list []Node
	w, err := poll.Around(func() error {
		var err error
		list, err = p.lab.Nodes.Nodes(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return each(all, func(a *Arrival) error { a.takeNodes(list, w); return nil })
}

func (a *Arrival) takeNodes(list []Node, w poll.Window) {
	l, ready := a.pool.lab, 0
	a.bare = false
	for _, node := range list {
		at := slices.Index(a.own(), node.LinodeID)
		if node.LinodeID == 0 || at < 0 {
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
		since := mark.Since(poll.Window{From: node.Created, To: node.Created})
		switch {
		case mark.Seen() && !had:
			l.Book.Within(report.LateTaints, taintsWithin, "the pool's taint after the Node registered", since)
		case mark.Seen():
		case w.From.Sub(node.Created) > 4*taintsWithin:
			l.Book.Weigh(report.LateTaints, false, "a Node lacks its pool's taint %v after it registered",
				w.From.Sub(node.Created).Round(time.Second))
		default:
			a.bare = true
		}
	}
	count(a.nodes, ready, w)
}

// meet weighs what a Node has from the start.
func (a *Arrival) meet(node Node) {
	l := a.pool.lab
	for _, i := range a.First {
		if i.ID != node.LinodeID {
			continue
		}
		seen := "the Linode's label"
		if node.Name != i.Label {
			seen = "neither the Linode's label nor anything that was made of it"
			if strings.Contains(node.Name, i.Label) {
				seen = "more than the Linode's label"
			}
		}
		l.Book.Weigh(report.OtherNames, node.Name == i.Label, "a Node's name is %s", seen)
	}
	if l.MemoryMB > 0 && node.MemoryKiB > 0 {
		share := float64(node.MemoryKiB) / float64(l.MemoryMB<<10)
		l.Book.Weigh(report.LessMemory, share >= memoryShare, "a Node of %s has %.1f%% of the plan's memory, pods can have %.1f%%", l.Type,
			100*share, 100*float64(node.ForPods)/float64(l.MemoryMB<<10))
	}
}
