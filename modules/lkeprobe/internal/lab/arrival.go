package lab

import (
	"context"
	"errors"
	"fmt"

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
	before map[string]bool // entries of older nodes
	mine   map[string]bool // entries of the nodes, once all are there
	old    map[int]bool    // their Linodes
	marks

	// First is the first answer of the list that had each Linode.
	First []api.Instance
	// Last is the pool as read last.
	Last   *api.LKENodePool
	latest []string // tags of the first Linode, as read last
	// Unlisted is called on Enterprise with the node of a Linode that is there
	// before its entry is; nil = not needed.
	Unlisted func(ctx context.Context, nodeID string) error
}

// marks has one mark per node for each thing that is waited for.
type marks struct{ entries, ids, linodes, tagged, ready, nodes []poll.Mark }

// Expect watches for n nodes that a write requested; those that the pool had
// before do not count.
func (p *Pool) Expect(n int, asked poll.Window, before *api.LKENodePool) *Arrival {
	a := &Arrival{
		pool: p, asked: asked, before: map[string]bool{}, old: map[int]bool{}, mine: map[string]bool{},
		marks: marks{
			entries: make([]poll.Mark, n), ids: make([]poll.Mark, n), linodes: make([]poll.Mark, n),
			tagged: make([]poll.Mark, n), ready: make([]poll.Mark, n), nodes: make([]poll.Mark, n),
		},
	}
	if before != nil {
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
// tagged; with joined also until all are ready. Others that are watched along
// are waited for in the same way.
func (a *Arrival) Wait(ctx context.Context, joined bool, along ...*Arrival) error {
	return poll.Until(ctx, func(ctx context.Context) (bool, error) {
		done := true
		for _, one := range append([]*Arrival{a}, along...) {
			if err := one.read(ctx); err != nil {
				return false, err
			}
			done = done && one.complete(joined)
		}
		return done, nil
	})
}

func (a *Arrival) read(ctx context.Context) error {
	if err := a.readPool(ctx); err != nil {
		return err
	}
	if err := a.readLinodes(ctx); err != nil {
		return err
	}
	return a.readNodes(ctx)
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

func (a *Arrival) readPool(ctx context.Context) error {
	pool, w, err := a.pool.Read(ctx)
	if err != nil {
		return err
	}
	if pool == nil {
		a.pool.lab.Book.Anomaly("a 404 for a pool that exists")
		return nil
	}
	a.Last = pool
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

func (a *Arrival) readLinodes(ctx context.Context) error {
	var list []api.Instance
	w, err := poll.Around(func() error {
		var err error
		list, err = a.pool.lab.Linodes(ctx)
		return err
	})
	if err != nil {
		return err
	}
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

func (a *Arrival) readNodes(ctx context.Context) error {
	if a.pool.lab.Nodes == nil {
		return nil
	}
	var ready map[int]bool
	w, err := poll.Around(func() error {
		var err error
		ready, err = a.pool.lab.Nodes.Ready(ctx)
		return err
	})
	if err != nil {
		return err
	}
	n := 0
	for _, id := range a.own() {
		if ready[id] {
			n++
		}
	}
	count(a.nodes, n, w)
	return nil
}
