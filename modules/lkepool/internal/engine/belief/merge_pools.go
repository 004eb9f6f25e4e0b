package belief

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
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
		if at, gone := e.GonePools[reading.ID]; !gone || listed(d.Began, at) {
			e.mergeListed(reading, d.Began)
		}
	}
	e.mergeLacking(seen, d.Began)
	e.prunePools(d.Began)
	return true
}

// mergeListed applies what a list shows of a pool.
func (e poolEvidence) mergeListed(reading lkepool.Pool, began time.Time) {
	p, known := e.Pools.Get(reading.ID)
	if !known || !p.Ours() {
		p = e.meetPool(reading, began, listed(began, e.StartedAt))
		e.Purchases.foundPool(p.hash, p.Count)
		return
	}
	p.last, p.Absence.Since = Latest(p.last, began), time.Time{}
	dropped := !p.Writes.Dropped.IsZero() && began.Sub(p.Writes.Dropped) >= tuning.RemovalResend
	if dropped || listed(began, p.Writes.Grown) && listed(began, p.Writes.Shrunk) && differs(p, reading) {
		p.Direct.Want = true
	}
	e.addSlots(p, reading.Slots, began, false)
}

// mergeLacking notes a list that lacks the pools which it has not shown.
func (e poolEvidence) mergeLacking(seen map[int]bool, began time.Time) {
	for _, p := range e.Pools.Rows {
		// A list may be older than the pool itself.
		if !seen[p.ID] && began.After(p.last) && listed(began, p.Made) && p.Absence.Since.IsZero() {
			p.Absence.Since, p.Direct.Want = began, p.Ours()
		}
	}
	for _, p := range slices.Clone(e.Pools.Rows) {
		switch {
		case seen[p.ID]:
		case !p.Ours():
			e.Pools.drop(p.ID)
		case listed(began, p.First):
			p.Absence.lacks = Latest(p.Absence.lacks, began)
			e.endIfProvenPool(p)
		}
	}
}

// meetPool records a pool that is new, or not ours and shown again.
func (e poolEvidence) meetPool(reading lkepool.Pool, began time.Time, witnessed bool) *Pool {
	p, known := e.Pools.Get(reading.ID)
	if !known {
		p = &Pool{First: e.now}
		e.Pools.put(reading.ID, p)
	}
	slots := reading.Slots
	p.Pool, p.Slots, p.hash = reading, nil, e.Tags.KeyHash(reading.Tags)
	p.last, p.Absence = Latest(p.last, began), absence{}
	e.addSlots(p, slots, began, false)
	_, back := e.GonePools[reading.ID] // its deletion was without effect
	delete(e.GonePools, reading.ID)
	e.named.drop(reading.ID)
	p.witnessed, p.Direct.Want = witnessed, (back || !witnessed || p.Direct.Want) && p.Ours()
	return p
}

// mergePool applies a direct read of a pool.
func (e poolEvidence) mergePool(d event.Done) {
	p, known := e.Pools.Get(d.Action.PoolID)
	if !known {
		e.mergeNamed(d)
		return
	}
	p.Direct.end(d, e.cfg.RetryDelay, e.now)
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		p.Absence.missing(d.Began, e.cfg.SettleTime)
		e.endIfProvenPool(p)
		return
	case d.Err != nil:
		return
	}
	p.Absence, p.last = absence{}, Latest(p.last, d.Began)
	if !e.Settled(d.Began, Latest(p.Writes.Grown, p.Writes.Shrunk)) || !e.Settled(d.Began, p.Writes.Unsure) {
		// An own write outranks this reading; it may still agree with it.
		p.Direct.Agrees = p.Writes.Unsure.IsZero() && d.Pool.Count == p.Count && !e.lacksSlot(p, d.Pool.Slots) && sameShape(p.Pool, d.Pool)
		e.addSlots(p, d.Pool.Slots, d.Began, true)
		return
	}
	e.thaw(p, d)
	changed := d.Pool.Count != p.Count || !sameShape(p.Pool, d.Pool)
	if d.Pool.Count < p.Count {
		p.Lowered.note(d.Pool.Count, e.now)
	}
	slots := d.Pool.Slots
	p.Pool, p.Slots, p.hash, p.Writes.Unsure = d.Pool, nil, e.Tags.KeyHash(d.Pool.Tags), time.Time{}
	lacking := e.dropSlots(p, slots, d.Began)
	e.addSlots(p, slots, d.Began, true)
	p.Direct.Agrees = !changed && !lacking
	p.witnessed = p.witnessed || e.Settled(d.Began, e.StartedAt)
}

// mergeNamed applies a direct read of a pool that was known by its ID alone.
func (e poolEvidence) mergeNamed(d event.Done) {
	named, known := e.named.Get(d.Action.PoolID)
	if !known {
		return
	}
	named.Direct.end(d, e.cfg.RetryDelay, e.now)
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		named.Absence.missing(d.Began, e.cfg.SettleTime)
	case d.Err == nil:
		e.meetPool(d.Pool, d.Began, e.Settled(d.Began, e.StartedAt)).Direct = named.Direct
	}
}

// endIfProvenPool forgets a pool that is proven gone.
func (e poolEvidence) endIfProvenPool(p *Pool) {
	if p.Absence.proven(p.Writes.Dropped) {
		e.forgetPool(p)
	}
}

// thaw lets other counts be sent again: after a direct read that began when the
// frozen one cannot take effect any more, or that shows it after its only attempt.
func (e poolEvidence) thaw(p *Pool, d event.Done) {
	f := p.Writes.Frozen
	shown := !f.again && d.Pool.Count == f.Count && e.Settled(d.Began, f.sent) && e.Settled(f.sent, p.Writes.Shrunk) &&
		!e.unresolved(p)
	if f.Count != 0 && (shown || e.Settled(d.Began, f.until)) {
		p.Writes.Frozen = freeze{}
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
			n.Detached, n.Slot, n.Removal.Listed = e.now, "", false
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
			n.Detached, n.Slot, n.Removal.Listed = e.now, "", false
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
			!listed(began, n.Detached) {
			continue // the list may be older than the direct read that lacked the slot
		}
		end, gone := e.GoneNodes[reading.InstanceID]
		if gone {
			end.shown = Latest(end.shown, began)
			e.GoneNodes[reading.InstanceID] = end
			reading.InstanceID = 0
		}
		s := p.slot(reading.NodeID)
		switch {
		case s != nil:
		case gone && !direct:
			// Either the slot is gone as well, and the list is older than that, or
			// it is a new one. A direct read decides.
			p.Direct.Want = p.Direct.Want || !end.removed
			continue
		default:
			// A slot whose instance came and died before its pool listed it has had
			// its instance, too.
			s = p.addSlot(reading.NodeID, e.now, gone && !end.removed)
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
		n.Arrived = p.witnessed && !e.limits.NodesLag && (direct || listed(began, e.StartedAt))
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
	e.Pools.drop(p.ID)
	e.GonePools[p.ID] = e.now
	for _, n := range e.Nodes.Rows {
		if n.Home == p.ID {
			n.Detached, n.Slot = e.now, ""
		}
	}
}

// prunePools does the same after a list of pools.
func (e poolEvidence) prunePools(began time.Time) {
	maps.DeleteFunc(e.GonePools, func(_ int, at time.Time) bool { return began.Sub(at) > tuning.GoneMemory })
	used := map[int]bool{}
	for _, n := range e.Nodes.Rows {
		used[n.Home] = true
	}
	for _, id := range slices.Clone(e.named.ids) {
		if named, _ := e.named.Get(id); !used[id] && !named.Direct.Busy {
			e.named.drop(id)
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
