package decide

import (
	"cmp"
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// remove removes an instance from its pool by its node ID. Each turn calls it until it is done: the removal was accepted, or an attempt
// at since or later failed.
func (t remover) remove(n *known.Node, since time.Time, reason string) (done bool, err error) {
	p, shown := t.known.Pool(n.Home())
	r := n.Record()
	switch {
	case r.Value.State == lkepool.Leaving || !r.Removed.IsZero() && t.now.Sub(r.Removed) < tuning.RemovalResend:
		return true, nil
	case t.settling() || t.busy(tagsOf(n.ID())):
		return false, nil
	case !shown || p.Gone():
		return true, unlisted(n)
	case p.Removing():
		t.dropAgain(p)
		return false, nil
	}
	return t.removeFrom(p, n, since, reason)
}

// removeFrom takes the next step of the removal that the state of the pool allows. An unanswered removal is repeated with the same node ID,
// also when the pool does not list the instance any more.
func (t remover) removeFrom(p *known.Pool, n *known.Node, since time.Time, reason string) (done bool, err error) {
	r := n.Record()
	attempt := removalOf(p, p.SlotOf(n.ID()))
	again := attempt.Name == "" && !r.Removing.IsZero() && r.Removed.IsZero()
	if again {
		attempt.Name = t.known.SentRemoval(n)
	}
	if t.changing(p, attempt) {
		return false, nil
	}
	if err := t.attempted(p, attempt, since); err != nil {
		return true, err
	}
	switch {
	case t.wait(t.known.Request(attempt).Until):
		return false, nil
	case again && attempt.Name != "":
		t.do(event.Action{Op: event.OpRemove, PoolID: p.ID(), NodeID: attempt.Name, InstanceID: n.ID(), Reason: reason})
		return false, nil
	case attempt.Name != "" && t.dropHasToWait(p):
		return false, nil
	case !t.readForRemoval(p, r.Removed):
		return t.unreadable(p, since)
	case attempt.Name == "":
		return true, unlisted(n)
	}
	return t.take(p, n, attempt.Name, reason)
}

// dropHasToWait reports whether the next removal would delete the pool while a count may still take effect: the count may bring nodes,
// which would go with the pool. The pool is not read before the end of this wait, because the read would be too old then.
func (t remover) dropHasToWait(p *known.Pool) bool {
	r := p.Record()
	if p.Count()-t.removals(p) > 1 || !r.Missing.IsZero() {
		return false
	}
	return t.inherited(p) || t.wait(r.Aside)
}

// unreadable returns the error of a read of the pool at since or later, or of the list that has to show whether the pool exists.
func (t remover) unreadable(p *known.Pool, since time.Time) (bool, error) {
	err := t.failed(pool(p.ID()), since)
	if err == nil && !p.Record().Missing.IsZero() {
		err = t.failed(poolList, since)
	}
	return err != nil, err
}

func removalOf(p *known.Pool, slot string) known.Target {
	return known.Target{Op: event.OpRemove, ID: p.ID(), Name: slot}
}

// changing reports whether another write to the pool has to end first.
func (t remover) changing(p *known.Pool, attempt known.Target) bool {
	return t.busy(attempt) || t.busy(countOf(p.ID())) || t.deleting(p) || t.removals(p) >= tuning.ParallelRemovals
}

// attempted returns the error of an attempt at since or later.
func (t remover) attempted(p *known.Pool, attempt known.Target, since time.Time) error {
	err := t.failed(retireOf(p.ID()), since)
	if claims.KindOf(err) == claims.KindNotFound {
		err = nil // a read shows whether the pool exists, and the instance is another question
	}
	if err = cmp.Or(err, t.failed(dropOf(p.ID()), since)); err != nil || attempt.Name == "" {
		return err
	}
	return t.failed(attempt, since)
}

// readForRemoval reports whether the pool was read right before, after the given time. A removal by node ID does not need a read that
// agrees with own writes.
func (t remover) readForRemoval(p *known.Pool, after time.Time) bool {
	r, read := p.Record(), t.known.Request(pool(p.ID()))
	if read.Err == nil && !read.Ended.IsZero() && t.fresh(read) && !read.Began.Before(later(after, t.known.Settled())) && r.Missing.IsZero() {
		return true
	}
	if !r.Missing.IsZero() {
		t.readInDoubt(p, "look before removing")
	} else {
		t.readPool(p.ID(), "look before removing")
	}
	return false
}

// unlisted is the error about an instance that no pool lists: its node ID is not known, so it cannot be removed.
func unlisted(n *known.Node) error {
	return &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", n.Home()), Effect: claims.EffectNone,
		Err: fmt.Errorf("no pool lists instance %d, so its node ID is not known and it cannot be removed", n.ID())}
}

// take removes one node of a pool that was read right before. The last node goes with its pool. The engine never lowers a count by
// number, because LKE would choose which node goes.
func (t remover) take(p *known.Pool, n *known.Node, slot, reason string) (bool, error) {
	switch remaining := p.Count() - t.removals(p); {
	case remaining > 1:
		t.do(event.Action{Op: event.OpRemove, PoolID: p.ID(), NodeID: slot, InstanceID: n.ID(), Reason: reason})
		return false, nil
	case t.removals(p) > 0:
		return false, nil
	case t.wants(p):
		// The node goes with its pool. Before that, the pool gets the nodes that waiting claimants need.
		return false, nil
	case !t.agreed(p):
		t.readAgain(p)
		return false, nil
	case !t.last(p, n):
		return true, &claims.Error{Kind: claims.KindProvisioning, Op: "remove node", Object: claims.Object("pool", p.ID()),
			Effect: claims.EffectNone,
			Err:    fmt.Errorf("the pool has count %d and lists %d nodes; LKE is still changing it", p.Count(), len(p.Value().Slots))}
	}
	t.drop(p, n.ID(), reason+"; the last node goes with its pool")
	return false, nil
}

// drop deletes a pool whose tags announce the deletion, and otherwise writes that tag first. The deletion may take effect after this
// process has ended. Until then the tag keeps the next process from handing out instances of the pool, such as an instance that has
// replaced the last one.
func (t remover) drop(p *known.Pool, instanceID int, reason string) {
	a := event.Action{Op: event.OpDrop, PoolID: p.ID(), InstanceID: instanceID, Reason: reason}
	if tags := t.known.Tags(); !tags.Retired(p.Value().Tags) {
		a.Op, a.Tags = event.OpRetire, tags.RetiredTags(p.Value().Tags)
	}
	if !t.deleting(p) && !t.wait(t.known.Request(known.TargetOf(a)).Until) {
		t.do(a)
	}
}

// agreed reports whether the newest read of the pool agrees with the record, and with every own write. The deletion of a pool needs
// this agreement: an old list may have shown the instance that is removed in the place of an instance that has a claimant.
func (t remover) agreed(p *known.Pool) bool {
	r, read := p.Record(), t.known.Request(pool(p.ID()))
	return !r.Read.IsZero() && !r.Read.Before(r.Wrote) && !r.Read.Before(read.Began)
}

// readAgain reads a pool whose newest read is older than the last own write to it, or disagrees with the record.
func (t remover) readAgain(p *known.Pool) {
	if t.known.Request(pool(p.ID())).Began.Before(p.Record().Wrote) {
		t.readPool(p.ID(), "look before the pool is deleted")
	} else {
		t.readInDoubt(p, "look before the pool is deleted")
	}
}

// last reports whether the pool has no other node, and gets none.
func (t remover) last(p *known.Pool, n *known.Node) bool {
	for _, s := range p.Value().Slots {
		if other, ok := t.known.Node(s.InstanceID); s.InstanceID != n.ID() && (!ok || other.Record().Removed.IsZero()) {
			return false
		}
	}
	for other := range t.known.Homed(p.ID()) {
		if other != n && !other.Leaving() && other.Record().Missing.IsZero() && !t.known.Detached(other) {
			return false
		}
	}
	return true
}

// finishRemovals sends the removals of instances whose tags announce a removal, repeats unanswered removals, and goes on with the
// deletion of pools that this process has begun to delete.
func (t remover) finishRemovals() {
	for p := range t.known.Pools() {
		if r := p.Record(); p.Ours() && !r.Removing.IsZero() && r.Gone.IsZero() {
			t.dropAgain(p)
		}
	}
	for n := range t.known.Nodes() {
		if r := n.Record(); !r.Removing.IsZero() && r.Removed.IsZero() && r.Gone.IsZero() {
			if p, shown := t.known.Pool(n.Home()); shown && p.Ours() && !p.Gone() {
				reason := "its tags announce its removal"
				if t.known.SentRemoval(n) != "" {
					reason = "its removal was not answered"
				}
				_, _ = t.remove(n, t.now, reason) // a failure is repeated
			}
		}
	}
}

// dropAgain repeats the deletion of a pool. It does so at once if no deletion was accepted, and otherwise if a direct read shows the
// pool a minute later.
func (t remover) dropAgain(p *known.Pool) {
	r := p.Record()
	resend := r.Removed.Add(tuning.RemovalResend)
	switch {
	case t.deleting(p) || t.settling() || !r.Gone.IsZero():
	case r.Removed.IsZero():
		t.drop(p, 0, "it is to be deleted")
	case !r.Missing.IsZero():
		t.readInDoubt(p, "reads of a pool are answered 404")
	case t.wait(resend):
	case t.known.Request(pool(p.ID())).Began.Before(resend):
		t.readPool(p.ID(), "its deletion was accepted, and it may still be there")
	default:
		t.drop(p, 0, "the pool is still there after it was deleted")
	}
}

// listed reports whether a pool lists the instance.
func (t remover) listed(n *known.Node) bool {
	p, shown := t.known.Pool(n.Home())
	return shown && p.SlotOf(n.ID()) != ""
}
