package engine

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// sweep is the state of one eviction.
type sweep struct {
	collected claims.Collected
	errs      []error
	// left are the instances still to be dealt with; begun: that was filled in.
	left  []int
	begun bool
	// slots are the slots being removed, vacated the pools that were dealt with.
	slots   map[string]bool
	vacated map[int]bool
}

// orphanNodes are the instances that nothing needs, for the caller to agree.
func (c *Core) orphanNodes(alive []claims.Claimant) []lkepool.Node {
	exists := c.existing(alive)
	var nodes []lkepool.Node
	for _, n := range c.world.nodes.rows {
		if c.orphan(n, exists) {
			nodes = append(nodes, c.node(n))
		}
	}
	return nodes
}

// existing returns a test for claimants that exist, or wait.
func (c *Core) existing(alive []claims.Claimant) func(claims.ClaimID) bool {
	byValue := map[string][]claims.ClaimID{}
	for _, claimant := range alive {
		byValue[c.tags.Value(claimant.Name)] = append(byValue[c.tags.Value(claimant.Name)], c.tags.ID(claimant))
	}
	return func(who claims.ClaimID) bool {
		return slices.ContainsFunc(byValue[who.Value], who.Is) || c.world.claimOf(who) != nil
	}
}

// orphan reports whether an instance may be collected: it is without a
// claimant, or its claimant does not exist or has another one, and has been so
// for longer than OrphanTTL as this process saw it.
func (c *Core) orphan(n *node, exists func(claims.ClaimID) bool) bool {
	if !c.owned(n) || !n.known() || n.leaves() {
		return false
	}
	old := func(since time.Time) bool { return c.now.Sub(since) > c.cfg.OrphanTTL }
	switch n.claim.state {
	case held:
		if !exists(n.claim.who) {
			return old(n.claim.since) && !c.holds(n)
		}
		kept := c.holder(n.claim.who)
		return kept != nil && kept != n && old(n.claim.since) && old(kept.claim.since) && !c.holds(n)
	case free:
		return c.ready(c.lateUntil.Add(c.cfg.SettleTime)) && old(latest(n.first, n.claim.at)) && c.surplus(n) && !c.holds(n)
	}
	return false
}

// holds reports whether the caller's own records give the instance to a claimant.
func (c *Core) holds(n *node) bool {
	if c.cfg.Holder == nil {
		return false
	}
	_, ok := c.cfg.Holder(n.ID)
	return ok
}

// surplus reports whether a free instance is beyond what claimants of its key
// want, those included that left lately and will return. What cannot be handed
// out, as in a pool that was edited, serves none of them.
func (c *Core) surplus(n *node) bool {
	p, known := c.world.pools.get(n.home)
	if !known || c.health(n) != claims.Healthy || c.quarantined(n) && c.now.Sub(n.first) > c.cfg.PendingTimeout {
		return true
	}
	hash, wanted, before := p.keyHash(), 0, 0
	var key lkepool.Key
	for _, claim := range c.world.claims {
		if claim.hash == hash && c.world.holder(claim.id) == nil {
			key = claim.request.Key
			wanted++
		}
	}
	if wanted == 0 {
		return true
	}
	usable, _ := c.world.poolsOf(key, hash)
	for _, q := range usable {
		for _, other := range c.world.members(q.ID) {
			if c.isFree(other) && handOut(other, n) < 0 {
				before++
			}
		}
	}
	return before >= wanted
}

// evict removes the instances that the caller agreed to, as far as they are
// still orphans, and then what pools have left over.
func (c *Core) evict(r *request) (claims.Collected, bool, error) {
	s := &r.sweep
	if !s.begun {
		*s = sweep{begun: true, left: slices.Clone(r.ask.Orphans), slots: map[string]bool{}, vacated: map[int]bool{}}
	}
	exists := c.existing(r.ask.Alive)
	s.left = slices.DeleteFunc(s.left, func(id int) bool { return c.evictNode(r, id, exists) })
	if len(s.left) > 0 || !c.tidy(r) {
		return claims.Collected{}, false, nil
	}
	return s.collected, true, errors.Join(s.errs...)
}

// evictNode goes on with one orphan, and reports whether that has ended.
func (c *Core) evictNode(r *request, id int, exists func(claims.ClaimID) bool) bool {
	s := &r.sweep
	n, known := c.world.nodes.get(id)
	if !known {
		return true
	}
	if !n.removal.accepted.IsZero() && !n.removal.accepted.Before(r.since) {
		s.collected.Removed = append(s.collected.Removed, c.node(n).Node)
		if p, kept := c.world.pools.get(n.home); (!kept || !p.writes.dropped.IsZero()) &&
			!slices.Contains(s.collected.Pools, strconv.Itoa(n.home)) {
			s.collected.Pools = append(s.collected.Pools, strconv.Itoa(n.home))
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
	if !c.seenLately(n.direct) {
		if !n.direct.began.Before(r.since) && !n.direct.agrees {
			return true // a 404 is proof when the next sweep reads another
		}
		c.readNode(n, "look before collecting")
		ended, err := c.readFailed(n.direct, r.since)
		s.fail(err)
		return ended
	}
	ended, err := c.remove(n, r.since, "collected: no claimant")
	s.fail(err)
	return ended && (err != nil || n.removal.accepted.IsZero())
}

func (s *sweep) fail(err error) {
	if err != nil && claims.KindOf(err) != claims.KindProvisioning {
		s.errs = append(s.errs, err)
	}
}

// tidy removes, by name, slots that have been without an instance for longer
// than PendingTimeout, and pools without nodes. It reports whether it has ended.
func (c *Core) tidy(r *request) bool {
	all := true
	for _, p := range slices.Clone(c.world.pools.rows) {
		if p.ours() && !r.sweep.vacated[p.ID] {
			r.sweep.vacated[p.ID] = c.tidyPool(r, p)
			all = all && r.sweep.vacated[p.ID]
		}
	}
	return all
}

func (c *Core) tidyPool(r *request, p *pool) bool {
	s := &r.sweep
	empty := p.Count == 0 && len(p.slots) == 0
	slots := c.overdueSlots(p)
	switch {
	case p.writes.dropping || p.writes.removing > 0 || p.writes.growing:
		return false
	case p.writes.condemned:
		c.dropAgain(p)
		return !p.writes.dropping
	case !empty && len(slots) == 0, c.settling(), c.inherited(p), !p.writes.retry.until.Before(r.since):
		return true
	case !c.readForRemoval(p, r.since, "look before removing what no instance has taken"):
		ended, err := c.readFailed(p.direct, r.since)
		s.fail(err)
		return ended
	case empty || p.Count == 1 && len(p.slots) == 1 && len(c.world.members(p.ID)) == 0:
		if c.wanted(p) || !p.direct.agrees {
			return true
		}
		s.collected.Slots = append(s.collected.Slots, slots...)
		s.collected.Pools = append(s.collected.Pools, strconv.Itoa(p.ID))
		p.writes.dropping = true
		c.do(Action{Op: OpDrop, PoolID: p.ID, Reason: "no node is left in it"})
	case p.Count > 1 && !s.slots[slots[0]]:
		s.slots[slots[0]] = true
		s.collected.Slots = append(s.collected.Slots, slots[0])
		p.writes.removing++
		c.do(Action{Op: OpRemove, PoolID: p.ID, NodeID: slots[0], Reason: "no instance has come to this slot"})
	default:
		return true
	}
	return false
}

// overdueSlots are the node IDs of slots that no instance has taken. While
// the pool does not list one of its instances, which has then taken one of
// them, there are none: nothing shows which.
func (c *Core) overdueSlots(p *pool) []string {
	if slices.ContainsFunc(c.world.members(p.ID), func(n *node) bool { return n.slot == "" }) {
		return nil
	}
	var slots []string
	for _, s := range p.slots {
		if s.InstanceID == 0 && !s.vacant.IsZero() && c.now.Sub(s.vacant) > c.cfg.PendingTimeout {
			slots = append(slots, s.NodeID)
		}
	}
	return slots
}
