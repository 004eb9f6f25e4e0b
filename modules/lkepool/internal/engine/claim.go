package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// giveBack answers a claimant that has a node, or goes on with the claim that
// is being written. It returns false for one that has none.
func (c *Core) giveBack(claim *claim) bool {
	n := c.holder(claim.id)
	if n == nil {
		if n = c.assigned(claim.id); n == nil {
			return false
		}
		c.finish(claim, n)
		return n.claim.state != free
	}
	if c.claiming(claim, n) {
		return true
	}
	if c.doubtful(claim, n) {
		return true
	}
	loose := n.home == 0 || !n.detached.IsZero()
	switch {
	case n.claim.own && c.now.Sub(n.claim.at) <= confirmedFor, c.seenLately(n.direct):
	case !n.absence.since.IsZero(), c.now.Sub(n.last) > fullReadEvery:
		if c.ready(n.direct.ended.Add(verifyAgain)) {
			c.readNode(n, "its claimant asks for it again")
		}
		return true
	}
	if loose && !c.ready(latest(n.detached, n.first).Add(unsettledGrace)) {
		if n.home == 0 {
			c.fresh(&c.pools, OpListPools, n.first, "no pool of a claimed instance is known")
		} else if c.ready(n.direct.ended.Add(verifyAgain)) {
			c.readNode(n, "its pool does not list it any more")
		}
		return true
	}
	n.claim.given = true
	c.deliver(claim, c.node(n), nil)
	return true
}

// doubtful deals with a claim that matches a claimant by its name alone, on an
// instance of another key: a claim of an earlier version, or one whose UID was
// removed, which may be of another claimant of that name. The caller's own records
// settle it. It returns false for a claim that is beyond doubt.
func (c *Core) doubtful(claim *claim, n *node) bool {
	p, known := c.world.pools.get(n.home)
	if claim.id.UID == "" || n.claim.who.UID != "" || known && p.keyHash() == claim.hash {
		return false
	}
	if c.cfg.Holder != nil {
		if who, ok := c.cfg.Holder(n.ID); ok && c.tags.ID(who).Is(claim.id) {
			return false
		}
	}
	if !known && !c.fresh(&c.pools, OpListPools, latest(n.first, c.startedAt), "the pool of a claim by name alone is not known") {
		return true
	}
	c.deliver(claim, lkepool.Node{},
		&claims.Error{Kind: claims.KindConflict, Op: "claim", Object: claims.Object("pool", n.home), Effect: claims.EffectNone, Err: fmt.Errorf(
			"instance %d of another NodePool, type or template carries the claim of %s without its UID: whose it is is not known", n.ID,
			n.claim.who.Value)})
	return true
}

// assigned returns the node that is being claimed for a claimant, nil if there is
// none but such as were quarantined.
func (c *Core) assigned(who claims.ClaimID) *node {
	for _, n := range c.world.nodesOf(who.Value) {
		if n.claim.state != free && !n.claimed() && n.claim.who.Is(who) && (n.claim.state == reserved || !c.quarantined(n)) {
			return n
		}
	}
	return nil
}

// claiming reports whether a write may still give the claimant another instance
// than the one that it has, and waits for its end: of two that carry its claim
// the one that was claimed later is kept, so that one has to be the answer.
func (c *Core) claiming(claim *claim, has *node) bool {
	n := c.assigned(claim.id)
	switch {
	case n == nil || n == has || n.claim.state == reserved:
		return false
	case n.claim.state == unsure && c.ready(n.claim.at.Add(c.cfg.SettleTime)):
		c.readNode(n, "a claim was written without an answer")
	}
	return true
}

// quarantined reports whether writes to the instance have failed so often that its
// claimant gets another one. It does not while one more write is under way.
func (c *Core) quarantined(n *node) bool {
	return !c.marks.general() && n.claim.failed >= markAttempts && !n.claim.written() &&
		(n.claim.state != unsure || n.claim.lacking || n.direct.failing())
}

// finish brings a claim to its end that was begun on an instance.
func (c *Core) finish(claim *claim, n *node) {
	switch {
	case n.claim.written():
	case n.claim.state == reserved && (!n.absence.proof.IsZero() || !n.present()):
		n.claim = n.claim.freed(c.now)
	case n.claim.state == reserved && n.direct.failing() && n.claim.failed < markAttempts:
		n.claim = n.claim.freed(c.now)
		n.claim.failed = markAttempts - 1
		c.failed(n)
	case n.claim.state == unsure && n.claim.failed >= markAttempts && !n.claim.lacking && !c.marks.general():
		if c.ready(n.claim.at.Add(c.cfg.SettleTime)) {
			c.readNode(n, "a claim was written without an answer")
		}
	case n.claim.state == reserved && n.arrived && n.claim.failed == 0, c.seenLately(n.direct):
		c.mark(claim, n)
	default:
		c.readNode(n, "look before claiming")
	}
}

// mark writes the claim unless marks are refused and it is not time to try.
func (c *Core) mark(claim *claim, n *node) {
	if c.marks.err != nil {
		if !c.ready(c.marks.next) {
			// This frees the instance unless a claim may have been written already.
			c.deliver(claim, lkepool.Node{}, c.marks.err)
			return
		}
		c.marks.next = c.now.Add(c.marks.pause)
	}
	if !c.ready(n.claim.retry.until) {
		return
	}
	next := writing
	if n.claim.state == unsure {
		next = rewriting
	}
	n.claim.state, n.claim.at, n.claim.lacking = next, c.now, false
	c.do(Action{
		Op: OpMark, InstanceID: n.ID, PoolID: n.home, Key: claim.request.Key, Reason: "claim for " + claim.request.Claimant.Name,
		Tags: c.tags.claimTags(n.Tags, claim.id, c.now, claim.request.PoolTags, claim.request.Tags),
	})
}

// markRefused follows a mark that the API refused as forbidden or invalid.
func (c *Core) markRefused(d Done) {
	if c.marks.err == nil || !c.now.Before(c.marks.next) {
		c.marks.pause = min(max(2*c.marks.pause, firstProbe), longestProbe)
		c.marks.next = c.now.Add(c.marks.pause)
	}
	c.marks.err = d.Err
	if claim := c.world.claimOf(c.tags.ClaimIn(d.Action.Tags)); claim != nil {
		c.deliver(claim, lkepool.Node{}, d.Err)
	}
}

// restoreTags writes claims again whose tags were taken away.
func (c *Core) restoreTags() {
	for _, n := range c.world.nodes.rows {
		if !c.restorable(n) || !c.ready(n.claim.retry.until) {
			continue
		}
		if !c.seenLately(n.direct) {
			c.readNode(n, "a claim's tag is missing")
			continue
		}
		n.claim.state, n.claim.at = writing, c.now
		c.probed()
		c.do(Action{Op: OpMark, InstanceID: n.ID, PoolID: n.home, Reason: "write the claim again",
			Tags: c.tags.claimTags(n.Tags, n.claim.who, cmp.Or(n.claim.claimedAt, c.now))})
	}
}

// restorable reports whether a claim is to be written again, and can be. While
// marks are refused that is an attempt as good as any.
func (c *Core) restorable(n *node) bool {
	refused := c.marks.err != nil && c.now.Before(c.marks.next)
	return n.claim.state == held && n.claim.stripped && n.present() && !n.removal.busy && !refused && !c.settling() &&
		c.holder(n.claim.who) == n // not a second one, which is to go
}

// witness looks up instances that look free in the caller's own records, and once
// those whose claim was only read: one that has another claimant there is
// held by that claimant, and its tag is wrong. It need not be of a pool that lists
// it: a claim that was read on such an instance is given back in time, too.
func (c *Core) witness() {
	if c.cfg.Holder == nil {
		return
	}
	for _, n := range c.world.nodes.rows {
		read := n.claim.state == held && !n.claim.own && !n.claim.witnessed
		if n.claim.state != free && !read || n.leaves() || !c.owned(n) {
			continue
		}
		n.claim.witnessed = true
		if who, ok := c.cfg.Holder(n.ID); ok && (n.claim.state == free || !n.claim.who.Is(c.tags.ID(who))) {
			n.claim = claimState{who: c.tags.ID(who), state: held, at: c.now, since: c.now, stripped: true}
			c.world.index.claimed(n)
		}
	}
}

// holder returns the node of a claimant, nil if it has none. Of several it is the
// one that the caller's own records name.
func (c *Core) holder(who claims.ClaimID) *node {
	best := c.world.holder(who)
	if best == nil || c.cfg.Holder == nil {
		return best
	}
	for _, n := range c.world.nodesOf(who.Value) {
		if n == best || !n.holds(who) || !c.owned(n) {
			continue
		}
		if named, ok := c.cfg.Holder(n.ID); ok && c.tags.ID(named).Is(who) {
			return n
		}
	}
	return best
}

// isFree reports whether a member may be handed out.
func (c *Core) isFree(n *node) bool {
	return n.claim.state == free && n.known() && !c.quarantined(n) && !n.removal.busy && !n.removal.condemned && c.health(n) == claims.Healthy
}

// handOut orders free instances: those that requests failed for come last.
func handOut(a, b *node) int {
	failing := func(n *node) int {
		if n.direct.err != nil || n.claim.err != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(failing(a), failing(b)), cmp.Compare(a.ID, b.ID))
}

// match hands free instances, in that order, to claimants in the order in
// which their first calls came.
func (c *Core) match(d *demand) {
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *claim) bool {
		for len(d.free) > 0 && len(claim.tokens) > 0 {
			n := d.free[0]
			d.free = d.free[1:]
			n.claim = n.claim.freed(c.now)
			n.claim.who, n.claim.state = claim.id, reserved
			c.world.index.claimed(n)
			if c.finish(claim, n); n.claim.state != free {
				return true
			}
		}
		return len(claim.tokens) == 0
	})
}
