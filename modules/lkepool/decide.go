package lkepool

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// decide chooses what to do about all that is known, for all keys together. It
// is the only code that does so; what it chooses is in c.actions.
func (c *core) decide() {
	if c.idle() {
		return
	}
	c.looks = 0
	for _, n := range c.world.nodes.rows {
		if n.look.busy {
			c.looks++
		}
	}
	c.witness()
	c.restoreTags()
	c.serveClaims()
	c.requests = slices.DeleteFunc(c.requests, c.serve)
}

// demand is what claimants of one key want, and what there is for them.
type demand struct {
	key   Key
	state *keyState
	// waiting have no node, in the order in which they first asked.
	waiting []*claim
	pools   []*pool
	edited  int
	// free is what may be handed out, pending how many nodes are on their way,
	// overdue how many have been for too long.
	free []*node
	// aside are those that could not be claimed.
	aside []*node
	// soon are free as far as is known, and are tried again after a pause.
	pending, overdue, soon int
	// unread may be free or not: reading them fails.
	unread int
	// unclear: what the pools hold has to be read first.
	unclear bool
}

// serveClaims answers the claimants that have a node, hands out free ones, and
// buys what is missing.
func (c *core) serveClaims() {
	byHash := map[string]*demand{}
	var demands []*demand
	for _, claim := range slices.Clone(c.world.claims) {
		if len(claim.tokens) == 0 || c.giveBack(claim) {
			continue
		}
		d, ok := byHash[claim.hash]
		if !ok {
			d = &demand{key: claim.request.Key, state: c.key(claim.request.Key)}
			byHash[claim.hash] = d
			demands = append(demands, d)
		}
		d.waiting = append(d.waiting, claim)
	}
	c.forgetClaims()
	if len(demands) == 0 || c.settling() {
		return
	}
	if !c.surveyed(latest(c.startedAt.Add(c.cfg.SettleTime), c.now.Add(-fullReadEvery)), "claimants wait") {
		c.refuseUnread(demands)
		return
	}
	if !c.complete() {
		return
	}
	pending, clear := 0, c.identify()
	for _, d := range demands {
		c.supply(d)
		if len(d.free) > 0 {
			c.match(d)
		}
		if clear {
			c.buy(d)
		}
		pending += d.pending
	}
	c.watch(demands, pending)
}

// complete reports whether the first full reading of this leadership can be
// relied on for who has a node. If pools have more places than instances were
// shown, one may have been left out, and both lists are read again.
func (c *core) complete() bool {
	if c.polls.again.IsZero() {
		c.polls.again = c.startedAt
		for _, p := range c.world.pools.rows {
			if p.ours() && p.writes.grown.IsZero() && p.Count > len(c.world.members(p.ID)) {
				c.polls.again = c.now
			}
		}
	}
	return c.surveyed(c.polls.again, "the first lists lack instances")
}

// refuseUnread tells all claimants why the lists cannot be read, if waiting
// does not help.
func (c *core) refuseUnread(demands []*demand) {
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

// giveBack answers a claimant that has a node, or goes on with the claim that
// is being written. It returns false for one that has none.
func (c *core) giveBack(claim *claim) bool {
	n := c.holder(claim.id)
	if n == nil {
		if n = c.world.assigned(claim.id); n == nil || c.aside(n) && n.hold.state != reserved {
			return false
		}
		c.finish(claim, n)
		return n.hold.state != free
	}
	if c.doubtful(claim, n) {
		return true
	}
	loose := n.home == 0 || !n.detached.IsZero()
	switch {
	case n.hold.own && c.now.Sub(n.hold.at) <= confirmedFor, c.seenLately(n.look):
	case !n.absence.since.IsZero(), c.now.Sub(n.last) > fullReadEvery:
		if c.ready(n.look.ended.Add(verifyAgain)) {
			c.lookAtNode(n, "its claimant asks for it again")
		}
		return true
	}
	if loose && !c.ready(latest(n.detached, n.first).Add(unsettledGrace)) {
		if n.home == 0 {
			c.fresh(&c.pools, opListPools, n.first, "no pool of a claimed instance is known")
		} else if c.ready(n.look.ended.Add(verifyAgain)) {
			c.lookAtNode(n, "its pool does not list it any more")
		}
		return true
	}
	c.deliver(claim, c.node(n), nil)
	return true
}

// doubtful deals with a claim that matches a claimant by its name alone, on an
// instance of another key: a claim of an earlier version, or one whose UID was
// removed, which may be of another claimant of that name. The caller's own records
// settle it. It returns false for a claim that is beyond doubt.
func (c *core) doubtful(claim *claim, n *node) bool {
	p, known := c.world.pools.get(n.home)
	if claim.id.uid == "" || n.hold.who.uid != "" || known && p.keyHash() == claim.hash {
		return false
	}
	if c.cfg.Holder != nil {
		if who, ok := c.cfg.Holder(n.ID); ok && who.id().is(claim.id) {
			return false
		}
	}
	if !known && !c.fresh(&c.pools, opListPools, latest(n.first, c.startedAt), "the pool of a claim by name alone is not known") {
		return true
	}
	c.deliver(claim, Node{}, &Error{Kind: KindConflict, Op: "claim", PoolID: n.home, Effect: EffectNone, Err: fmt.Errorf(
		"instance %d of another NodePool, type or template carries the claim of %s without its UID: whose it is is not known", n.ID, n.hold.who.value)})
	return true
}

// aside reports whether writes to the instance have failed so often that its
// claimant gets another one.
func (c *core) aside(n *node) bool {
	return !c.marks.general() && n.hold.failed >= markAttempts && (n.hold.state != unsure || n.look.failing())
}

// finish brings a claim to its end that was begun on an instance.
func (c *core) finish(claim *claim, n *node) {
	switch {
	case n.hold.state == writing:
	case n.hold.state == reserved && (!n.absence.proof.IsZero() || !n.present()):
		n.hold = n.hold.freed(c.now)
	case n.hold.state == reserved && n.look.failing() && n.hold.failed < markAttempts:
		n.hold = n.hold.freed(c.now)
		n.hold.failed = markAttempts - 1
		c.failed(n)
	case n.hold.state == unsure && n.hold.failed >= markAttempts && !c.marks.general():
		if c.ready(n.hold.at.Add(c.cfg.SettleTime)) {
			c.lookAtNode(n, "a claim was written without an answer")
		}
	case n.hold.state == reserved && n.arrived && n.hold.failed == 0, c.seenLately(n.look):
		c.mark(claim, n)
	default:
		c.lookAtNode(n, "look before claiming")
	}
}

// mark writes the claim unless marks are refused and it is not time to try.
func (c *core) mark(claim *claim, n *node) {
	if c.marks.err != nil {
		if !c.ready(c.marks.next) {
			n.hold = n.hold.freed(c.now)
			c.deliver(claim, Node{}, c.marks.err)
			return
		}
		c.marks.next = c.now.Add(c.marks.pause)
	}
	if !c.ready(n.hold.retry.until) {
		return
	}
	n.hold.state, n.hold.at = writing, c.now
	c.do(action{
		op: opMark, instanceID: n.ID, poolID: n.home, key: claim.request.Key, reason: "claim for " + claim.request.Claimant.Name,
		tags: claimTags(n.Tags, claim.id, c.now, claim.request.PoolTags, claim.request.Tags),
	})
}

// markRefused follows a mark that the API refused as forbidden or invalid.
func (c *core) markRefused(d done) {
	if c.marks.err == nil || !c.now.Before(c.marks.next) {
		c.marks.pause = min(max(2*c.marks.pause, firstProbe), longestProbe)
		c.marks.next = c.now.Add(c.marks.pause)
	}
	c.marks.err = d.err
	if claim := c.world.claimOf(claimIn(d.action.tags)); claim != nil {
		c.deliver(claim, Node{}, d.err)
	}
}

// restoreTags writes claims again whose tags were taken away.
func (c *core) restoreTags() {
	for _, n := range c.world.nodes.rows {
		if !c.restorable(n) || !c.ready(n.hold.retry.until) {
			continue
		}
		if !c.seenLately(n.look) {
			c.lookAtNode(n, "a claim's tag is missing")
			continue
		}
		n.hold.state, n.hold.at = writing, c.now
		c.do(action{op: opMark, instanceID: n.ID, poolID: n.home, reason: "write the claim again", tags: claimTags(n.Tags, n.hold.who, cmp.Or(n.hold.claimedAt, c.now))})
	}
}

// restorable reports whether a claim is to be written again, and can be.
func (c *core) restorable(n *node) bool {
	return n.hold.state == held && n.hold.stripped && n.present() && !n.removal.busy && c.marks.err == nil && !c.settling()
}

// identify reads the instances that are known by their ID alone: any of them
// may have a claimant. It reports whether none is left.
func (c *core) identify() bool {
	all := true
	for _, n := range c.world.nodes.rows {
		if p, ok := c.world.pools.get(n.home); ok && p.ours() && n.present() && !n.known() {
			all = all && n.look.failing()
			if !c.limits.NodesLag || c.ready(n.first.Add(verifyAgain)) { // the next list shows it
				c.lookAtNode(n, "only its ID is known")
			}
		}
	}
	return all
}

// supply finds out what there is for a key.
func (c *core) supply(d *demand) {
	d.pools, d.edited = c.world.poolsOf(d.key, d.waiting[0].hash)
	for _, p := range d.pools {
		c.supplyOf(d, p)
	}
	if len(d.aside) >= asideLimit || c.marks.err != nil {
		// Another one would be no better.
		for _, n := range d.aside {
			if c.ready(latest(n.look.retry.until, n.hold.retry.until)) {
				d.free = append(d.free, n)
			} else {
				d.soon++
			}
		}
	}
	slices.SortFunc(d.free, handOut)
}

func (c *core) supplyOf(d *demand, p *pool) {
	members := c.world.members(p.ID)
	pending := max(0, p.Count-len(members)-p.lost())
	p.owe(pending, c.now)
	overdue := p.overdue(c.now, c.cfg.PendingTimeout)
	d.pending, d.overdue = d.pending+pending-overdue, d.overdue+overdue
	for _, since := range p.owing {
		c.at(since.Add(c.cfg.PendingTimeout + time.Second))
	}
	switch {
	case p.writes.growing || p.writes.dropping:
		d.unclear = true
	case !p.absence.since.IsZero() || !p.absence.proof.IsZero() || p.look.want:
		d.unclear = true
		c.verifyPool(p, "a list contradicts what is known of the pool")
		return
	case !p.writes.unsure.IsZero():
		d.unclear = true
		if c.ready(p.writes.unsure.Add(c.cfg.SettleTime)) {
			c.lookAtPool(p, "a write to the pool was not answered")
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
			if n.hold.state == free && c.aside(n) {
				d.aside = append(d.aside, n)
			}
		case !n.absence.proof.IsZero():
			d.soon++
			if c.ready(n.absence.proof.Add(c.cfg.SettleTime)) {
				c.lookAtNode(n, "a 404 has to be answered twice")
			}
		case c.now.Before(latest(n.look.retry.until, n.hold.retry.until)):
			d.soon++
			c.at(latest(n.look.retry.until, n.hold.retry.until))
		default:
			d.free = append(d.free, n)
		}
	}
}

// verifyPool reads a pool that a list lacks or contradicts; a 404 has to be
// answered twice.
func (c *core) verifyPool(p *pool, reason string) {
	if p.absence.proof.IsZero() || c.ready(p.absence.proof.Add(c.cfg.SettleTime)) {
		c.lookAtPool(p, reason)
	}
}

// settle looks at a pool with more members than its count: one of them is gone,
// or about to go. It reports whether that is still to be waited for.
func (c *core) settle(p *pool, members []*node) bool {
	if p.unsettled.IsZero() || c.now.Sub(p.unsettled) > 2*unsettledGrace {
		p.unsettled = c.now
	}
	if c.now.Sub(p.unsettled) > unsettledGrace {
		return false
	}
	c.at(p.unsettled.Add(unsettledGrace + time.Second))
	if c.ready(p.look.ended.Add(c.cfg.SettleTime)) {
		c.lookAtPool(p, "the pool has more members than its count")
	}
	for _, n := range members {
		if (n.last.Before(c.instances.began) || n.slot == "") && c.ready(latest(n.look.ended, n.absence.proof).Add(c.cfg.SettleTime)) {
			c.lookAtNode(n, "its pool has more members than its count")
		}
	}
	return true
}

// witness asks the caller's own records about instances that look free, and once
// about those whose claim was only read: one that has another claimant there is
// held by that claimant, and its tag is wrong.
func (c *core) witness() {
	if c.cfg.Holder == nil {
		return
	}
	for _, n := range c.world.nodes.rows {
		read := n.hold.state == held && !n.hold.own && !n.hold.witnessed
		if n.hold.state != free && !read || !n.present() || !c.owned(n) {
			continue
		}
		n.hold.witnessed = true
		if who, ok := c.cfg.Holder(n.ID); ok && (n.hold.state == free || !n.hold.who.is(who.id())) {
			n.hold = hold{who: who.id(), state: held, at: c.now, since: c.now, stripped: true}
		}
	}
}

// holder returns the node of a claimant, nil if it has none. Of several it is the
// one that the caller's own records name.
func (c *core) holder(who claimID) *node {
	best := c.world.holder(who)
	if best == nil || c.cfg.Holder == nil {
		return best
	}
	for _, n := range c.world.nodes.rows {
		if n == best || !n.holds(who) || !c.owned(n) {
			continue
		}
		if named, ok := c.cfg.Holder(n.ID); ok && named.id().is(who) {
			return n
		}
	}
	return best
}

// isFree reports whether a member may be handed out.
func (c *core) isFree(n *node) bool {
	return n.hold.state == free && n.known() && !c.aside(n) && !n.removal.busy && c.health(n) == Healthy
}

// handOut orders free instances: those that requests failed for come last.
func handOut(a, b *node) int {
	troubled := func(n *node) int {
		if n.look.err != nil || n.hold.err != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(troubled(a), troubled(b)), cmp.Compare(a.ID, b.ID))
}

// match hands free instances, in that order, to claimants in the order in
// which they first asked.
func (c *core) match(d *demand) {
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *claim) bool {
		for len(d.free) > 0 && len(claim.tokens) > 0 {
			n := d.free[0]
			d.free = d.free[1:]
			n.hold = n.hold.freed(c.now)
			n.hold.who, n.hold.state = claim.id, reserved
			if c.finish(claim, n); n.hold.state != free {
				return true
			}
		}
		return len(claim.tokens) == 0
	})
}

// firstLook is how long after a purchase the first look for it is.
func (c *core) firstLook() time.Duration { return min(c.cfg.RetryDelay, firstLookAfter) }

// watch reads whether capacity has arrived, at growing distances.
func (c *core) watch(demands []*demand, pending int) {
	if pending == 0 {
		c.polls.running = false
		return
	}
	if c.polls.running && c.polled() {
		c.polls.running = false
		c.polls.next = c.polls.at.Add(c.polls.pace.Next(c.now, pending, c.cfg.RetryDelay))
	}
	if c.polls.running || !c.ready(c.polls.next) {
		return
	}
	c.polls.running, c.polls.at, c.polls.pools = true, c.now, nil
	if c.limits.NodesLag {
		c.fresh(&c.instances, opListInstances, c.now, "nodes are on their way")
		return
	}
	for _, d := range demands {
		for _, p := range d.pools {
			if len(p.owing) > 0 {
				c.polls.pools = append(c.polls.pools, p)
			}
		}
	}
	if len(c.polls.pools) > directPolls {
		c.polls.pools = nil
		c.fresh(&c.pools, opListPools, c.now, "nodes are on their way")
	}
	for _, p := range c.polls.pools {
		c.lookAtPool(p, "nodes are on their way")
	}
}

// polled reports whether the running poll has ended.
func (c *core) polled() bool {
	if c.limits.NodesLag {
		return !c.instances.busy
	}
	if len(c.polls.pools) == 0 {
		return !c.pools.busy
	}
	return !slices.ContainsFunc(c.polls.pools, func(p *pool) bool { return p.look.busy })
}
