package engine

import (
	"cmp"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// merge applies the result of an effect. What is said here of readings holds
// for all: what one shows is believed at once, what one lacks is not. Only a
// direct read that began at least the settle time after what it contradicts
// takes something away; a list makes the engine look.

func (c *Core) merge(d Done) {
	switch a := d.Action; a.Op {
	case OpListPools:
		c.mergePools(d)
	case OpListInstances:
		c.mergeInstances(d)
	case OpGetPool:
		c.mergePool(d)
	case OpGetInstance:
		c.mergeInstance(d)
	case OpCreate, OpScale:
		c.mergeGrowth(d)
	case OpMark:
		c.mergeMark(d)
	case OpRemove:
		c.mergeRemoval(d)
	case OpDrop:
		c.mergeDrop(d)
	}
}

// settled reports whether a direct read that began then shows a write of at.
func (c *Core) settled(began, at time.Time) bool { return !began.Before(at.Add(c.cfg.SettleTime)) }

// listed reports the same of a list.
func listed(began, at time.Time) bool { return !began.Before(at.Add(listLag)) }

// missing notes a direct read that was answered 404.
func (c *Core) missing(a *absence, began time.Time) {
	switch {
	case a.proof.IsZero():
		a.proof = began
	case c.settled(began, a.proof):
		a.second = cmp.Or(a.second, began)
	}
}

// removedAt is when the removal of the node was accepted, or that the platform
// reports; the zero time if neither is known.
func (n *node) removedAt() time.Time {
	if n.State == lkepool.Leaving {
		return cmp.Or(n.removal.accepted, n.first)
	}
	return n.removal.accepted
}

// lacked notes a list of instances without the node. One that began less than the
// list lag after the node was first seen may be older than the node. A pool without
// it proves nothing: the instance outlives its slot.
func (c *Core) lacked(n *node, began time.Time) {
	if listed(began, n.first) {
		n.absence.lacks = latest(n.absence.lacks, began)
		c.endIfProven(n)
	}
}

// endIfProven forgets a node that is proven gone.
func (c *Core) endIfProven(n *node) {
	if n.absence.proven(n.removedAt()) {
		c.forgetNode(n)
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// end applies what is the same for every direct read.
func (l *directRead) end(d Done, first time.Duration, now time.Time) {
	l.busy = false
	if d.Cancelled {
		return
	}
	if l.err = d.Err; d.Err != nil && claims.KindOf(d.Err) != claims.KindNotFound {
		l.retry.fail(now, first, claims.RetryAfterOf(d.Err))
		return
	}
	l.began, l.ended, l.want, l.err, l.retry = d.Began, now, false, nil, backoff{}
}
