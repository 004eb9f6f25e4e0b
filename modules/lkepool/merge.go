package lkepool

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// merge applies the result of an effect. What is said here of readings holds
// for all: what one shows is believed at once, what one lacks is not. Only a
// direct read that began at least the settle time after what it contradicts
// takes something away; a list makes the engine look.

func (c *core) merge(d done) {
	switch a := d.action; a.op {
	case opListPools:
		c.mergePools(d)
	case opListInstances:
		c.mergeInstances(d)
	case opGetPool:
		c.mergePool(d)
	case opGetInstance:
		c.mergeInstance(d)
	case opCreate, opScale:
		c.mergeGrowth(d)
	case opMark:
		c.mergeMark(d)
	case opRemove:
		c.mergeRemoval(d)
	case opDrop:
		c.mergeDrop(d)
	}
}

// settled reports whether a direct read that began then shows a write of at.
func (c *core) settled(began, at time.Time) bool { return !began.Before(at.Add(c.cfg.SettleTime)) }

// listed reports the same of a list.
func listed(began, at time.Time) bool { return !began.Before(at.Add(listLag)) }

func (c *core) mergePools(d done) {
	if !c.pools.end(d, c.cfg.RetryDelay, c.now) {
		return
	}
	seen := map[int]bool{}
	for _, reading := range d.pools {
		seen[reading.ID] = true
		if at, gone := c.world.gonePools[reading.ID]; gone && !listed(d.began, at) {
			continue
		}
		p, known := c.world.pools.get(reading.ID)
		if !known || !p.ours() {
			c.meetPool(reading, d.began, listed(d.began, c.startedAt))
			continue
		}
		p.last, p.absence.since = latest(p.last, d.began), time.Time{}
		dropped := !p.writes.dropped.IsZero() && d.began.Sub(p.writes.dropped) >= removalResend
		if dropped || listed(d.began, p.writes.grown) && listed(d.began, p.writes.shrunk) && differs(p, reading) {
			p.look.want = true
		}
		c.addSlots(p, reading.Slots, d.began, false)
	}
	for _, p := range c.world.pools.rows {
		if !seen[p.ID] && d.began.After(p.last) && p.absence.since.IsZero() {
			p.absence.since, p.look.want = d.began, p.ours()
		}
	}
	for _, p := range slices.Clone(c.world.pools.rows) {
		switch dropped := p.writes.dropped; {
		case seen[p.ID]:
		case !p.ours():
			c.world.pools.drop(p.ID)
		case !dropped.IsZero() && d.began.After(dropped):
			c.forgetPool(p)
		}
	}
}

// differs reports whether a list contradicts what is known of the pool.
func differs(p *pool, reading Pool) bool {
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
func (c *core) meetPool(reading Pool, began time.Time, witnessed bool) *pool {
	p, known := c.world.pools.get(reading.ID)
	if !known {
		p = &pool{}
		c.world.pools.put(reading.ID, p)
	}
	slots := reading.Slots
	p.Pool, p.Slots = reading, nil
	p.last, p.absence = latest(p.last, began), absence{}
	c.addSlots(p, slots, began, false)
	p.witnessed, p.look.want = witnessed, !witnessed && p.ours()
	return p
}

// mergePool applies a direct read of a pool.
func (c *core) mergePool(d done) {
	p, known := c.world.pools.get(d.action.poolID)
	if !known {
		return
	}
	p.look.end(d, c.cfg.RetryDelay, c.now)
	switch {
	case KindOf(d.err) == KindNotFound:
		if c.provenGone(&p.absence, d.began, !p.writes.dropped.IsZero() && d.began.After(p.writes.dropped)) {
			c.forgetPool(p)
		}
		return
	case d.err != nil:
		return
	}
	p.absence, p.last = absence{}, latest(p.last, d.began)
	c.undrop(p, d.began)
	if !c.settled(d.began, latest(p.writes.grown, p.writes.shrunk)) || !c.settled(d.began, p.writes.unsure) {
		// An own write outranks this reading; it may still agree with it.
		p.look.agrees = p.writes.unsure.IsZero() && d.pool.Count == p.Count && !c.lacksSlot(p, d.pool.Slots) && sameShape(p.Pool, d.pool)
		c.addSlots(p, d.pool.Slots, d.began, true)
		return
	}
	changed := d.pool.Count != p.Count || !sameShape(p.Pool, d.pool)
	if d.pool.Count < p.Count {
		p.lowered.note(d.pool.Count, c.now)
	}
	slots := d.pool.Slots
	p.Pool, p.Slots, p.writes.unsure = d.pool, nil, time.Time{}
	lacking := c.dropSlots(p, slots, d.began)
	c.addSlots(p, slots, d.began, true)
	p.look.agrees = !changed && !lacking
	p.witnessed = p.witnessed || c.settled(d.began, c.startedAt)
}

// undrop takes back an accepted deletion of a pool that is still there after
// its time.
func (c *core) undrop(p *pool, began time.Time) {
	if p.writes.dropped.IsZero() || began.Sub(p.writes.dropped) < removalResend {
		return
	}
	p.writes.dropped = time.Time{}
	for _, n := range c.world.nodes.rows {
		if n.home == p.ID {
			n.removal = removal{}
		}
	}
}

// sameShape reports whether two readings differ in count and nodes alone.
func sameShape(a, b Pool) bool {
	return a.Autoscaled == b.Autoscaled && a.InstanceType == b.InstanceType && slices.Equal(a.Tags, b.Tags) && a.Template.equal(b.Template)
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
func (c *core) lacksSlot(p *pool, slots []Slot) bool {
	return slices.ContainsFunc(p.slots, func(s slot) bool { return !shows(slots, s.Slot) })
}

func shows(slots []Slot, s Slot) bool {
	return slices.ContainsFunc(slots, func(other Slot) bool {
		return other.NodeID == s.NodeID && (s.InstanceID == 0 || other.InstanceID == s.InstanceID)
	})
}

// dropSlots takes away what a direct read lacks, and reports whether it lacked
// anything that no own removal explains.
func (c *core) dropSlots(p *pool, slots []Slot, began time.Time) (lacking bool) {
	for i := range p.slots {
		// An instance that left its place, which is still there.
		s := &p.slots[i]
		if s.InstanceID == 0 || shows(slots, s.Slot) || !shows(slots, Slot{NodeID: s.NodeID}) || !c.settled(began, s.seen) {
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
func (c *core) addSlots(p *pool, slots []Slot, began time.Time, direct bool) {
	for _, reading := range slots {
		if _, gone := c.world.goneNodes[reading.InstanceID]; gone {
			reading.InstanceID = 0
		}
		s := p.slot(reading.NodeID)
		if s == nil {
			at, _ := slices.BinarySearchFunc(p.slots, reading.NodeID, func(s slot, id string) int { return cmp.Compare(s.NodeID, id) })
			p.slots = slices.Insert(p.slots, at, slot{Slot: Slot{NodeID: reading.NodeID}, vacant: c.now})
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
			n.home, n.slot, n.detached = p.ID, s.NodeID, time.Time{}
			n.removal.listed = !n.removal.accepted.IsZero()
		}
	}
}

func (c *core) meetNode(id int) *node {
	n := &node{first: c.now}
	n.ID = id
	c.world.nodes.put(id, n)
	return n
}

func (c *core) mergeInstances(d done) {
	if !c.instances.end(d, c.cfg.RetryDelay, c.now) {
		return
	}
	seen := map[int]bool{}
	for _, reading := range d.instances {
		seen[reading.ID] = true
		if _, gone := c.world.goneNodes[reading.ID]; !gone && !reading.Foreign {
			c.seeInstance(reading, d.began, false)
		}
	}
	for _, n := range c.world.nodes.rows {
		if !seen[n.ID] && d.began.After(n.last) && n.absence.since.IsZero() {
			n.absence.since = d.began
		}
	}
}

// mergeInstance applies a direct read of an instance.
func (c *core) mergeInstance(d done) {
	n, known := c.world.nodes.get(d.action.instanceID)
	if !known {
		return
	}
	n.look.end(d, c.cfg.RetryDelay, c.now)
	n.look.agrees = false
	switch {
	case KindOf(d.err) == KindNotFound:
		n.absence.since = cmp.Or(n.absence.since, d.began)
		if c.provenGone(&n.absence, d.began, !n.removal.accepted.IsZero() && d.began.After(n.removal.accepted)) {
			c.forgetNode(n)
		}
	case d.err == nil && d.instance.Foreign:
		n.Instance, n.home, n.tagged = d.instance, 0, d.began
	case d.err == nil:
		n.look.agrees = true
		c.seeInstance(d.instance, d.began, true)
	}
}

// provenGone notes a 404 and reports whether it proves that the object is gone:
// the second that began the settle time after the first, or one after a removal
// of ours.
func (c *core) provenGone(a *absence, began time.Time, removed bool) bool {
	if a.proof.IsZero() {
		a.proof = began
	}
	return removed || c.settled(began, a.proof)
}

func (c *core) forgetNode(n *node) {
	c.world.nodes.drop(n.ID)
	c.world.goneNodes[n.ID] = c.now
	if p, ok := c.world.pools.get(n.home); ok {
		if s := p.slot(n.slot); s != nil && s.InstanceID == n.ID {
			s.InstanceID, s.vacant, s.lost = 0, c.now, n.removal.accepted.IsZero()
		}
	}
}

// forgetPool follows the proven end of a pool: its instances go with it, which
// is to be proven of each.
func (c *core) forgetPool(p *pool) {
	c.world.pools.drop(p.ID)
	c.world.gonePools[p.ID] = c.now
	for _, n := range c.world.nodes.rows {
		if n.home == p.ID {
			n.detached, n.slot = c.now, ""
		}
	}
}

// seeInstance applies what a reading or a write's answer shows of an instance.
func (c *core) seeInstance(reading Instance, began time.Time, direct bool) {
	n, known := c.world.nodes.get(reading.ID)
	who := claimIn(reading.Tags)
	if !known {
		n = c.meetNode(reading.ID)
		n.arrived = !direct && listed(began, c.startedAt)
	}
	outranked := n.hold.wrote && !c.shows(began, n.hold.at, direct)
	// Either reading may be the older one, and the tags of the platform or of a
	// person must not be lost by the next write.
	switch {
	case outranked:
		reading.Tags = union(n.Tags, slices.DeleteFunc(slices.Clone(reading.Tags), claimTag))
	case !n.tagged.IsZero() && !c.settled(began, n.tagged):
		reading.Tags = union(reading.Tags, slices.DeleteFunc(slices.Clone(n.Tags), claimTag))
	}
	state := max(n.State, reading.State)
	if n.State != Leaving {
		state = reading.State
	}
	n.Instance, n.State = reading, state
	n.tagged, n.last, n.absence = latest(n.tagged, began), latest(n.last, began), absence{}
	if reading.PoolID != 0 && n.slot == "" && n.detached.IsZero() {
		n.home = reading.PoolID
	}
	c.mergeClaim(n, who, began, direct)
}

// shows reports whether a reading that began then shows a write of at.
func (c *core) shows(began, at time.Time, direct bool) bool {
	if direct {
		return c.settled(began, at)
	}
	return listed(began, at)
}

// mergeClaim applies the claim that a reading shows, or does not show.
func (c *core) mergeClaim(n *node, who claimID, began time.Time, direct bool) {
	h := &n.hold
	h.claimedAt = latest(h.claimedAt, claimedAtOf(n.Tags))
	switch {
	case h.state == writing:
		// The write's own answer is to come.
	case who.none() && h.state == unsure && c.shows(began, h.at, direct):
		*h = h.freed(c.now)
	case h.state == held && !h.who.is(who):
		h.stripped = h.stripped || c.shows(began, h.at, direct)
	case h.state == held:
		h.stripped = h.stripped && !direct
	case who.none():
	default:
		own := h.own && h.who.is(who)
		*h = hold{who: who, state: held, at: began, since: c.now, claimedAt: h.claimedAt, own: own, failed: h.failed}
	}
}

// mergeGrowth applies the end of a purchase.
func (c *core) mergeGrowth(d done) {
	k := c.key(d.action.key)
	c.buying[d.action.key.InstanceType] = max(0, c.buying[d.action.key.InstanceType]-d.action.bought)
	p, known := c.world.pools.get(d.action.poolID)
	if known {
		p.writes.growing = false
	}
	if d.action.op == opCreate {
		k.creating = max(0, k.creating-1) // it may have been begun before Begin
	}
	k.lost = k.lost && d.err != nil
	if d.err != nil {
		c.purchaseFailed(k, p, d)
		return
	}
	slots := d.pool.Slots
	if !known {
		p = c.meetPool(Pool{ID: d.pool.ID, Count: d.pool.Count, InstanceType: d.pool.InstanceType, Template: d.pool.Template,
			Tags: d.pool.Tags, Autoscaled: d.pool.Autoscaled}, c.now, true)
	}
	p.Count, p.writes.grown, p.writes.unsure, p.look.agrees = d.pool.Count, c.now, time.Time{}, false
	p.lowered.scaled, p.writes.retry = p.Count, backoff{}
	p.owe(p.Count-len(c.world.members(p.ID)), c.now)
	c.addSlots(p, slots, d.began, true)
	if k.room > 0 {
		k.room = d.action.bought // until not even one more fits
	}
	c.polls.pace.Restart()
	c.polls.next = c.now.Add(c.firstLook())
}

// mergeMark applies the end of a claim's write.
func (c *core) mergeMark(d done) {
	n, known := c.world.nodes.get(d.action.instanceID)
	if !known {
		return
	}
	h := &n.hold
	if d.err == nil && !claimIn(d.instance.Tags).is(h.who) {
		d.err = &Error{Kind: KindUnavailable, Op: string(opMark), Err: errors.New("the answer does not show the claim that was written")}
	}
	if d.err == nil {
		*h = hold{who: h.who, state: held, at: c.now, since: cmp.Or(h.since, c.now), claimedAt: claimedAtOf(d.instance.Tags),
			own: h.own || h.since.IsZero(), wrote: true, witnessed: h.witnessed}
		c.seeInstance(d.instance, d.began, true)
		n.Tags, n.tagged = d.instance.Tags, d.began
		c.marked()
		return
	}
	h.retry.fail(c.now, c.cfg.RetryDelay, retryAfter(d.err))
	h.err, h.at = d.err, c.now
	if KindOf(d.err) == KindNotFound {
		// As good as a direct read that answered 404.
		n.absence.since, n.absence.proof = cmp.Or(n.absence.since, d.began), cmp.Or(n.absence.proof, d.began)
	}
	switch {
	case !h.since.IsZero():
		h.state = held // it was claimed before
		return
	case effectOf(d.err) == EffectNone || KindOf(d.err) == KindNotFound:
		*h = h.freed(c.now)
	default:
		h.state = unsure
	}
	switch KindOf(d.err) {
	case KindRateLimited:
	case KindForbidden, KindInvalid:
		c.markRefused(d)
	default:
		c.failed(n)
	}
}

// failed counts an attempt to claim the instance that failed.
func (c *core) failed(n *node) {
	if n.hold.failed++; n.hold.failed == markAttempts {
		c.marks.aside++
		c.marks.pause = min(max(2*c.marks.pause, firstProbe), longestProbe)
		c.marks.next = c.now.Add(c.marks.pause)
	}
}

// marked follows a claim that was written: marking works again.
func (c *core) marked() {
	if c.marks.general() {
		for _, n := range c.world.nodes.rows {
			n.hold.failed, n.look.retry = 0, backoff{}
		}
	}
	c.marks = marks{}
}

func (c *core) mergeRemoval(d done) {
	p, known := c.world.pools.get(d.action.poolID)
	if known {
		p.writes.removing = max(0, p.writes.removing-1)
	}
	n, alive := c.world.nodes.get(d.action.instanceID)
	if alive {
		n.removal.busy = false
	}
	if d.err != nil {
		if known && effectOf(d.err) != EffectNone {
			p.writes.unsure = c.now
		}
		if alive {
			n.removal.err, n.removal.failed = d.err, c.now
		}
		return
	}
	if known {
		p.Count, p.writes.shrunk, p.lowered = max(0, p.Count-1), c.now, lowering{}
	}
	if alive {
		n.removal = removal{accepted: c.now}
	} else if known {
		p.slots = slices.DeleteFunc(p.slots, func(s slot) bool { return s.NodeID == d.action.nodeID })
	}
}

func (c *core) mergeDrop(d done) {
	for _, n := range c.world.nodes.rows {
		if n.home != d.action.poolID {
			continue
		}
		n.removal.busy = false
		if d.err != nil {
			n.removal.err, n.removal.failed = d.err, c.now
		} else {
			n.removal = removal{accepted: c.now}
		}
	}
	p, known := c.world.pools.get(d.action.poolID)
	if !known {
		return
	}
	p.writes.dropping = false
	if d.err != nil {
		p.writes.unsure = c.now
		p.writes.retry.fail(c.now, c.cfg.RetryDelay, retryAfter(d.err))
		return
	}
	p.writes.dropped = c.now
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// end applies what is the same for every direct read.
func (l *look) end(d done, first time.Duration, now time.Time) {
	l.busy = false
	if cancelled(d) {
		return
	}
	if l.err = d.err; d.err != nil && KindOf(d.err) != KindNotFound {
		l.retry.fail(now, first, retryAfter(d.err))
		return
	}
	l.began, l.ended, l.want, l.err, l.retry = d.began, now, false, nil, backoff{}
}
