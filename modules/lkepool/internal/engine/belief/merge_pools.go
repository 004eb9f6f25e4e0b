package belief

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// poolEvidence applies readings of pools.
type poolEvidence struct{ *Belief }

// mergeList applies a list of pools, and reports whether it was answered.
func (e poolEvidence) mergeList(d event.Done) bool {
	if !e.PoolList.end(d, e.cfg.RetryDelay, e.now) {
		return false
	}
	seen := map[int]bool{}
	for _, reading := range d.Pools {
		seen[reading.ID] = true
		if t, absent := e.Absent.Pools.Get(reading.ID); !absent || t.Evidence.Hear(e.listing(d, true), e.bounds(), t.removed) {
			e.mergeListed(reading, d)
		}
	}
	e.mergeLacking(seen, d)
	e.prunePools(d.Began)
	return true
}

// mergeListed applies what a list shows of a pool.
func (e poolEvidence) mergeListed(reading lkepool.Pool, d event.Done) {
	p, known := e.Pools.Get(reading.ID)
	if !known || !p.Ours() {
		p = e.meetPool(reading, e.listing(d, true), e.listed(d.Began, e.StartedAt))
		e.Purchases.foundPool(p.hash, p.Count)
		return
	}
	p.Evidence.Hear(e.listing(d, true), e.bounds(), p.Writes.Dropped)
	resend := !p.Writes.Dropped.IsZero() && d.Began.Sub(p.Writes.Dropped) >= tuning.RemovalResend
	own := Latest(p.Writes.Grown, p.Writes.Shrunk)
	p.Look = p.Look || resend || e.listed(d.Began, own) && differs(p, reading)
	e.addSlots(p, reading.Slots, d.Began, false)
}

// mergeLacking notes a list that lacks the pools which it has not shown.
func (e poolEvidence) mergeLacking(seen map[int]bool, d event.Done) {
	for _, p := range slices.Clone(e.Pools.Rows) {
		switch {
		case seen[p.ID]:
		case !p.Ours():
			e.Pools.drop(p.ID)
		case e.listed(d.Began, p.Made): // an earlier one may be older than the pool itself
			before := p.Evidence.Missing
			e.lacked(p, e.listing(d, false))
			p.Look = p.Look || before.IsZero() && !p.Evidence.Missing.IsZero()
		}
	}
	for at, t := range e.Absent.Pools.Rows {
		if !seen[e.Absent.Pools.ids[at]] && !t.Gone() {
			t.Evidence.Hear(e.listing(d, false), e.bounds(), time.Time{})
		}
	}
}

// lacked follows a fact that lacks a pool, and forgets it when it is proven gone.
func (e poolEvidence) lacked(p *Pool, f absence.Fact) {
	if p.Evidence.Hear(f, e.bounds(), p.Writes.Dropped); !p.Evidence.Ended.IsZero() {
		e.forgetPool(p)
	}
}

// meetPool records a pool that is new, or not ours and shown again. One whose proof of
// being gone was refuted is condemned if it was to be deleted.
func (e poolEvidence) meetPool(reading lkepool.Pool, f absence.Fact, witnessed bool) *Pool {
	p, known := e.Pools.Get(reading.ID)
	if !known {
		p = &Pool{}
		e.Pools.put(reading.ID, p)
	}
	slots := reading.Slots
	p.Pool, p.Slots, p.hash = reading, nil, e.Tags.KeyHash(reading.Tags)
	p.Evidence.Hear(f, e.bounds(), p.Writes.Dropped)
	e.addSlots(p, slots, f.Began, f.Direct)
	t, back := e.Absent.Pools.Get(reading.ID)
	if back = back && t.ours; back && !t.removed.IsZero() {
		p.Writes.Dropped = t.removed
		p.become(Doomed)
	}
	e.Absent.Pools.drop(reading.ID)
	p.witnessed, p.Look = witnessed, (back || !witnessed || p.Look) && p.Ours()
	return p
}

// mergePool applies a direct read of a pool.
func (e poolEvidence) mergePool(d event.Done) {
	p, known := e.Pools.Get(d.Action.PoolID)
	if !known {
		e.mergeSought(d)
		return
	}
	switch p.Direct.end(d, e.cfg.RetryDelay, e.now) {
	case missing:
		p.Look = false
		e.lacked(p, e.direct(d, false))
	case found:
		p.Look = false
		p.Evidence.Hear(e.direct(d, true), e.bounds(), p.Writes.Dropped)
		e.mergeFound(p, d)
	}
}

// mergeFound applies what a direct read shows of a pool.
func (e poolEvidence) mergeFound(p *Pool, d event.Done) {
	slots := d.Pool.Slots
	if !e.Settled(d.Began, Latest(p.Writes.Grown, p.Writes.Shrunk)) || !e.Settled(d.Began, p.Writes.Unsure) {
		// An own write outranks this reading; it may still agree with it.
		p.Direct.Agrees = p.Writes.Unsure.IsZero() && d.Pool.Count == p.Count && !e.lacksSlot(p, slots) && sameShape(p.Pool, d.Pool)
		e.addSlots(p, slots, d.Began, true)
		return
	}
	e.thaw(p, d)
	changed := d.Pool.Count != p.Count || !sameShape(p.Pool, d.Pool)
	if d.Pool.Count < p.Count {
		p.Lowered.note(d.Pool.Count, e.now)
	}
	p.Pool, p.Slots, p.hash, p.Writes.Unsure = d.Pool, nil, e.Tags.KeyHash(d.Pool.Tags), time.Time{}
	lacking := e.dropSlots(p, slots, d.Began)
	e.addSlots(p, slots, d.Began, true)
	p.Direct.Agrees = !changed && !lacking
	p.witnessed = p.witnessed || e.Settled(d.Began, e.StartedAt)
}

// mergeSought applies a direct read of a pool that was known by its ID alone.
func (e poolEvidence) mergeSought(d event.Done) {
	t, known := e.Absent.Pools.Get(d.Action.PoolID)
	if !known {
		return
	}
	switch t.Direct.end(d, e.cfg.RetryDelay, e.now) {
	case missing:
		t.Evidence.Hear(e.direct(d, false), e.bounds(), t.removed)
	case found:
		if t.Evidence.Hear(e.direct(d, true), e.bounds(), t.removed) {
			e.meetPool(d.Pool, e.direct(d, true), e.Settled(d.Began, e.StartedAt)).Direct = t.Direct
		}
	}
}

// thaw lets other counts be sent again: after a direct read that began when the
// frozen one cannot take effect any more, or that shows it after its only attempt.
func (e poolEvidence) thaw(p *Pool, d event.Done) {
	f := p.Writes.Frozen
	shown := !f.again && d.Pool.Count == f.Count && e.Settled(d.Began, f.sent) && e.Settled(f.sent, p.Writes.Shrunk) &&
		!e.unresolved(p)
	if shown || e.Settled(d.Began, f.until) {
		p.thaw()
	}
}

// lacksSlot reports whether a reading lacks a slot, or its instance, that is known.
func (e poolEvidence) lacksSlot(p *Pool, slots []lkepool.Slot) bool {
	return slices.ContainsFunc(p.KnownSlots, func(s slot) bool {
		n, known := e.Nodes.Get(s.InstanceID)
		removed := known && !n.Removal.Accepted.IsZero() && !n.Removal.Listed
		return !removed && !shows(slots, s.Slot)
	})
}

// dropSlots takes away what a direct read lacks, and reports whether it lacked
// anything that no own removal explains.
func (e poolEvidence) dropSlots(p *Pool, slots []lkepool.Slot, began time.Time) (lacking bool) {
	for i := range p.KnownSlots {
		// An instance that left its slot, which is still there.
		s := &p.KnownSlots[i]
		if s.InstanceID == 0 || shows(slots, s.Slot) || !shows(slots, lkepool.Slot{NodeID: s.NodeID}) || !e.Settled(began, s.seen) {
			continue
		}
		lacking = true
		if n, known := e.Nodes.Get(s.InstanceID); known {
			n.leave(e.now)
		}
		s.InstanceID, s.Vacant, s.lost = 0, e.now, true
	}
	p.KnownSlots = slices.DeleteFunc(p.KnownSlots, func(s slot) bool {
		if shows(slots, s.Slot) {
			return false
		}
		n, known := e.Nodes.Get(s.InstanceID)
		lacking = lacking || !known || n.Removal.Accepted.IsZero()
		if !e.Settled(began, s.seen) {
			return false
		}
		if known && n.Slot == s.NodeID {
			n.leave(e.now)
		}
		return true
	})
	return lacking
}

// addSlots applies what a reading of a pool shows. Slots that are new, or whose
// instance is new, were seen to arrive if the pool had been witnessed before,
// except where a pool lists its nodes late.
func (e poolEvidence) addSlots(p *Pool, slots []lkepool.Slot, began time.Time, direct bool) {
	for _, reading := range slots {
		if n, known := e.Nodes.Get(reading.InstanceID); known && !direct && n.Home == p.ID && !n.Detached.IsZero() &&
			!e.listed(began, n.Detached) {
			continue // the list may be older than the direct read that lacked the slot
		}
		t, gone := e.Absent.Nodes.Get(reading.InstanceID)
		lost := gone && t.removed.IsZero()
		if gone {
			t.named = Latest(t.named, began)
			reading.InstanceID = 0
		}
		s := p.slot(reading.NodeID)
		switch {
		case s != nil:
		case gone && !direct:
			// Either the slot is gone as well, and the list is older than that, or
			// it is a new one. A direct read decides.
			p.Look = p.Look || lost
			continue
		default:
			// A slot whose instance came and died before its pool listed it has had
			// its instance, too.
			s = p.addSlot(reading.NodeID, e.now, lost)
		}
		e.mergeSlot(p, s, reading.InstanceID, began, direct)
	}
}

// mergeSlot applies what a reading shows in a slot: no instance, or this one. What
// contradicts the instance that is known there is left to dropSlots.
func (e poolEvidence) mergeSlot(p *Pool, s *slot, id int, began time.Time, direct bool) {
	if s.InstanceID != 0 && s.InstanceID != id {
		return
	}
	s.seen = Latest(s.seen, began)
	if id == 0 {
		return
	}
	s.Vacant = time.Time{}
	n, known := e.Nodes.Get(id)
	if !known {
		n = instanceEvidence(e).meetNode(id)
		n.Arrived = p.witnessed && !e.limits.NodesLag && (direct || e.listed(began, e.StartedAt))
	}
	if !n.Removal.Accepted.IsZero() && !(direct && e.Settled(began, n.Removal.Accepted)) {
		return
	}
	s.InstanceID, s.lost = id, false
	if n.Home != p.ID {
		e.Index.moved()
	}
	n.Home, n.Slot, n.Detached = p.ID, s.NodeID, time.Time{}
	n.Removal.Listed = !n.Removal.Accepted.IsZero()
}

// forgetPool follows the proven end of a pool: its instances go with it, which
// is to be proven of each.
func (e poolEvidence) forgetPool(p *Pool) {
	p.become(ended)
	e.Pools.drop(p.ID)
	e.Absent.Pools.put(p.ID, &Trace{Evidence: p.Evidence, removed: p.Writes.Dropped, ours: p.Ours()})
	for _, n := range e.Nodes.Rows {
		if n.Home == p.ID {
			n.leave(e.now)
		}
	}
}

// prunePools forgets, after a list of pools that began then, what is gone, and what no
// instance names any more.
func (e poolEvidence) prunePools(began time.Time) {
	used := map[int]bool{}
	for _, n := range e.Nodes.Rows {
		used[n.Home] = true
	}
	for _, id := range slices.Clone(e.Absent.Pools.ids) {
		t, _ := e.Absent.Pools.Get(id)
		if !t.Direct.Busy && (t.Gone() && t.outdated(began) || !t.Gone() && !used[id]) {
			e.Absent.Pools.drop(id)
		}
	}
}

// differs reports whether a list contradicts what is known of the pool.
func differs(p *Pool, reading lkepool.Pool) bool {
	if reading.Count != p.Count || !sameShape(reading, p.Pool) {
		return true
	}
	shown := map[string]int{}
	for _, s := range reading.Slots {
		shown[s.NodeID] = s.InstanceID
	}
	return slices.ContainsFunc(p.KnownSlots, func(s slot) bool {
		id, ok := shown[s.NodeID]
		return !ok || s.InstanceID != 0 && id != s.InstanceID
	})
}

// sameShape reports whether two readings differ in count and nodes alone.
func sameShape(a, b lkepool.Pool) bool {
	return a.Autoscaled == b.Autoscaled && a.InstanceType == b.InstanceType && slices.Equal(a.Tags, b.Tags) && a.Template.Equal(b.Template)
}

func shows(slots []lkepool.Slot, s lkepool.Slot) bool {
	return slices.ContainsFunc(slots, func(other lkepool.Slot) bool {
		return other.NodeID == s.NodeID && (s.InstanceID == 0 || other.InstanceID == s.InstanceID)
	})
}
