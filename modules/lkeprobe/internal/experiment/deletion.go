package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

const (
	watchRenamed  = 20 * time.Second // whether LKE changes a label back
	watchDeleted  = 3 * time.Minute  // whether a deleted node comes back: LKE's repair takes up to two minutes, by a guess
	watchEmpty    = 20 * time.Second // what becomes of a pool without nodes
	watchReplaced = 10 * time.Minute // whether a deleted Linode is replaced
)

var deleteQuestions = []lab.Question{
	{ID: "delete.status", Text: "DELETE of one of two nodes", Expected: "200"},
	{ID: "delete.count", Text: "count and entries afterwards, at once", Expected: "1, 1"},
	{ID: "delete.later", Text: "count and entries after a while", Expected: "1, 1"},
	{ID: "delete.node", Text: "GET of the deleted node", Expected: "404: Not found"},
	{ID: "delete.again", Text: "DELETE of the deleted node", Expected: "404: Not found"},
	{ID: "delete.last", Text: "DELETE of the last node of a pool", Expected: lab.Unknown},
	{ID: "delete.pool", Text: "The pool after its last node's deletion", Expected: lab.Unknown},
}

// deletion deletes the two nodes of a pool, one after the other.
func deletion(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error {
	first, last := a.Last.Nodes[0], a.Last.Nodes[1]
	deleted, err := deleteNode(ctx, l, p, first.ID)
	if err != nil {
		return err
	}
	if err := l.Gone(ctx, report.Gone, *first.InstanceID, deleted); err != nil {
		return err
	}
	if back, err := returns(ctx, l, p); back || err != nil {
		return err
	}
	if err := counts(ctx, l, p, "delete.later"); err != nil {
		return err
	}
	_, err = l.Client.GetNode(ctx, l.ClusterID, first.ID)
	l.Book.Answer("delete.node", outcome(err))
	l.Book.Answer("delete.again", outcome(l.Client.DeleteNode(ctx, l.ClusterID, first.ID)))
	return lastNode(ctx, l, p, last)
}

// returns watches whether LKE brings a deleted node back.
func returns(ctx context.Context, l *lab.Lab, p *lab.Pool) (back bool, err error) {
	var since time.Time
	start := time.Now()
	err = poll.Until(ctx, func(ctx context.Context) (bool, error) {
		pool, _, err := p.Read(ctx)
		switch {
		case err != nil || pool == nil:
			return false, err
		case pool.Count == 1 && len(pool.Nodes) == 1:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > 3*lab.SettleTime:
			l.Book.Answerf("delete.later", "%d, %d", pool.Count, len(pool.Nodes))
			l.Book.Weigh(report.ReturningNodes, false, "%v after one of two nodes was deleted, the pool has count %d and %d nodes",
				time.Since(start).Round(time.Second), pool.Count, len(pool.Nodes))
			back = true
		}
		return back || time.Since(start) > watchDeleted && since.IsZero(), nil
	})
	if err == nil && !back {
		l.Book.Weigh(report.ReturningNodes, true, "no other node came within %v", watchDeleted)
	}
	return back, err
}

// deleteNode deletes one of two nodes, until the pool shows it.
func deleteNode(ctx context.Context, l *lab.Lab, p *lab.Pool, node string) (poll.Window, error) {
	for first := true; ; first = false {
		w, err := poll.Around(func() error { return l.Client.DeleteNode(ctx, l.ClusterID, node) })
		if first {
			l.Book.Answer("delete.status", outcome(err))
		}
		if err != nil && linode.KindOf(err) != linode.KindNotFound {
			return w, err
		}
		there, err := lab.Within(ctx, lab.Lost, func(ctx context.Context) (bool, error) {
			pool, _, err := p.Read(ctx)
			if pool == nil || pool.Count == 2 {
				return false, err
			}
			l.Book.Answerf("delete.count", "%d, %d", pool.Count, len(pool.Nodes))
			return true, nil
		})
		if there || err != nil {
			return w, err
		}
		l.Book.Anomaly("a DELETE without effect")
	}
}

func counts(ctx context.Context, l *lab.Lab, p *lab.Pool, question string) error {
	pool, _, err := p.Read(ctx)
	if err == nil && pool != nil {
		l.Book.Answer(question, fmt.Sprintf("%d, %d", pool.Count, len(pool.Nodes)))
	}
	return err
}

// lastNode deletes the only node that is left and looks what becomes of the
// pool.
func lastNode(ctx context.Context, l *lab.Lab, p *lab.Pool, node api.LKENode) error {
	err := l.Client.DeleteNode(ctx, l.ClusterID, node.ID)
	l.Book.Answer("delete.last", outcome(err))
	if linode.KindOf(err) == linode.KindInvalid {
		l.Book.Answer("delete.pool", "unchanged")
		l.Book.Switch(report.LastNode, report.ValueRefused)
		return nil
	}
	if err != nil {
		return err
	}
	pool, err := afterLast(ctx, p, node.ID)
	switch {
	case errors.Is(err, errNoEffect):
		l.Book.Anomaly("a DELETE without effect")
		return lastNode(ctx, l, p, node)
	case err != nil:
		return err
	case pool == nil:
		l.Book.Answer("delete.pool", report.ValuePoolRemoved)
		l.Book.Switch(report.LastNode, report.ValuePoolRemoved)
	default:
		l.Book.Answerf("delete.pool", "%s: count %d, %d entries", report.ValuePoolKept, pool.Count, len(pool.Nodes))
		l.Book.Switch(report.LastNode, report.ValuePoolKept)
	}
	return nil
}

var errNoEffect = errors.New("the node is still there")

// afterLast reads a pool for a while after the deletion of its last node. The
// result is nil once the pool is a 404 and stays one.
func afterLast(ctx context.Context, p *lab.Pool, node string) (*api.LKENodePool, error) {
	var pool *api.LKENodePool
	missing, start := 0, time.Now()
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		read, _, err := p.Read(ctx)
		if pool = read; pool == nil && err == nil {
			missing++
		} else {
			missing = 0
		}
		return time.Since(start) > watchEmpty && missing != 1, err
	})
	if err == nil && pool != nil && slices.ContainsFunc(pool.Nodes, func(n api.LKENode) bool { return n.ID == node }) {
		err = errNoEffect
	}
	return pool, err
}

var replaceQuestions = []lab.Question{
	{ID: "replace.status", Text: "DELETE of a worker's Linode, directly", Expected: lab.Unknown},
	{ID: "replace.meanwhile", Text: "count, entries and instance_id right afterwards", Expected: lab.Unknown},
	{ID: "replace.result", Text: "What LKE does about it", Expected: lab.Unknown},
	{ID: "replace.node", Text: "ID of the node after a replacement", Expected: lab.Unknown},
	{ID: "replace.count", Text: "count afterwards", Expected: "1"},
}

// replace deletes a worker's Linode behind LKE's back.
func replace(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error {
	old := a.Last.Nodes[0]
	deleted, err := deleteLinode(ctx, l, *old.InstanceID)
	if kind := linode.KindOf(err); kind == linode.KindInvalid || kind == linode.KindForbidden {
		return nil
	} else if err != nil {
		return err
	}
	if pool, _, err := p.Read(ctx); err == nil && pool != nil && len(pool.Nodes) > 0 {
		l.Book.Answerf("replace.meanwhile", "%d, %d, %s", pool.Count, len(pool.Nodes),
			map[bool]string{true: "null", false: "kept"}[pool.Nodes[0].InstanceID == nil])
	}
	if err := l.Gone(ctx, "linode_gone", *old.InstanceID, deleted); err != nil {
		return err
	}
	return replaced(ctx, l, p, old, deleted)
}

// deleteLinode deletes a Linode until it is gone or going.
func deleteLinode(ctx context.Context, l *lab.Lab, id int) (poll.Window, error) {
	for first := true; ; first = false {
		w, err := poll.Around(func() error { return l.Client.DeleteInstance(ctx, id) })
		if first {
			l.Book.Answer("replace.status", outcome(err))
		}
		if err != nil && linode.KindOf(err) != linode.KindNotFound {
			return w, err
		}
		going, err := lab.Within(ctx, lab.Lost, func(ctx context.Context) (bool, error) {
			i, err := l.Client.GetInstance(ctx, id)
			if linode.KindOf(err) == linode.KindNotFound {
				return true, nil
			}
			return err == nil && i.Status == api.InstanceStatusDeleting, err
		})
		if going || err != nil {
			return w, err
		}
		l.Book.Anomaly("a DELETE without effect")
	}
}

// replaced watches until the old node is no longer in the pool, and then for the
// one that replaces it.
func replaced(ctx context.Context, l *lab.Lab, p *lab.Pool, old api.LKENode, deleted poll.Window) error {
	var mark poll.Mark
	var last *api.LKENodePool
	err := poll.Until(ctx, func(ctx context.Context) (bool, error) {
		pool, w, err := p.Read(ctx)
		if err != nil || pool == nil {
			return false, err
		}
		last = pool
		kept := false
		for _, n := range pool.Nodes {
			kept = kept || n.ID == old.ID && n.InstanceID != nil && *n.InstanceID == *old.InstanceID
		}
		mark.Note(!kept, w)
		return mark.Seen() || time.Since(deleted.To) > watchReplaced, nil
	})
	if err != nil {
		return err
	}
	if last != nil {
		l.Book.Answer("replace.count", fmt.Sprint(last.Count))
	}
	if !mark.Seen() {
		l.Book.Answerf("replace.result", "left as it is for %v", watchReplaced)
		l.Book.Switch(report.LostLinode, report.ValueLeft)
		return nil
	}
	l.Book.Delay(report.Repair, mark.Since(deleted))
	arrives := p.Expect(1, mark.Window(), &api.LKENodePool{Nodes: []api.LKENode{{ID: "", InstanceID: old.InstanceID}}})
	arrives.Count = 0
	defer arrives.Note()
	if err := arrives.Wait(ctx, false); err != nil {
		l.Book.Answer("replace.result", "the node went, and none came")
		return err
	}
	l.Book.Answer("replace.result", report.ValueRecreated)
	l.Book.Switch(report.LostLinode, report.ValueRecreated)
	l.Book.Answer("replace.node", map[bool]string{true: "the same", false: "another"}[arrives.Last.Nodes[0].ID == old.ID])
	return nil
}
