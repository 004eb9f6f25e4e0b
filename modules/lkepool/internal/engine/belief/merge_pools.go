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
	shown := map[int]bool{}
	for _, reading := range d.Pools {
		shown[reading.ID] = true
		e.mergeShown(reading, e.listing(d, true))
	}
	e.mergeLacking(shown, e.listing(d, false))
	e.prunePools(d.Began)
	return true
}

// mergePool applies a direct read of a pool, also of one that was known by its ID alone.
func (e poolEvidence) mergePool(d event.Done) {
	p, known := e.Pools.Get(d.Action.PoolID)
	t := e.traceOf(d.Action.PoolID)
	ended := t.Direct.end(d, e.cfg.RetryDelay, e.now)
	if known && ended != failed {
		p.Look = false
	}
	switch ended {
	case missing:
		e.lacked(p, t, e.direct(d, false))
	case found:
		e.mergeShown(d.Pool, e.direct(d, true))
	}
}

// traceOf returns what is known of a pool's existence.
func (e poolEvidence) traceOf(id int) *Trace {
	if p, known := e.Pools.Get(id); known {
		return &p.Trace
	}
	return e.Sought(id)
}

// mergeShown applies what a reading shows of a pool, if it can be believed.
func (e poolEvidence) mergeShown(reading lkepool.Pool, f absence.Fact) {
	p, known := e.Pools.Get(reading.ID)
	t := e.traceOf(reading.ID)
	back := t.Gone()
	if !t.Evidence.Hear(f, e.bounds(), t.Removed) {
		return
	}
	switch hash := e.Tags.KeyHash(reading.Tags); {
	case !known || !p.Ours():
		e.meetPool(reading, hash, f, !back && e.shows(f.Began, e.StartedAt, f.Direct))
		if !f.Direct {
			e.Purchases.foundPool(hash, reading.Count)
		}
	case f.Direct:
		e.mergeFound(p, reading, hash, f.Began)
	default:
		resend := !p.Removed.IsZero() && f.Began.Sub(p.Removed) >= tuning.RemovalResend
		own := Latest(p.Writes.Grown, p.Writes.Shrunk)
		p.Look = p.Look || resend || e.listed(f.Began, own) && differs(p, reading)
		e.addSlots(p, reading.Slots, f.Began, false)
	}
}

// mergeLacking notes a list that lacks the pools which it has not shown.
func (e poolEvidence) mergeLacking(shown map[int]bool, f absence.Fact) {
	for at, t := range e.Absent.Pools.Rows {
		if !shown[e.Absent.Pools.ids[at]] && !t.Gone() {
			e.lacked(nil, t, f)
		}
	}
	for _, p := range slices.Clone(e.Pools.Rows) {
		switch {
		case shown[p.ID]:
		case !p.Ours():
			e.Pools.drop(p.ID)
		case e.listed(f.Began, p.Made): // an earlier one may be older than the pool itself
			known := p.Evidence.Missing
			e.lacked(p, &p.Trace, f)
			p.Look = p.Look || known.IsZero() && !p.Evidence.Missing.IsZero()
		}
	}
}

// lacked follows a fact that lacks a pool, nil for one without a record, and forgets it
// when it is proven gone.
func (e poolEvidence) lacked(p *Pool, t *Trace, f absence.Fact) {
	if t.Evidence.Hear(f, e.bounds(), t.Removed); p != nil && t.Gone() {
		e.forgetPool(p)
	}
}

// meetPool records a pool that is new, or not ours and shown again. One whose proof of
// being gone was refuted is condemned if it was to be deleted.
func (e poolEvidence) meetPool(reading lkepool.Pool, hash string, f absence.Fact, witnessed bool) *Pool {
	p, known := e.Pools.Get(reading.ID)
	if !known {
		p = &Pool{Trace: *e.Sought(reading.ID)}
		e.Absent.Pools.drop(reading.ID)
		e.Pools.put(reading.ID, p)
	}
	if !p.Removed.IsZero() {
		p.become(Doomed)
	}
	p.Pool, p.Slots, p.hash = reading, nil, hash
	p.witnessed, p.Look = witnessed, (!witnessed || p.Look) && p.Ours()
	e.addSlots(p, reading.Slots, f.Began, f.Direct)
	return p
}

// makePool records a pool that this process created. Its slots are added later.
func (e poolEvidence) makePool(created lkepool.Pool) *Pool {
	created.Slots = nil
	f := absence.Fact{Began: e.now, Answered: e.now, Direct: true, Shows: true}
	e.traceOf(created.ID).Evidence.Hear(f, e.bounds(), time.Time{})
	p := e.meetPool(created, e.Tags.KeyHash(created.Tags), f, true)
	p.Made = e.now
	return p
}

// mergeFound applies what a direct read shows of a pool that is known.
func (e poolEvidence) mergeFound(p *Pool, reading lkepool.Pool, hash string, began time.Time) {
	if !e.Settled(began, Latest(p.Writes.Grown, p.Writes.Shrunk)) || !e.Settled(began, p.Writes.Unsure) {
		// An own write outranks this reading; it may still agree with it.
		p.Direct.Agrees = p.Writes.Unsure.IsZero() && reading.Count == p.Count && !e.lacksSlot(p, reading.Slots) && sameShape(p.Pool, reading)
		e.addSlots(p, reading.Slots, began, true)
		return
	}
	e.thaw(p, reading.Count, began)
	changed := reading.Count != p.Count || !sameShape(p.Pool, reading)
	if reading.Count < p.Count {
		p.Lowered.note(reading.Count, e.now)
	}
	slots := reading.Slots
	p.Pool, p.Slots, p.hash, p.Writes.Unsure = reading, nil, hash, time.Time{}
	lacking := e.dropSlots(p, slots, began)
	e.addSlots(p, slots, began, true)
	p.Direct.Agrees = !changed && !lacking
	p.witnessed = p.witnessed || e.Settled(began, e.StartedAt)
}

// thaw lets other counts be sent again: after a direct read that began when the
// frozen one cannot take effect any more, or that shows it after its only attempt.
func (e poolEvidence) thaw(p *Pool, count int, began time.Time) {
	f := p.Writes.Frozen
	shown := !f.again && count == f.Count && e.Settled(began, f.sent) && e.Settled(f.sent, p.Writes.Shrunk) && !e.unresolved(p)
	if shown || e.Settled(began, f.until) {
		p.thaw()
	}
}

// forgetPool follows the proven end of a pool: its instances go with it, which
// is to be proven of each.
func (e poolEvidence) forgetPool(p *Pool) {
	p.become(ended)
	e.Pools.drop(p.ID)
	t := p.Trace
	e.Absent.Pools.put(p.ID, &t)
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
