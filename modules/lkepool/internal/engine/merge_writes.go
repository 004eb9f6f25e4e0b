package engine

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// mergeGrowth applies the end of a purchase.
func (c *Core) mergeGrowth(d Done) {
	k := c.key(d.Action.Key)
	c.buying[d.Action.Key.InstanceType] = max(0, c.buying[d.Action.Key.InstanceType]-d.Action.Bought)
	p, known := c.world.pools.get(d.Action.PoolID)
	if known {
		p.writes.growing = false
	}
	if d.Action.Op == OpCreate {
		k.creating = max(0, k.creating-1) // it may have been begun before Begin
	}
	k.lost = k.lost && d.Err != nil
	if d.Err != nil {
		c.purchaseFailed(k, p, d)
		return
	}
	slots := d.Pool.Slots
	if !known {
		p = c.meetPool(lkepool.Pool{ID: d.Pool.ID, Count: d.Pool.Count, InstanceType: d.Pool.InstanceType, Template: d.Pool.Template,
			Tags: d.Pool.Tags, Autoscaled: d.Pool.Autoscaled}, c.now, true)
		p.made = c.now
	}
	p.Count, p.writes.grown, p.writes.unsure, p.direct.agrees = d.Pool.Count, c.now, time.Time{}, false
	p.lowered.scaled, p.writes.retry = p.Count, backoff{}
	p.expect(p.Count-len(c.world.members(p.ID)), c.now)
	c.addSlots(p, slots, d.Began, true)
	if k.room > 0 {
		k.room = d.Action.Bought // until not even one more fits
	}
	c.polls.pace.Restart()
	c.polls.next = c.now.Add(c.firstRead())
}

// mergeMark applies the end of a claim's write.
func (c *Core) mergeMark(d Done) {
	n, known := c.world.nodes.get(d.Action.InstanceID)
	if !known {
		return
	}
	h := &n.claim
	if d.Err == nil && !c.tags.ClaimIn(d.Instance.Tags).Is(h.who) {
		d.Err = &claims.Error{Kind: claims.KindUnavailable, Op: string(OpMark),
			Err: errors.New("the answer does not show the claim that was written")}
	}
	if d.Err == nil {
		*h = claimState{who: h.who, state: held, at: c.now, since: cmp.Or(h.since, c.now), claimedAt: c.tags.claimedAtOf(d.Instance.Tags),
			own: h.own || h.since.IsZero(), wrote: true, witnessed: h.witnessed, given: h.given}
		c.seeInstance(d.Instance, d.Began, true)
		n.Tags, n.tagged = d.Instance.Tags, d.Began
		c.marked()
		return
	}
	h.retry.fail(c.now, c.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
	h.err, h.at = d.Err, c.now
	if claims.KindOf(d.Err) == claims.KindNotFound {
		// As good as a direct read that answered 404.
		n.absence.since, n.absence.proof = cmp.Or(n.absence.since, d.Began), cmp.Or(n.absence.proof, d.Began)
	}
	switch {
	case !h.since.IsZero():
		h.state = held // it was claimed before
		return
	case h.state == writing && (claims.EffectOf(d.Err) == claims.EffectNone || claims.KindOf(d.Err) == claims.KindNotFound):
		*h = h.freed(c.now)
	default:
		h.state = unsure
	}
	switch claims.KindOf(d.Err) {
	case claims.KindRateLimited:
	case claims.KindForbidden:
		c.markRefused(d)
	case claims.KindInvalid:
		// It may be this instance alone whose tags are refused.
		c.failed(n)
		c.markRefused(d)
	default:
		c.failed(n)
	}
}

// failed counts an attempt to claim the instance that failed.
func (c *Core) failed(n *node) {
	if n.claim.failed++; n.claim.failed == markAttempts {
		c.marks.quarantined++
		c.marks.pause = min(max(2*c.marks.pause, firstProbe), longestProbe)
		c.marks.next = c.now.Add(c.marks.pause)
	}
}

// marked follows a claim that was written: marking works again.
func (c *Core) marked() {
	if c.marks.general() {
		for _, n := range c.world.nodes.rows {
			n.claim.failed, n.direct.retry = 0, backoff{}
		}
	}
	c.marks = marks{}
}

func (c *Core) mergeRemoval(d Done) {
	p, known := c.world.pools.get(d.Action.PoolID)
	if known {
		p.writes.removing = max(0, p.writes.removing-1)
	}
	n, alive := c.world.nodes.get(d.Action.InstanceID)
	if alive {
		n.removal.busy = false
	}
	if d.Err != nil {
		effect := claims.EffectOf(d.Err) != claims.EffectNone
		if known && effect {
			p.writes.unsure = c.now
		}
		if alive {
			n.removal.failedWith(d.Err, effect, c.now, c.cfg.RetryDelay)
		}
		return
	}
	if known {
		p.Count, p.writes.shrunk, p.lowered = max(0, p.Count-1), c.now, lowering{}
	}
	if alive {
		n.removal = removal{condemned: true, accepted: c.now}
	} else if known {
		p.slots = slices.DeleteFunc(p.slots, func(s slot) bool { return s.NodeID == d.Action.NodeID })
	}
}

// failedWith notes an attempt that was not answered with success.
func (r *removal) failedWith(err error, effect bool, now time.Time, first time.Duration) {
	r.err, r.failed, r.condemned = err, now, r.condemned || effect
	r.retry.fail(now, first, claims.RetryAfterOf(err))
}

func (c *Core) mergeDrop(d Done) {
	effect := claims.EffectOf(d.Err) != claims.EffectNone
	for _, n := range c.world.nodes.rows {
		if n.home != d.Action.PoolID {
			continue
		}
		n.removal.busy = false
		if d.Err != nil {
			n.removal.failedWith(d.Err, effect, c.now, c.cfg.RetryDelay)
		} else {
			n.removal = removal{condemned: true, accepted: c.now}
		}
	}
	p, known := c.world.pools.get(d.Action.PoolID)
	if !known {
		return
	}
	p.writes.dropping = false
	if d.Err != nil {
		p.writes.unsure, p.writes.condemned = c.now, p.writes.condemned || effect
		p.writes.retry.fail(c.now, c.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
		return
	}
	p.writes.dropped, p.writes.condemned = c.now, true
}
