package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

// buy is where nodes are bought: as many as claimants wait, less what is free
// and on its way, as soon as it is clear what that is.
func (c *Core) buy(d *demand) {
	c.refuseOverdue(d)
	missing := len(d.unserved())
	if missing == 0 || d.unclear || d.unread >= quarantineLimit || d.state.creating > 0 || !c.gathered(d) || !c.ready(d.state.retry.until) ||
		!c.allowed(d, &missing) {
		return
	}
	if d.state.room > 0 {
		missing = min(missing, d.state.room)
	}
	missing = c.repeatFrozen(d, missing)
	var pools []plan.Pool
	for _, p := range d.pools {
		if p.writes.frozen.count == 0 && !c.inherited(p) {
			pools = append(pools, plan.Pool{ID: p.ID, Count: p.Count})
		}
	}
	for _, step := range plan.Grow(missing, pools, c.limits.PoolSize) {
		if c.grow(d, step); len(d.unserved()) > 0 && len(d.unserved()[0].tokens) == 0 {
			return // they were refused
		}
	}
}

// repeatFrozen sends counts again that were not answered, where as many nodes are
// missing as they add, and returns how many are missing besides.
func (c *Core) repeatFrozen(d *demand, missing int) int {
	for _, p := range d.pools {
		f := p.writes.frozen
		if add := f.count - p.Count; add > 0 && add <= missing && f.count <= c.limits.PoolSize && !c.inherited(p) {
			c.grow(d, plan.Step{PoolID: p.ID, Count: f.count, Add: add})
			missing -= add
		}
	}
	return missing
}

// inherited reports whether a pool may still be changed by writes of the process
// before, so that this one neither grows nor drops it.
func (c *Core) inherited(p *pool) bool { return p.made.IsZero() && !c.ready(c.lateUntil) }

// unserved are the claimants for which nothing is on its way.
func (d *demand) unserved() []*claim {
	return slices.Clone(d.waiting[min(len(d.waiting), len(d.free)+d.soon+d.pending):])
}

// gathered reports whether the burst that the claimants belong to is complete.
func (c *Core) gathered(d *demand) bool {
	unserved := d.unserved()
	oldest, newest := unserved[0].asked, unserved[0].asked
	for _, claim := range unserved {
		oldest, newest = minTime(oldest, claim.asked), latest(newest, claim.asked)
	}
	return c.ready(minTime(newest.Add(gatherQuiet), oldest.Add(gatherMost)))
}

// allowed reports whether nodes may be bought for the key now, answers the
// claimants if not, and lowers missing to what is.
func (c *Core) allowed(d *demand, missing *int) bool {
	unserved := d.unserved()
	if c.marks.err != nil || c.marks.general() {
		if !c.ready(c.marks.next) {
			if c.marks.err != nil {
				c.refuse(unserved, c.marks.err)
			}
			return false
		}
		*missing = 1
	}
	if next := d.state.joins.Until; c.now.Before(next) {
		c.refuse(unserved, &claims.Error{
			Kind: claims.KindInsufficientCapacity, Op: "claim", RetryAfter: next.Sub(c.now),
			Err: fmt.Errorf("the last %d nodes of this key did not join the cluster; the next one is bought in %s", d.state.joins.InARow,
				next.Sub(c.now).Round(time.Second)),
		})
		return false
	}
	if d.edited >= editedLimit {
		c.refuse(unserved, &claims.Error{Kind: claims.KindConflict, Op: "create pool", Err: fmt.Errorf(
			"%d pools of this key do not fit it any more, because their labels, taints, version, firewall or autoscaler were edited: restore or "+
				"delete them", d.edited)})
		return false
	}
	if !c.counted() {
		return false
	}
	var ceiling error
	if *missing, ceiling = c.cfg.Ceilings.Fit("claim", d.key.InstanceType, *missing, c.owning()); *missing <= 0 {
		c.refuse(unserved, ceiling)
		return false
	}
	return true
}

// grow takes one step, or reads what has to be seen right before it. Setting a
// count has no precondition (Linode API facts: the last writer wins), so a
// count that is too low would take nodes away.
func (c *Core) grow(d *demand, step plan.Step) {
	if !c.foundCreated(d.state) {
		return
	}
	if step.PoolID == 0 {
		d.state.creating, d.state.began = d.state.creating+1, c.now
		c.buying[d.key.InstanceType] += step.Add
		c.probed()
		c.do(Action{Op: OpCreate, Key: d.key, Count: step.Count, Bought: step.Add, Tags: c.tags.poolTags(d.waiting[0].request),
			Reason: boughtFor(d, step.Add)})
		return
	}
	p, _ := c.world.pools.get(step.PoolID)
	switch {
	case !c.ready(p.writes.retry.until):
	case p.lowered.times >= lowerLimit && c.now.Sub(p.lowered.since) <= lowerMemory:
		c.refuse(d.unserved(), &claims.Error{
			Kind: claims.KindConflict, Op: "scale pool", Object: claims.Object("pool", p.ID), RetryAfter: c.cfg.OrphanTTL,
			Err: fmt.Errorf("another client has lowered the pool's count %d times since %s", p.lowered.times,
				p.lowered.since.UTC().Format(time.TimeOnly)),
		})
	case p.writes.removing > 0:
		// Its count is about to change.
	case c.seenLately(p.direct) && !p.direct.began.Before(latest(p.writes.grown, p.writes.shrunk)):
		p.writes.growing, p.writes.began = true, c.now
		p.writes.frozen.again = p.writes.frozen.count != 0
		c.buying[d.key.InstanceType] += step.Add
		c.probed()
		c.do(Action{Op: OpScale, PoolID: p.ID, Key: d.key, Count: step.Count, Bought: step.Add, Reason: boughtFor(d, step.Add)})
	case c.ready(p.direct.ended.Add(gatherQuiet)) || p.direct.agrees:
		c.readPool(p, "look before scaling")
	}
}

// probed notes a purchase, or a claim that is written again, while marks are
// refused or fail: it is the one attempt until the pause has passed again.
func (c *Core) probed() {
	if c.marks.err != nil || c.marks.general() {
		c.marks.next = c.now.Add(c.marks.pause)
	}
}

// foundCreated reports whether a pool of the key would have been seen, had an
// earlier attempt to create it succeeded. Until then nothing is bought for the
// key, in other pools neither.
func (c *Core) foundCreated(k *keyState) bool {
	return k.notBefore.IsZero() || c.ready(k.notBefore) && c.fresh(&c.pools, OpListPools, k.notBefore, "a creation was not answered")
}

func boughtFor(d *demand, add int) string {
	return fmt.Sprintf("%d more: %d wait, %d are free, %d on their way", add, len(d.waiting), len(d.free), d.pending)
}

// purchaseFailed follows a purchase that ended in an error.
func (c *Core) purchaseFailed(k *keyState, p *pool, d Done) {
	if p != nil && claims.EffectOf(d.Err) != claims.EffectNone {
		p.writes.unsure = c.now
	}
	switch effect := claims.EffectOf(d.Err); {
	case p == nil || effect == claims.EffectNone:
	case effect == claims.EffectApplied:
		p.writes.frozen.attempt(d, c.now)
	default:
		p.writes.frozen.attempt(d, c.now.Add(c.cfg.LateEffect))
	}
	if p == nil && claims.EffectOf(d.Err) != claims.EffectNone {
		// Creating has no idempotency token: the pool is looked for by its tag
		// until it would have to be visible.
		// The second time in a row, the list lags further than it should.
		wait := c.cfg.SettleTime
		if k.lost || claims.EffectOf(d.Err) == claims.EffectApplied {
			wait = listLag
		}
		k.notBefore, k.lost = c.now.Add(wait), true
		c.doubt(d.Action)
	}
	if p != nil && claims.KindOf(d.Err) == claims.KindNotFound {
		p.absence.proof, p.direct.want = latest(p.absence.proof, d.Began), true
	}
	switch add := d.Action.Bought; {
	case claims.KindOf(d.Err) == claims.KindQuotaExceeded && add > 1:
		// LKE refuses as a whole what does not fit, and how much would is not in
		// the answer, so the next purchase is at most half as large.
		k.room = add / 2
		return
	case lasting(d.Err):
		k.room = 0
		c.refuseUnserved(d.Action.Key, d.Err)
	}
	k.retry.fail(c.now, c.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
}

// attempt notes a count that was not answered.
func (f *freeze) attempt(d Done, until time.Time) {
	if f.count == d.Action.Count {
		f.again, f.until = true, latest(f.until, until)
		return
	}
	*f = freeze{count: d.Action.Count, sent: d.Began, until: until}
}

// refuseUnserved answers the claimants of a key for which nothing is on its way.
func (c *Core) refuseUnserved(key lkepool.Key, err error) {
	hash := key.Hash()
	d := &demand{key: key, state: c.keyed(hash)}
	for _, claim := range c.world.claims {
		assigned := c.assigned(claim.id)
		if claim.hash == hash && len(claim.tokens) > 0 && c.world.holder(claim.id) == nil && (assigned == nil || c.quarantined(assigned)) {
			d.waiting = append(d.waiting, claim)
		}
	}
	pools, _ := c.world.poolsOf(key, hash)
	for _, p := range pools {
		d.pending += max(0, p.Count-len(c.world.members(p.ID))-p.lost())
	}
	c.refuse(d.unserved(), err)
}

// refuseOverdue answers those that have waited for longer than a node may take.
func (c *Core) refuseOverdue(d *demand) {
	if d.overdue == 0 {
		return
	}
	err := &claims.Error{Kind: claims.KindInsufficientCapacity, Op: "claim",
		Err: fmt.Errorf("%d nodes have been on their way for over %s", d.overdue, c.cfg.PendingTimeout)}
	var late []*claim
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *claim) bool {
		tooLong := c.now.Sub(claim.wanted) > c.cfg.PendingTimeout
		if tooLong {
			late = append(late, claim)
		}
		return tooLong
	})
	c.refuse(late, err)
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
