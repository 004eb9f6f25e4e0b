package engine

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// decide chooses what to do about all that is known, for all keys together. It
// is the only code that does so; what it chooses is in c.actions.
func (c *Core) decide() {
	if c.Idle() {
		return
	}
	c.countReads()
	c.witness()
	c.restoreTags()
	c.finishRemovals()
	if demands := c.demands(); len(demands) > 0 && c.informed(demands) {
		clear, unread := c.identify()
		for _, d := range demands {
			c.supply(d)
			if clear && !unread[d.waiting[0].hash] {
				c.match(d)
				c.buy(d)
			}
		}
		c.watch(c.onTheirWay())
	}
	c.requests = slices.DeleteFunc(c.requests, c.serve)
}

// demand holds the claimants of one key that wait, and the pools and nodes that can serve them.
type demand struct {
	key   lkepool.Key
	state *keyState
	// waiting have no node, in the order of their first calls.
	waiting []*claim
	pools   []*pool
	edited  int
	// free may be handed out; pending counts the nodes that are on their way,
	// overdue those that have been for too long.
	free []*node
	// quarantined are those that could not be claimed.
	quarantined []*node
	// soon are free as far as is known, and are tried again after a pause.
	pending, overdue, soon int
	// unread may be free or not: reading them fails.
	unread int
	// unclear: what the pools hold has to be read first.
	unclear bool
}

// demands answers the claimants that have a node, and returns what the others
// want, by key.
func (c *Core) demands() []*demand {
	byHash := map[string]*demand{}
	var demands []*demand
	for _, claim := range slices.Clone(c.world.claims) {
		if len(claim.tokens) == 0 || c.giveBack(claim) {
			continue
		}
		d, ok := byHash[claim.hash]
		if !ok {
			d = &demand{key: claim.request.Key, state: c.keyed(claim.hash)}
			byHash[claim.hash] = d
			demands = append(demands, d)
		}
		d.waiting = append(d.waiting, claim)
	}
	c.forgetClaims()
	return demands
}

// informed reports whether enough was read to hand out or buy anything.
func (c *Core) informed(demands []*demand) bool {
	if c.settling() {
		return false
	}
	if !c.surveyed(latest(c.startedAt.Add(c.cfg.SettleTime), c.now.Add(-fullReadEvery)), "claimants wait") {
		c.refuseUnread(demands)
		return false
	}
	return c.complete()
}

// complete reports whether the first full reading of this leadership can be
// relied on for who has a node. If it shows itself that something was left out,
// both lists are read again.
func (c *Core) complete() bool {
	if c.polls.again.IsZero() {
		c.polls.again = c.startedAt
		if c.leftOut() {
			c.polls.again = c.now
		}
	}
	return c.surveyed(c.polls.again, "the first lists are not complete")
}

// leftOut reports whether a list was empty, pools have more slots than instances
// were shown, or instances are of no pool that was shown, or in no list, although a
// pool names them: any of those left out may have a claimant.
func (c *Core) leftOut() bool {
	pools, nodes := c.world.pools.rows, c.world.nodes.rows
	return len(pools) == 0 || len(nodes) == 0 || slices.ContainsFunc(pools, func(p *pool) bool {
		return p.ours() && p.writes.grown.IsZero() && p.Count > len(c.world.members(p.ID))
	}) || slices.ContainsFunc(nodes, func(n *node) bool {
		_, known := c.world.pools.get(n.home)
		return !known && !n.last.IsZero() && !n.Foreign && !n.leaves() || known && n.present() && !n.known()
	})
}

// refuseUnread answers all claimants with the reason why the lists cannot be read, if waiting
// does not help.
func (c *Core) refuseUnread(demands []*demand) {
	err := c.pools.err
	if !lasting(err) {
		err = c.instances.err
	}
	if !lasting(err) {
		return
	}
	c.pools.err, c.instances.err = nil, nil
	for _, d := range demands {
		c.refuse(d.waiting, err)
	}
}

// identify reads the instances and pools that are known by their ID alone: any such
// pool may be of any key, and any such instance may have a claimant of its pool's key.
// It reports whether the first are none, and returns the keys of the second.
func (c *Core) identify() (all bool, unread map[string]bool) {
	all, unread = true, map[string]bool{}
	for _, n := range c.world.nodes.rows {
		p, ok := c.world.pools.get(n.home)
		switch {
		case !n.present() || n.Foreign:
		case !ok:
			all = c.located(n.home) && all
		case p.ours() && !n.known():
			if c.awaited(n) {
				unread[p.keyHash()] = true
			}
			if !c.limits.NodesLag || c.ready(n.first.Add(verifyAgain)) { // the next list shows it
				c.readNode(n, "only its ID is known")
			}
		}
	}
	return all, unread
}

// awaited reports whether an instance that is known by its ID alone may still turn out
// to be of one of those that wait. If it cannot be read, it is passed over after
// unreadGrace.
func (c *Core) awaited(n *node) bool {
	return n.direct.retry.failed == 0 || !c.ready(n.direct.retry.since.Add(unreadGrace))
}

// supply finds out what there is for a key.
func (c *Core) supply(d *demand) {
	d.pools, d.edited = c.world.poolsOf(d.key, d.waiting[0].hash)
	for _, p := range d.pools {
		c.supplyOf(d, p)
	}
	if len(d.quarantined) >= quarantineLimit || claims.KindOf(c.marks.err) == claims.KindForbidden {
		// Another one would be no better.
		for _, n := range d.quarantined {
			if c.ready(latest(n.direct.retry.until, n.claim.retry.until)) {
				d.free = append(d.free, n)
			} else {
				d.soon++
			}
		}
	}
	slices.SortFunc(d.free, handOut)
}

func (c *Core) supplyOf(d *demand, p *pool) {
	members := c.world.members(p.ID)
	if len(members) > p.Count {
		// Reads do not find some of them: they have been replaced.
		members = slices.DeleteFunc(members, func(n *node) bool { return !n.absence.second.IsZero() })
	}
	pending := max(0, p.Count-len(members)-p.lost())
	p.expect(pending, c.now)
	overdue := p.overdue(c.now, c.cfg.PendingTimeout)
	d.pending, d.overdue = d.pending+pending-overdue, d.overdue+overdue
	for _, since := range p.pending {
		c.at(since.Add(c.cfg.PendingTimeout + time.Second))
	}
	switch {
	case p.writes.dropping:
		// What arrives in it meanwhile goes with it.
		d.unclear = true
		return
	case p.writes.growing:
		d.unclear = true
	case !p.absence.since.IsZero() || !p.absence.proof.IsZero() || p.direct.want:
		d.unclear = true
		c.verifyPool(p, "a list contradicts what is known of the pool")
		return
	case !p.writes.unsure.IsZero():
		d.unclear = true
		if c.ready(p.writes.unsure.Add(c.cfg.SettleTime)) {
			c.readPool(p, "a write to the pool was not answered")
		}
	case len(members) > p.Count:
		d.unclear = c.settle(p, members)
		return
	}
	for _, n := range members {
		switch {
		case !n.known():
			d.unread++
		case !c.isFree(n):
			if n.claim.state == free && c.quarantined(n) {
				d.quarantined = append(d.quarantined, n)
			}
		case p.made.IsZero() && !n.arrived && !c.ready(c.lateUntil):
			d.soon++ // a claim of the process before may still be written on it
		case !n.absence.proof.IsZero():
			d.soon++
			c.prove(n)
		case c.now.Before(latest(n.direct.retry.until, n.claim.retry.until)):
			d.soon++
			c.at(latest(n.direct.retry.until, n.claim.retry.until))
		default:
			d.free = append(d.free, n)
		}
	}
}

// verifyPool reads a pool that a list lacks or contradicts; a 404 has to be
// answered twice, and a list that began after that has to lack the pool.
func (c *Core) verifyPool(p *pool, reason string) {
	switch {
	case !p.absence.second.IsZero():
		c.readAgain(p)
	case p.absence.proof.IsZero() || c.ready(p.absence.proof.Add(c.cfg.SettleTime)):
		c.readPool(p, reason)
	}
}

// readAgain reads what may still refute or complete the proof that a pool is gone.
func (c *Core) readAgain(p *pool) {
	since := latest(p.absence.second, p.first.Add(listLag))
	if c.ready(since) && c.fresh(&c.pools, OpListPools, since, "reads of a pool are answered 404") &&
		c.ready(p.direct.ended.Add(verifyAgain)) {
		c.readPool(p, "a list shows a pool that reads do not find")
	}
}

// prove reads what completes the proof that a node is gone, or refutes it: the node
// again, then the list of instances.
func (c *Core) prove(n *node) {
	second := n.absence.second
	switch {
	case n.absence.proof.IsZero():
	case second.IsZero():
		if c.ready(n.absence.proof.Add(c.cfg.SettleTime)) {
			c.readNode(n, "a 404 has to be answered twice")
		}
	default:
		since := latest(second, n.first.Add(listLag))
		if c.ready(since) && c.fresh(&c.instances, OpListInstances, since, "reads of an instance are answered 404") &&
			c.ready(n.direct.ended.Add(verifyAgain)) {
			c.readNode(n, "a list shows an instance that reads do not find")
		}
	}
}

// settle looks at a pool with more members than its count: one of them is gone,
// or about to go. It reports whether that is still to be waited for.
func (c *Core) settle(p *pool, members []*node) bool {
	if p.unsettled.IsZero() || c.now.Sub(p.unsettled) > 2*unsettledGrace {
		p.unsettled = c.now
	}
	if c.now.Sub(p.unsettled) > unsettledGrace {
		return false
	}
	c.at(p.unsettled.Add(unsettledGrace + time.Second))
	if c.ready(p.direct.ended.Add(c.cfg.SettleTime)) {
		c.readPool(p, "the pool has more members than its count")
	}
	for _, n := range members {
		if (n.last.Before(c.instances.began) || n.slot == "") && c.ready(latest(n.direct.ended, n.absence.proof).Add(c.cfg.SettleTime)) {
			c.readNode(n, "its pool has more members than its count")
		}
	}
	return true
}
