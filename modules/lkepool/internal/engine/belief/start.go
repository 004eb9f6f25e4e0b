package belief

import (
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// Start notes an action that was chosen: what it makes busy, and what it may change.
// It is followed by Merge with its end, or by Withdraw or Unsent.
func (b *Belief) Start(a event.Action) {
	p, _ := b.Pools.Get(a.PoolID)
	n, ofNode := b.Nodes.Get(a.InstanceID)
	switch a.Op {
	case event.OpListPools:
		b.PoolList.start(b.now)
	case event.OpListInstances:
		b.InstanceList.start(b.now)
	case event.OpGetPool:
		b.directReadOf(a.PoolID).start(b.now)
	case event.OpGetInstance:
		n.Direct.start(b.now)
	case event.OpCreate:
		k := b.Purchases.key(a.Key)
		k.Creating, k.began = k.Creating+1, b.now
		b.Purchases.buying[a.Key.InstanceType] += a.Bought
	case event.OpScale:
		p.Writes.sending, p.Writes.began = a.Count, b.now
		p.Writes.Frozen.again = p.Phase == Frozen
	case event.OpMark:
		n.writes(b.now)
	case event.OpRemove:
		p.Writes.Removing++
		if ofNode {
			n.Removal.Busy = true
		}
	case event.OpDrop:
		p.Writes.Dropping = true
		if ofNode {
			n.Removal.Busy = true
		}
	}
}

// directReadOf returns the record of reads of a pool.
func (b *Belief) directReadOf(poolID int) *DirectRead {
	if p, known := b.Pools.Get(poolID); known {
		return &p.Direct
	}
	return &b.Sought(poolID).Direct
}

// Withdraw takes back an action that is not needed any more, because all callers were
// answered. It returns false for one that is done nevertheless.
func (b *Belief) Withdraw(a event.Action) bool {
	switch a.Op {
	case event.OpListPools:
		b.PoolList.Busy = false
	case event.OpListInstances:
		b.InstanceList.Busy = false
	case event.OpGetPool:
		if p, ok := b.Pools.Get(a.PoolID); ok {
			p.Direct.Busy = false
		}
		if p, ok := b.Absent.Pools.Get(a.PoolID); ok {
			p.Direct.Busy = false
		}
	case event.OpGetInstance:
		if n, ok := b.Nodes.Get(a.InstanceID); ok {
			n.Direct.Busy = false
		}
	case event.OpRemove, event.OpDrop:
		b.withdrawRemoval(a)
	case event.OpMark:
		n, ok := b.Nodes.Get(a.InstanceID)
		if !ok || n.Claim.Since.IsZero() {
			return false
		}
		n.unwritten(b.now)
	default:
		return false
	}
	return true
}

// Unsent follows a write that was not sent in time: it is decided again.
func (b *Belief) Unsent(a event.Action) {
	switch a.Op {
	case event.OpCreate, event.OpScale:
		b.Purchases.ended(a)
		if p, ok := b.Pools.Get(a.PoolID); ok {
			p.Writes.sending = 0
		}
	case event.OpMark:
		if n, ok := b.Nodes.Get(a.InstanceID); ok {
			n.unwritten(b.now)
		}
	default:
		b.Withdraw(a)
	}
}

func (b *Belief) withdrawRemoval(a event.Action) {
	if n, ok := b.Nodes.Get(a.InstanceID); ok {
		n.Removal.Busy = false
	}
	p, ok := b.Pools.Get(a.PoolID)
	switch {
	case !ok:
	case a.Op == event.OpDrop:
		p.Writes.Dropping = false
	default:
		p.Writes.Removing--
	}
}
