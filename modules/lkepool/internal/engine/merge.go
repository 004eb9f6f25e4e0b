package engine

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
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

// provenGone notes a 404 and reports whether it proves that the object is gone:
// the second that began the settle time after the first, or one after a removal
// of ours.
func (c *Core) provenGone(a *absence, began time.Time, removed bool) bool {
	if a.proof.IsZero() {
		a.proof = began
	}
	return removed || c.settled(began, a.proof)
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
