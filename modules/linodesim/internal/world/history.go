package world

import "time"

// history holds copies of the world at earlier times, for reads that lag.
type history struct {
	depth   time.Duration // how far back; 0 = nothing is kept
	changed bool          // since the last copy
	moments []past        // by time
}

// past is the world between one change and the next.
type past struct {
	at    time.Time
	world *World
}

// maxMoments bounds the copies. Beyond it, copies are dropped, old ones more than new
// ones. A read then shows a state that is up to a sixteenth older than wanted: a read
// of 16 s ago may show the state of 17 s ago.
const maxMoments = 512

// Remember keeps copies of the world from now on, so that At can show states that are
// up to d old. With 0, no copies are kept.
func (w History) Remember(d time.Duration) {
	w.history.depth = d
	if d == 0 {
		w.history.moments = nil
	}
	w.history.changed = w.history.changed || len(w.history.moments) == 0
}

// Prepared makes the present the oldest state that At shows, so that lagging reads also
// show the objects that a test or a program has set up.
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

// keep copies the world if it has changed. It is called before the world's time moves
// on, so that all changes at one time make one copy.
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

// Freeze returns a copy of the world that does not change any more, for reads that lag.
func (w History) Freeze() *World {
	return &World{state: &state{
		setup: w.setup, now: w.now, frozen: true, objects: w.cloneObjects(), assets: w.assets.clone(), feed: newFeed(),
		records: records{audit: w.records.audit[:len(w.records.audit):len(w.records.audit)], activities: w.records.activities.shared()},
	}}
}

// Fork returns a copy of the world. Writes can change the copy without an effect on
// this world. No planned change happens in the copy.
func (w History) Fork() *World {
	f := w.Freeze()
	f.draws = drawn(uint64(len(w.records.audit)), 5, 7, 6)
	f.seq, f.faults, f.records.activities = w.seq, w.faults.clone(), w.records.activities.clone()
	return f
}
