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

// traceOf returns the evidence of a pool's existence.
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
	hash, witnessed := e.Tags.KeyHash(reading.Tags), e.shows(f.Began, e.StartedAt, f.Direct)
	if known && p.Ours() {
		settled := e.mergeKnown(p, reading, hash, f)
		if witnessed = witnessed && settled; settled {
			e.dropSlots(p, reading.Slots, f.Began)
			e.noteCount(p, reading.Count, f)
		}
	} else {
		witnessed = witnessed && !back
		p = e.meetPool(reading, hash)
		e.noteCount(p, reading.Count, f)
		p.Look = (p.Look || !witnessed) && p.Ours()
		if !f.Direct {
			e.Purchases.foundPool(hash, reading.Count)
		}
	}
	slots := reading.Slots
	if !e.limits.NodesLag && !e.shows(f.Began, p.Writes.Grown, f.Direct) {
		slots = p.known(slots) // it may be older than the answer to a purchase, which has all there are
	}
	e.addSlots(p, slots, f.Began, f.Direct)
	p.witnessed = p.witnessed || witnessed // slots that it shows for the first time were not seen to arrive
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

// meetPool records a pool that is new, or not ours and shown again, without its slots. One whose proof of
// being gone was refuted is condemned if it was to be deleted.
func (e poolEvidence) meetPool(reading lkepool.Pool, hash string) *Pool {
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
	return p
}

// makePool records a pool that this process created, without its slots.
func (e poolEvidence) makePool(created lkepool.Pool) *Pool {
	f := absence.Fact{Began: e.now, Answered: e.now, Direct: true, Shows: true}
	e.traceOf(created.ID).Evidence.Hear(f, e.bounds(), time.Time{})
	p := e.meetPool(created, e.Tags.KeyHash(created.Tags))
	p.Made, p.witnessed = e.now, true
	return p
}

// mergeKnown applies what a reading shows of a pool that is known, apart from its slots. It
// reports whether slots that the reading lacks are gone.
func (e poolEvidence) mergeKnown(p *Pool, reading lkepool.Pool, hash string, f absence.Fact) (settled bool) {
	against := e.contradiction(p, reading)
	own := Latest(p.Writes.Grown, p.Writes.Shrunk)
	switch {
	case !f.Direct:
		e.mergeListed(p, reading.Count, against, f)
		return false
	case !e.Settled(f.Began, own) || !e.Settled(f.Began, p.Writes.Unsure):
		// An own write outranks this reading; it may still agree with it.
		p.Direct.Agrees = p.Writes.Unsure.IsZero() && !against.shape && !against.unexplained
		return false
	}
	e.thaw(p, reading.Count, f.Began)
	if reading.Count < p.Count {
		p.Lowered.note(reading.Count, e.now)
	}
	p.count(reading)
	p.Pool, p.Slots, p.hash, p.Writes.Unsure = reading, nil, hash, time.Time{}
	p.Direct.Agrees = !against.shape && !against.unexplained
	return true
}

// mergeListed follows a list that shows a pool which is known: what contradicts it makes the
// engine look, unless it may be older than an own write. A list from before an own growth shows
// no count that is higher than that set.
func (e poolEvidence) mergeListed(p *Pool, count int, against contradiction, f absence.Fact) {
	resend := !p.Removed.IsZero() && f.Began.Sub(p.Removed) >= tuning.RemovalResend
	grown := count > p.Count && !p.Writes.Growing()
	p.Look = p.Look || resend
	if e.listed(f.Began, p.Writes.Shrunk) && (grown || e.listed(f.Began, p.Writes.Grown)) {
		p.Look = p.Look || against.shape || against.slots
		e.noteCount(p, count, f)
	}
}

// thaw lets other counts be sent again: after a direct read that began when the
// frozen one cannot take effect any more, or that shows it after its only attempt. One that
// is under way again is no less frozen than before.
func (e poolEvidence) thaw(p *Pool, count int, began time.Time) {
	f := p.Writes.Frozen
	if p.Writes.Growing() {
		return
	}
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

// prunePools forgets, after a list of pools that began then, pools that are gone, and pools that no
// instance names any more.
func (e poolEvidence) prunePools(began time.Time) {
	used := map[int]bool{}
	for _, n := range e.Nodes.Rows {
		used[n.Home] = true
	}
	for _, id := range slices.Clone(e.Absent.Pools.ids) {
		t, _ := e.Absent.Pools.Get(id)
		if !t.Direct.Busy && (t.Gone() && t.outdated(began, began) || !t.Gone() && !used[id]) {
			e.Absent.Pools.drop(id)
		}
	}
}
