package experiment

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	watchDeleted  = 3 * time.Minute  // whether a deleted node comes back: LKE's repair takes up to two minutes, by a guess
	watchEmpty    = 20 * time.Second // what becomes of a pool without nodes
	watchReplaced = 10 * time.Minute // whether a deleted Linode is replaced
)

var deleteQuestions = []Question{
	{"delete.status", "DELETE of one of two nodes", "200"},
	{"delete.count", "count and entries afterwards, at once", "1, 1"},
	{"delete.later", "count and entries after a while", "1, 1"},
	{"delete.node", "GET of the deleted node", "404: Not found"},
	{"delete.again", "DELETE of the deleted node", "404: Not found"},
	{"delete.last", "DELETE of the last node of a pool", Unknown},
	{"delete.pool", "The pool after its last node's deletion", Unknown},
}

// deletion deletes the two nodes of a pool, one after the other.
func deletion(ctx context.Context, t *trial) {
	p, a := t.settled(ctx, nil, 2)
	first, last := a.last.Nodes[0], a.last.Nodes[1]
	remove := func() error { return t.Client.DeleteNode(ctx, t.ClusterID, first.ID) }
	deleted := got(t.deleteUntil(ctx, "delete.status", remove, func() (bool, error) {
		pool, _ := p.read(ctx)
		if pool == nil || pool.Count == 2 {
			return false, nil
		}
		t.Book.Answer("delete.count", "%d, %d", pool.Count, len(pool.Nodes))
		return true, nil
	}))
	p.gone(ctx, report.Gone, *first.InstanceID, deleted)
	if p.returns(ctx) {
		return
	}
	if pool, _ := p.read(ctx); pool != nil {
		t.Book.Answer("delete.later", "%d, %d", pool.Count, len(pool.Nodes))
	}
	_, err := t.Client.GetNode(ctx, t.ClusterID, first.ID)
	t.Book.Outcome("delete.node", err)
	t.Book.Outcome("delete.again", remove())
	p.deleteLast(ctx, last.ID)
}

// deleteUntil sends a deletion until a read shows its effect, and returns the time of the last deletion. The error is a
// refusal.
func (l *Lab) deleteUntil(ctx context.Context, question string, write func() error, shows func() (bool, error)) (poll.Window, error) {
	for first := true; ; first = false {
		w, err := poll.Around(write)
		if first {
			l.Book.Outcome(question, err)
		}
		if linode.KindOf(err) != linode.KindNotFound && no(err) {
			return w, err
		}
		if within(ctx, lost, shows) {
			return w, nil
		}
		l.Book.Anomaly("a DELETE without effect")
	}
}

// returns watches whether LKE brings a deleted node back.
func (p *pool) returns(ctx context.Context) (back bool) {
	var since time.Time
	start := time.Now()
	until(ctx, func() bool {
		pool, _ := p.read(ctx)
		switch {
		case pool == nil:
			return false
		case pool.Count == 1 && len(pool.Nodes) == 1:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > agreed:
			p.Book.Answer("delete.later", "%d, %d", pool.Count, len(pool.Nodes))
			p.Book.Weigh(report.ReturningNodes, false, "%v after one of two nodes was deleted, the pool has count %d and %d nodes",
				time.Since(start).Round(time.Second), pool.Count, len(pool.Nodes))
			back = true
		}
		return back || time.Since(start) > watchDeleted && since.IsZero()
	})
	if !back {
		p.Book.Weigh(report.ReturningNodes, true, "no other node came within %v", watchDeleted)
	}
	return back
}

// deleteLast deletes the last node of the pool and notes the pool's state afterwards.
func (p *pool) deleteLast(ctx context.Context, node string) {
	for {
		err := p.Client.DeleteNode(ctx, p.ClusterID, node)
		p.Book.Outcome("delete.last", err)
		if linode.KindOf(err) == linode.KindInvalid {
			p.Book.Answer("delete.pool", "unchanged")
			p.Book.Switch(report.LastNode, report.ValueRefused)
			return
		}
		must(err)
		pool := p.afterLast(ctx)
		switch {
		case pool == nil:
			p.Book.Answer("delete.pool", report.ValuePoolRemoved)
			p.Book.Switch(report.LastNode, report.ValuePoolRemoved)
			return
		case !slices.ContainsFunc(pool.Nodes, func(n api.LKENode) bool { return n.ID == node }):
			p.Book.Answer("delete.pool", "%s: count %d, %d entries", report.ValuePoolKept, pool.Count, len(pool.Nodes))
			p.Book.Switch(report.LastNode, report.ValuePoolKept)
			return
		}
		p.Book.Anomaly("a DELETE without effect")
	}
}

// afterLast reads a pool for a while after the deletion of its last node. It returns nil if the last two reads, or
// more, were 404s.
func (p *pool) afterLast(ctx context.Context) (pool *api.LKENodePool) {
	missing, start := 0, time.Now()
	until(ctx, func() bool {
		if pool, _ = p.read(ctx); pool == nil {
			missing++
		} else {
			missing = 0
		}
		return time.Since(start) > watchEmpty && missing != 1
	})
	return pool
}

var replaceQuestions = []Question{
	{"replace.status", "DELETE of a worker's Linode, directly", Unknown},
	{"replace.meanwhile", "count, entries and instance_id right afterwards", Unknown},
	{"replace.result", "What LKE does about it", Unknown},
	{"replace.node", "ID of the node after a replacement", Unknown},
	{"replace.count", "count afterwards", "1"},
}

// replace deletes a worker's Linode directly, without LKE.
func replace(ctx context.Context, t *trial) {
	p, a := t.settled(ctx, nil, 1)
	old := a.last.Nodes[0]
	id := *old.InstanceID
	deleted, err := t.deleteUntil(ctx, "replace.status", func() error { return t.Client.DeleteInstance(ctx, id) }, func() (bool, error) {
		i, err := t.Client.GetInstance(ctx, id)
		if linode.KindOf(err) == linode.KindNotFound {
			return true, nil
		}
		return err == nil && i.Status == api.InstanceStatusDeleting, err
	})
	if err != nil {
		return
	}
	if pool, _ := p.read(ctx); pool != nil && len(pool.Nodes) > 0 {
		t.Book.Answer("replace.meanwhile", "%d, %d, %s", pool.Count, len(pool.Nodes), either(pool.Nodes[0].InstanceID == nil, "null", "kept"))
	}
	p.gone(ctx, "linode_gone", id, deleted)
	p.replaced(ctx, old, deleted)
}

// replaced waits until the old node is no longer in the pool, and then until another node replaces it.
func (p *pool) replaced(ctx context.Context, old api.LKENode, deleted poll.Window) {
	var mark poll.Mark
	until(ctx, func() bool {
		pool, w := p.read(ctx)
		if pool == nil {
			return false
		}
		p.Book.Answer("replace.count", "%d", pool.Count)
		mark.Note(!slices.ContainsFunc(pool.Nodes, func(n api.LKENode) bool {
			return n.ID == old.ID && n.InstanceID != nil && *n.InstanceID == *old.InstanceID
		}), w)
		return mark.Seen() || time.Since(deleted.To) > watchReplaced
	})
	if !mark.Seen() {
		p.Book.Answer("replace.result", "LKE did not replace the node within %v", watchReplaced)
		p.Book.Switch(report.LostLinode, report.ValueLeft)
		return
	}
	p.Book.Delay(report.Repair, mark.Since(deleted))
	p.Book.Answer("replace.result", "LKE removed the node and did not replace it") // the answer, unless a node comes
	a := p.expect(1, mark.Window(), &api.LKENodePool{Nodes: []api.LKENode{{ID: "", InstanceID: old.InstanceID}}})
	a.count = 0
	defer a.note()
	a.wait(ctx, false)
	p.Book.Answer("replace.result", report.ValueRecreated)
	p.Book.Switch(report.LostLinode, report.ValueRecreated)
	p.Book.Answer("replace.node", "%s", either(a.last.Nodes[0].ID == old.ID, "the same", "another"))
}
