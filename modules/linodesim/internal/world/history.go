package world

import "time"

// history is copies of the world, so that reads can show it as it was.
type history struct {
	depth   time.Duration // how far back; 0 = nothing is kept
	changed bool          // since the last copy
	moments []past        // by time
}

// past is the world from a change on until the next one.
type past struct {
	at    time.Time
	world *World
}

// maxMoments bounds the copies. Above it they are thinned out, the older the
// more: then a read shows a state up to a sixteenth older than wanted.
const maxMoments = 512

// Remember keeps copies of the world from now on, for At to show it as it was
// up to d ago; 0 ends that.
func (w History) Remember(d time.Duration) {
	w.history.depth = d
	if d == 0 {
		w.history.moments = nil
	}
	w.history.changed = w.history.changed || len(w.history.moments) == 0
}

// Prepared makes the present the beginning of what At shows, so that what a
// test or a program set up has always been there.
func (w History) Prepared() {
	w.history.moments, w.history.changed = nil, true
}

// At gives a copy of the world as it was at a time, or at the oldest remembered
// time.
func (w History) At(t time.Time) *World {
	if w.history.depth == 0 {
		return w.Freeze()
	}
	w.history.changed = w.history.changed || len(w.history.moments) == 0
	w.keep()
	found := w.history.moments[0].world
	for _, m := range w.history.moments {
		if m.at.After(t) {
			break
		}
		found = m.world
	}
	return found
}

// keep copies what changed at the present time. It is called before that time
// moves on, so that changes at one time make one copy.
func (w History) keep() {
	h := &w.history
	if h.depth == 0 || !h.changed {
		return
	}
	h.changed = false
	if n := len(h.moments); n > 0 && h.moments[n-1].at.Equal(w.now) {
		h.moments = h.moments[:n-1]
	}
	h.moments = append(h.moments, past{w.now, w.Freeze()})
	h.forget(w.now.Add(-h.depth))
}

// forget drops entries that ended before a time, and thins out the rest when it is too long.
func (h *history) forget(before time.Time) {
	first := 0
	for first+1 < len(h.moments) && !h.moments[first+1].at.After(before) {
		first++
	}
	kept := h.moments[first:]
	if len(kept) > maxMoments {
		kept = thin(kept)
	}
	h.moments = append([]past(nil), kept...)
}

func thin(all []past) []past {
	last := len(all) - 1
	now := all[last].at
	kept := []past{all[0]}
	for i := 1; i < last; i++ {
		next := all[i+1].at
		if next.Sub(kept[len(kept)-1].at) > now.Sub(next)/16 {
			kept = append(kept, all[i])
		}
	}
	return append(kept, all[last])
}

// Freeze returns a copy of the world that does not change any more: a reader gets it
// whose reads lag behind.
func (w History) Freeze() *World {
	return &World{state: &state{
		setup: w.setup, now: w.now, frozen: true, objects: w.cloneObjects(), assets: w.assets.clone(), feed: newFeed(),
		records: records{audit: w.records.audit[:len(w.records.audit):len(w.records.audit)], activities: w.records.activities.shared()},
	}}
}

// Fork gives a copy of the world that writes can change without an effect on
// this one. Nothing happens in it by itself.
func (w History) Fork() *World {
	f := w.Freeze()
	f.draws = drawn(uint64(len(w.records.audit)), 5, 7, 6)
	f.seq, f.faults, f.records.activities = w.seq, w.faults.clone(), w.records.activities.clone()
	return f
}
