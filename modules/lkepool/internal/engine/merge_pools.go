package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func (c *Core) mergePools(d Done) {
	if !c.pools.end(d, c.cfg.RetryDelay, c.now) {
		return
	}
	seen := map[int]bool{}
	for _, reading := range d.Pools {
		seen[reading.ID] = true
		if at, gone := c.world.gonePools[reading.ID]; gone && !listed(d.Began, at) {
			continue
		}
		p, known := c.world.pools.get(reading.ID)
		if !known || !p.ours() {
			c.foundPool(reading)
			c.meetPool(reading, d.Began, listed(d.Began, c.startedAt))
			continue
		}
		p.last, p.absence.since = latest(p.last, d.Began), time.Time{}
		dropped := !p.writes.dropped.IsZero() && d.Began.Sub(p.writes.dropped) >= removalResend
		if dropped || listed(d.Began, p.writes.grown) && listed(d.Began, p.writes.shrunk) && differs(p, reading) {
			p.direct.want = true
		}
		c.addSlots(p, reading.Slots, d.Began, false)
	}
	for _, p := range c.world.pools.rows {
		// A list may be older than the pool itself.
		if !seen[p.ID] && d.Began.After(p.last) && listed(d.Began, p.made) && p.absence.since.IsZero() {
			p.absence.since, p.direct.want = d.Began, p.ours()
		}
	}
	for _, p := range slices.Clone(c.world.pools.rows) {
		switch {
		case seen[p.ID]:
		case !p.ours():
			c.world.pools.drop(p.ID)
		case listed(d.Began, p.first):
			p.absence.lacks = latest(p.absence.lacks, d.Began)
			c.endIfProvenPool(p)
		}
	}
	c.prunePools(d.Began)
}

// differs reports whether a list contradicts what is known of the pool.
func differs(p *pool, reading lkepool.Pool) bool {
	if reading.Count != p.Count || !sameShape(reading, p.Pool) {
		return true
	}
	shown := map[string]int{}
	for _, s := range reading.Slots {
		shown[s.NodeID] = s.InstanceID
	}
	return slices.ContainsFunc(p.slots, func(s slot) bool {
		id, ok := shown[s.NodeID]
		return !ok || s.InstanceID != 0 && id != s.InstanceID
	})
}

// meetPool records a pool that is new, or not ours and shown again.
func (c *Core) meetPool(reading lkepool.Pool, began time.Time, witnessed bool) *pool {
	p, known := c.world.pools.get(reading.ID)
	if !known {
		p = &pool{first: c.now}
		c.world.pools.put(reading.ID, p)
	}
	slots := reading.Slots
	p.Pool, p.Slots, p.hash = reading, nil, c.tags.keyHash(reading.Tags)
	p.last, p.absence = latest(p.last, began), absence{}
	c.addSlots(p, slots, began, false)
	_, back := c.world.gonePools[reading.ID] // its deletion was without effect
	delete(c.world.gonePools, reading.ID)
	c.world.named.drop(reading.ID)
	p.witnessed, p.direct.want = witnessed, (back || !witnessed || p.direct.want) && p.ours()
	return p
}

// mergePool applies a direct read of a pool.
func (c *Core) mergePool(d Done) {
	p, known := c.world.pools.get(d.Action.PoolID)
	if !known {
		c.mergeNamed(d)
		return
	}
	p.direct.end(d, c.cfg.RetryDelay, c.now)
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		c.missing(&p.absence, d.Began)
		c.endIfProvenPool(p)
		return
	case d.Err != nil:
		return
	}
	p.absence, p.last = absence{}, latest(p.last, d.Began)
	if !c.settled(d.Began, latest(p.writes.grown, p.writes.shrunk)) || !c.settled(d.Began, p.writes.unsure) {
		// An own write outranks this reading; it may still agree with it.
		p.direct.agrees = p.writes.unsure.IsZero() && d.Pool.Count == p.Count && !c.lacksSlot(p, d.Pool.Slots) && sameShape(p.Pool, d.Pool)
		c.addSlots(p, d.Pool.Slots, d.Began, true)
		return
	}
	c.thaw(p, d)
	changed := d.Pool.Count != p.Count || !sameShape(p.Pool, d.Pool)
	if d.Pool.Count < p.Count {
		p.lowered.note(d.Pool.Count, c.now)
	}
	slots := d.Pool.Slots
	p.Pool, p.Slots, p.hash, p.writes.unsure = d.Pool, nil, c.tags.keyHash(d.Pool.Tags), time.Time{}
	lacking := c.dropSlots(p, slots, d.Began)
	c.addSlots(p, slots, d.Began, true)
	p.direct.agrees = !changed && !lacking
	p.witnessed = p.witnessed || c.settled(d.Began, c.startedAt)
}

// mergeNamed applies a direct read of a pool that was known by its ID alone.
func (c *Core) mergeNamed(d Done) {
	named, known := c.world.named.get(d.Action.PoolID)
	if !known {
		return
	}
	named.direct.end(d, c.cfg.RetryDelay, c.now)
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		c.missing(&named.absence, d.Began)
	case d.Err == nil:
		c.meetPool(d.Pool, d.Began, c.settled(d.Began, c.startedAt)).direct = named.direct
	}
}

// endIfProvenPool forgets a pool that is proven gone.
func (c *Core) endIfProvenPool(p *pool) {
	if p.absence.proven(p.writes.dropped) {
		c.forgetPool(p)
	}
}

// thaw lets other counts be sent again: after a direct read that began when the
// frozen one cannot take effect any more, or that shows it after its only attempt.
func (c *Core) thaw(p *pool, d Done) {
	f := p.writes.frozen
	shown := !f.again && d.Pool.Count == f.count && c.settled(d.Began, f.sent) && c.settled(f.sent, p.writes.shrunk) &&
		!c.unresolved(p)
	if f.count != 0 && (shown || c.settled(d.Began, f.until)) {
		p.writes.frozen = freeze{}
	}
}

// unresolved reports whether a removal of a node of the pool was not answered with
// success, and may take effect yet.
func (c *Core) unresolved(p *pool) bool {
	return slices.ContainsFunc(c.world.members(p.ID), func(n *node) bool { return n.removal.condemned && n.removal.accepted.IsZero() })
}

// sameShape reports whether two readings differ in count and nodes alone.
func sameShape(a, b lkepool.Pool) bool {
	return a.Autoscaled == b.Autoscaled && a.InstanceType == b.InstanceType && slices.Equal(a.Tags, b.Tags) && a.Template.Equal(b.Template)
}

func (l *lowering) note(count int, now time.Time) {
	if l.scaled == 0 || count >= l.scaled {
		return
	}
	if now.Sub(l.since) > lowerMemory {
		l.times, l.since = 0, now
	}
	l.times++
	l.scaled = count
}

// lacksSlot reports whether a reading lacks a slot, or its instance, that is known.
func (c *Core) lacksSlot(p *pool, slots []lkepool.Slot) bool {
	return slices.ContainsFunc(p.slots, func(s slot) bool {
		n, known := c.world.nodes.get(s.InstanceID)
		removed := known && !n.removal.accepted.IsZero() && !n.removal.listed
		return !removed && !shows(slots, s.Slot)
	})
}

func shows(slots []lkepool.Slot, s lkepool.Slot) bool {
	return slices.ContainsFunc(slots, func(other lkepool.Slot) bool {
		return other.NodeID == s.NodeID && (s.InstanceID == 0 || other.InstanceID == s.InstanceID)
	})
}

// dropSlots takes away what a direct read lacks, and reports whether it lacked
// anything that no own removal explains.
func (c *Core) dropSlots(p *pool, slots []lkepool.Slot, began time.Time) (lacking bool) {
	for i := range p.slots {
		// An instance that left its slot, which is still there.
		s := &p.slots[i]
		if s.InstanceID == 0 || shows(slots, s.Slot) || !shows(slots, lkepool.Slot{NodeID: s.NodeID}) || !c.settled(began, s.seen) {
			continue
		}
		lacking = true
		if n, known := c.world.nodes.get(s.InstanceID); known {
			n.detached, n.slot, n.removal.listed = c.now, "", false
		}
		s.InstanceID, s.vacant, s.lost = 0, c.now, true
	}
	p.slots = slices.DeleteFunc(p.slots, func(s slot) bool {
		if shows(slots, s.Slot) {
			return false
		}
		n, known := c.world.nodes.get(s.InstanceID)
		lacking = lacking || !known || n.removal.accepted.IsZero()
		if !c.settled(began, s.seen) {
			return false
		}
		if known && n.slot == s.NodeID {
			n.detached, n.slot, n.removal.listed = c.now, "", false
		}
		return true
	})
	return lacking
}

// addSlots applies what a reading of a pool shows. Slots that are new, or whose
// instance is new, were seen to arrive if the pool had been witnessed before,
// except where a pool lists its nodes late.
func (c *Core) addSlots(p *pool, slots []lkepool.Slot, began time.Time, direct bool) {
	for _, reading := range slots {
		if n, known := c.world.nodes.get(reading.InstanceID); known && !direct && n.home == p.ID && !n.detached.IsZero() &&
			!listed(began, n.detached) {
			continue // the list may be older than the direct read that lacked the slot
		}
		end, gone := c.world.goneNodes[reading.InstanceID]
		if gone {
			end.shown = latest(end.shown, began)
			c.world.goneNodes[reading.InstanceID] = end
			reading.InstanceID = 0
		}
		s := p.slot(reading.NodeID)
		if s == nil && gone && !direct {
			// Either the slot is gone as well, and the list is older than that, or
			// it is a new one. A direct read decides.
			p.direct.want = p.direct.want || !end.removed
			continue
		}
		// A slot whose instance came and died before its pool listed it has had
		// its instance, too.
		if s == nil {
			at, _ := slices.BinarySearchFunc(p.slots, reading.NodeID, func(s slot, id string) int { return cmp.Compare(s.NodeID, id) })
			p.slots = slices.Insert(p.slots, at, slot{Slot: lkepool.Slot{NodeID: reading.NodeID}, vacant: c.now, lost: gone && !end.removed})
			s = &p.slots[at]
		}
		if reading.InstanceID == 0 || s.InstanceID != 0 && s.InstanceID != reading.InstanceID {
			// Vacant, or contradicted: dropSlots has kept what is believed.
			if s.InstanceID == 0 {
				s.seen = latest(s.seen, began)
			}
			continue
		}
		s.seen, s.vacant = latest(s.seen, began), time.Time{}
		n, known := c.world.nodes.get(reading.InstanceID)
		if !known {
			n = c.meetNode(reading.InstanceID)
			n.arrived = p.witnessed && !c.limits.NodesLag && (direct || listed(began, c.startedAt))
		}
		if n.removal.accepted.IsZero() || direct && c.settled(began, n.removal.accepted) {
			s.InstanceID, s.lost = reading.InstanceID, false
			if n.home != p.ID {
				c.world.index.moved()
			}
			n.home, n.slot, n.detached = p.ID, s.NodeID, time.Time{}
			n.removal.listed = !n.removal.accepted.IsZero()
		}
	}
}

// forgetPool follows the proven end of a pool: its instances go with it, which
// is to be proven of each.
func (c *Core) forgetPool(p *pool) {
	c.world.pools.drop(p.ID)
	c.world.gonePools[p.ID] = c.now
	for _, n := range c.world.nodes.rows {
		if n.home == p.ID {
			n.detached, n.slot = c.now, ""
		}
	}
}
