package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func (c *Core) mergeInstances(d Done) {
	if !c.instances.end(d, c.cfg.RetryDelay, c.now) {
		return
	}
	seen := map[int]bool{}
	for _, reading := range d.Instances {
		seen[reading.ID] = true
		if end, gone := c.world.goneNodes[reading.ID]; gone && listed(d.Began, end.at) {
			delete(c.world.goneNodes, reading.ID) // the proof is refuted
		} else if gone {
			continue
		}
		if !reading.Foreign {
			c.seeInstance(reading, d.Began, false)
		}
	}
	for _, n := range slices.Clone(c.world.nodes.rows) {
		if seen[n.ID] || !d.Began.After(n.last) {
			continue
		}
		n.absence.since = cmp.Or(n.absence.since, d.Began)
		c.lacked(n, d.Began)
	}
	c.pruneNodes(d.Began)
}

// mergeInstance applies a direct read of an instance.
func (c *Core) mergeInstance(d Done) {
	n, known := c.world.nodes.get(d.Action.InstanceID)
	if !known {
		return
	}
	n.direct.end(d, c.cfg.RetryDelay, c.now)
	n.direct.agrees = false
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		n.absence.since = cmp.Or(n.absence.since, d.Began)
		c.missing(&n.absence, d.Began)
		c.endIfProven(n)
	case d.Err == nil && d.Instance.Foreign:
		n.Instance, n.home, n.tagged = d.Instance, 0, d.Began
		c.world.index.moved()
	case d.Err == nil:
		n.direct.agrees = true
		c.seeInstance(d.Instance, d.Began, true)
	}
}

func (c *Core) meetNode(id int) *node {
	n := &node{first: c.now}
	n.ID = id
	c.world.nodes.put(id, n)
	c.world.index.moved()
	return n
}

func (c *Core) forgetNode(n *node) {
	c.world.nodes.drop(n.ID)
	c.world.index.moved()
	c.world.goneNodes[n.ID] = ended{removed: !n.removal.accepted.IsZero(), at: c.now}
	if p, ok := c.world.pools.get(n.home); ok {
		if s := p.slot(n.slot); s != nil && s.InstanceID == n.ID {
			s.InstanceID, s.vacant, s.lost = 0, c.now, n.removal.accepted.IsZero()
		}
	}
}

// seeInstance applies what a reading or a write's answer shows of an instance.
func (c *Core) seeInstance(reading lkepool.Instance, began time.Time, direct bool) {
	n, known := c.world.nodes.get(reading.ID)
	who := c.tags.ClaimIn(reading.Tags)
	if !known {
		n = c.meetNode(reading.ID)
		n.arrived = !direct && listed(began, c.startedAt)
	}
	outranked := n.claim.wrote && !c.shows(began, n.claim.at, direct)
	// Either reading may be the older one, and the tags of the platform or of a
	// person must not be lost by the next write.
	switch {
	case outranked:
		reading.Tags = claims.Union(n.Tags, slices.DeleteFunc(slices.Clone(reading.Tags), c.tags.ofClaim))
	case !n.tagged.IsZero() && !c.settled(began, n.tagged):
		reading.Tags = claims.Union(reading.Tags, slices.DeleteFunc(slices.Clone(n.Tags), c.tags.ofClaim))
	}
	state := max(n.State, reading.State)
	if n.State != lkepool.Leaving {
		state = reading.State
	}
	n.Instance, n.State = reading, state
	n.tagged, n.last, n.absence = latest(n.tagged, began), latest(n.last, began), absence{}
	if reading.PoolID != 0 && n.slot == "" && n.detached.IsZero() {
		if n.home != reading.PoolID {
			c.world.index.moved()
		}
		n.home = reading.PoolID
	}
	c.mergeClaim(n, who, began, direct)
}

// shows reports whether a reading that began then shows a write of at.
func (c *Core) shows(began, at time.Time, direct bool) bool {
	if direct {
		return c.settled(began, at)
	}
	return listed(began, at)
}

// mergeClaim applies the claim that a reading shows, or does not show.
func (c *Core) mergeClaim(n *node, who claims.ClaimID, began time.Time, direct bool) {
	h := &n.claim
	h.claimedAt = latest(h.claimedAt, c.tags.claimedAtOf(n.Tags))
	switch {
	case h.written():
		// The write's own answer is to come.
	case who.None() && h.state == unsure:
		h.lacking = h.lacking || c.shows(began, h.at, direct)
		if c.shows(began, h.at.Add(c.cfg.LateEffect), direct) {
			*h = h.freed(c.now)
		}
	case h.state == held && !h.who.Is(who):
		h.stripped = h.stripped || c.shows(began, h.at, direct)
	case h.state == held:
		h.stripped = h.stripped && !direct
	case who.None():
	default:
		own := h.own && h.who.Is(who)
		*h = claimState{who: who, state: held, at: began, since: c.now, claimedAt: h.claimedAt, own: own, failed: h.failed}
		c.world.index.claimed(n)
	}
}
