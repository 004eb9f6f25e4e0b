package lkepool

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// release removes an instance for its claimant. It ends when the platform has
// accepted the removal, or had accepted it before.
func (c *core) release(r *request) (bool, error) {
	n, known := c.world.nodes.get(r.ask.id)
	if known && !n.removal.accepted.IsZero() && !n.removal.accepted.Before(r.since) {
		return true, nil
	}
	if _, home := c.world.pools.get(n.homeOrNone()); !known || !home || !n.removal.accepted.IsZero() || !n.detached.IsZero() || n.hold.state == free {
		var found bool
		var err error
		if n, found, err = c.find(r); !found || err != nil {
			return found, err
		}
		if !c.home(n, r) {
			return c.pools.failedSince(r.since), c.pools.err
		}
	}
	if err := c.claimedBy(n, r.ask.by); err != nil {
		return true, err
	}
	return c.remove(n, r.since, "released by its claimant")
}

// remove takes an instance out of its pool by name. It is called until it is
// done: the removal was accepted, or an attempt since then failed.
func (c *core) remove(n *node, since time.Time, reason string) (bool, error) {
	switch {
	case n.State == Leaving || !n.removal.accepted.IsZero() && c.now.Sub(n.removal.accepted) < removalResend:
		return true, nil
	case n.removal.busy || c.settling():
		return false, nil
	case n.removal.err != nil && !n.removal.failed.Before(since):
		return true, n.removal.err
	case n.hold.state == writing || n.hold.state == reserved:
		return false, nil
	}
	p, known := c.world.pools.get(n.home)
	switch {
	case !known:
		return true, c.unlisted(n)
	case p.writes.growing || p.writes.dropping || p.writes.removing >= parallelRemovals:
		return false, nil
	case !c.lookedForRemoval(p, n.removal.accepted, "look before removing"):
		return c.pastTrouble(p.look, since)
	case n.slot == "":
		return true, c.unlisted(n)
	}
	return c.take(p, n, reason)
}

// lookedForRemoval reports whether the pool was read right before. What own
// removals did to it meanwhile is known.
func (c *core) lookedForRemoval(p *pool, after time.Time, reason string) bool {
	if !p.look.ended.IsZero() && c.now.Sub(p.look.ended) <= lookValid && p.look.began.After(p.writes.grown) &&
		p.look.began.After(after) && p.writes.unsure.IsZero() && p.absence.proof.IsZero() {
		return true
	}
	switch {
	case !p.writes.unsure.IsZero() && !c.ready(p.writes.unsure.Add(c.cfg.SettleTime)):
	case !p.absence.proof.IsZero():
		c.verifyPool(p, "a 404 has to be answered twice")
	default:
		c.lookAtPool(p, reason)
	}
	return false
}

// pastTrouble ends a request whose look failed.
func (c *core) pastTrouble(l look, since time.Time) (bool, error) {
	if !l.busy && l.err != nil && !l.tried.Before(since) {
		return true, l.err
	}
	return false, nil
}

// unlisted is the error about an instance that no pool lists, so that there is
// no name to remove it by.
func (c *core) unlisted(n *node) error {
	return &Error{Kind: KindProvisioning, Op: "remove node", PoolID: n.home, Effect: EffectNone,
		Err: fmt.Errorf("no pool lists instance %d, so it cannot be removed by name", n.ID)}
}

// take removes one node of a pool that was read right before, the last one with
// its pool. Never is a count lowered by number: LKE would choose who goes.
func (c *core) take(p *pool, n *node, reason string) (bool, error) {
	switch remaining := p.Count - p.writes.removing; {
	case remaining > 1:
		n.removal.busy = true
		p.writes.removing++
		c.do(action{op: opRemove, poolID: p.ID, nodeID: n.slot, instanceID: n.ID, reason: reason})
		return false, nil
	case p.writes.removing > 0:
		return false, nil
	case c.last(p, n) && c.wanted(p):
		// The node goes with its pool, and what waiting claimants need will be
		// added to that pool first.
		return false, nil
	case !c.last(p, n) || !p.look.agrees:
		if c.now.Sub(p.look.ended) < verifyAgain/2 {
			c.at(p.look.ended.Add(verifyAgain / 2))
			return false, nil
		}
		return true, &Error{Kind: KindProvisioning, Op: "remove node", PoolID: p.ID, Effect: EffectNone,
			Err: fmt.Errorf("the pool has count %d and lists %d nodes; it has not settled", p.Count, len(p.slots))}
	}
	n.removal.busy, p.writes.dropping = true, true
	c.do(action{op: opDrop, poolID: p.ID, instanceID: n.ID, reason: reason + "; the last node goes with its pool"})
	return false, nil
}

// last reports whether the node is all that its pool has and is to have.
func (c *core) last(p *pool, n *node) bool {
	for _, s := range p.slots {
		if other, known := c.world.nodes.get(s.InstanceID); s.InstanceID != n.ID && (!known || other.removal.accepted.IsZero() || other.removal.listed) {
			return false
		}
	}
	return !slices.ContainsFunc(c.world.members(p.ID), func(other *node) bool { return other != n })
}

// wanted reports whether claimants wait for a node of the pool's key.
func (c *core) wanted(p *pool) bool {
	return slices.ContainsFunc(c.world.claims, func(claim *claim) bool {
		return claim.hash == p.keyHash() && len(claim.tokens) > 0
	})
}

// sweep is the state of one eviction.
type sweep struct {
	collected Collected
	errs      []error
	// left are the instances still to be dealt with; begun: that was filled in.
	left  []int
	begun bool
	// places are the slots being removed, vacated the pools that were dealt with.
	places  map[string]bool
	vacated map[int]bool
}

// orphanNodes are the instances that nothing needs, for the caller to agree.
func (c *core) orphanNodes(alive []Claimant) []Node {
	exists := c.existing(alive)
	var nodes []Node
	for _, n := range c.world.nodes.rows {
		if c.orphan(n, exists) {
			nodes = append(nodes, c.node(n))
		}
	}
	return nodes
}

// existing returns a test for claimants that exist, or wait.
func (c *core) existing(alive []Claimant) func(claimID) bool {
	byValue := map[string][]claimID{}
	for _, claimant := range alive {
		byValue[ClaimValue(claimant.Name)] = append(byValue[ClaimValue(claimant.Name)], claimant.id())
	}
	return func(who claimID) bool {
		return slices.ContainsFunc(byValue[who.value], who.is) || c.world.claimOf(who) != nil
	}
}

// orphan reports whether an instance may be collected: it is without a
// claimant, or its claimant does not exist or has another one, and has been so
// for longer than OrphanTTL as this process saw it.
func (c *core) orphan(n *node, exists func(claimID) bool) bool {
	if !c.owned(n) || !n.known() || n.State == Leaving || !n.removal.accepted.IsZero() && !n.removal.listed {
		return false
	}
	old := func(since time.Time) bool { return c.now.Sub(since) > c.cfg.OrphanTTL }
	switch n.hold.state {
	case held:
		if !exists(n.hold.who) {
			return old(n.hold.since) && !c.holds(n)
		}
		kept := c.holder(n.hold.who)
		return kept != nil && kept != n && old(n.hold.since) && old(kept.hold.since) && !c.holds(n)
	case free:
		return old(latest(n.first, n.hold.at)) && c.surplus(n) && !c.holds(n)
	}
	return false
}

// holds reports whether the caller's own records give the instance to a claimant.
func (c *core) holds(n *node) bool {
	if c.cfg.Holder == nil {
		return false
	}
	_, ok := c.cfg.Holder(n.ID)
	return ok
}

// surplus reports whether a free instance is beyond what claimants of its key
// want, those included that left lately and will ask again.
func (c *core) surplus(n *node) bool {
	p, known := c.world.pools.get(n.home)
	if !known || c.health(n) != Healthy || c.aside(n) && c.now.Sub(n.first) > c.cfg.PendingTimeout {
		return true
	}
	hash, wanted, before := p.keyHash(), 0, 0
	for _, claim := range c.world.claims {
		if claim.hash == hash && c.world.holder(claim.id) == nil {
			wanted++
		}
	}
	for _, other := range c.world.nodes.rows {
		if q, ok := c.world.pools.get(other.home); ok && q.keyHash() == hash && other.present() && other.hold.state == free && handOut(other, n) < 0 {
			before++
		}
	}
	return before >= wanted
}

// evict removes the instances that the caller agreed to, as far as they are
// still orphans, and then what pools have left over.
func (c *core) evict(r *request) (Collected, bool, error) {
	s := &r.sweep
	if !s.begun {
		*s = sweep{begun: true, left: slices.Clone(r.ask.orphans), places: map[string]bool{}, vacated: map[int]bool{}}
	}
	exists := c.existing(r.ask.alive)
	s.left = slices.DeleteFunc(s.left, func(id int) bool { return c.evictNode(r, id, exists) })
	if len(s.left) > 0 || !c.tidy(r) {
		return Collected{}, false, nil
	}
	return s.collected, true, errors.Join(s.errs...)
}

// evictNode goes on with one orphan, and reports whether that has ended.
func (c *core) evictNode(r *request, id int, exists func(claimID) bool) bool {
	s := &r.sweep
	n, known := c.world.nodes.get(id)
	if !known {
		return true
	}
	if !n.removal.accepted.IsZero() && !n.removal.accepted.Before(r.since) {
		s.collected.Released = append(s.collected.Released, c.node(n))
		if p, kept := c.world.pools.get(n.home); (!kept || !p.writes.dropped.IsZero()) && !slices.Contains(s.collected.Pools, n.home) {
			s.collected.Pools = append(s.collected.Pools, n.home)
		}
		return true
	}
	if n.removal.busy {
		return false
	}
	if !c.orphan(n, exists) {
		return true
	}
	// The object itself is read right before; what it shows is in the world then.
	if !c.seenLately(n.look) {
		if !n.look.began.Before(r.since) && !n.look.agrees {
			return true // a 404 is proof when the next sweep reads another
		}
		c.lookAtNode(n, "look before collecting")
		ended, err := c.pastTrouble(n.look, r.since)
		s.fail(err)
		return ended
	}
	ended, err := c.remove(n, r.since, "collected: no claimant")
	s.fail(err)
	return ended && (err != nil || n.removal.accepted.IsZero())
}

func (s *sweep) fail(err error) {
	if err != nil && KindOf(err) != KindProvisioning {
		s.errs = append(s.errs, err)
	}
}

// tidy removes, by name, places that have been without an instance for longer
// than PendingTimeout, and pools without nodes. It reports whether it has ended.
func (c *core) tidy(r *request) bool {
	all := true
	for _, p := range slices.Clone(c.world.pools.rows) {
		if p.ours() && !r.sweep.vacated[p.ID] {
			r.sweep.vacated[p.ID] = c.tidyPool(r, p)
			all = all && r.sweep.vacated[p.ID]
		}
	}
	return all
}

func (c *core) tidyPool(r *request, p *pool) bool {
	s := &r.sweep
	empty := p.Count == 0 && len(p.slots) == 0
	places := c.overduePlaces(p)
	switch {
	case p.writes.dropping || p.writes.removing > 0 || p.writes.growing:
		return false
	case !empty && len(places) == 0, !p.writes.dropped.IsZero(), c.settling(), !p.writes.retry.until.Before(r.since):
		return true
	case !c.lookedForRemoval(p, r.since, "look before removing what no instance has taken"):
		ended, err := c.pastTrouble(p.look, r.since)
		s.fail(err)
		return ended
	case empty || p.Count == 1 && len(p.slots) == 1 && len(c.world.members(p.ID)) == 0:
		if c.wanted(p) || !p.look.agrees {
			return true
		}
		s.collected.Places = append(s.collected.Places, places...)
		s.collected.Pools = append(s.collected.Pools, p.ID)
		p.writes.dropping = true
		c.do(action{op: opDrop, poolID: p.ID, reason: "no node is left in it"})
	case p.Count > 1 && !s.places[places[0]]:
		s.places[places[0]] = true
		s.collected.Places = append(s.collected.Places, places[0])
		p.writes.removing++
		c.do(action{op: opRemove, poolID: p.ID, nodeID: places[0], reason: "no instance has come to this place"})
	default:
		return true
	}
	return false
}

// overduePlaces are the node IDs of places that no instance has taken. While
// the pool does not list one of its instances, which has then taken one of
// them, there are none: nothing shows which.
func (c *core) overduePlaces(p *pool) []string {
	if slices.ContainsFunc(c.world.members(p.ID), func(n *node) bool { return n.slot == "" }) {
		return nil
	}
	var places []string
	for _, s := range p.slots {
		if s.InstanceID == 0 && !s.vacant.IsZero() && c.now.Sub(s.vacant) > c.cfg.PendingTimeout {
			places = append(places, s.NodeID)
		}
	}
	return places
}
