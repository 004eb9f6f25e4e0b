package lkepool

import (
	"slices"
	"sync"
	"time"
)

// A ledger remembers what this process wrote itself, because lists may lag
// behind writes: for the settle time the write's own answer counts more. It
// also holds the reservations, which keep a node from being handed out twice
// while its claim tag is being written. After a restart it is empty, and the
// tags in the API are all there is.
type ledger struct {
	settle time.Duration

	mu sync.Mutex
	// marks are claims that this process wrote or is writing, by instance.
	marks map[int]*mark
	// claims are the claims seen by the last full observation, by value.
	claims map[string]int
	// counts are pool sizes that this process set.
	counts map[int]countNote
	// created are pools that this process made and no list may show yet.
	created map[int]createNote
	// left are instances whose removal was accepted, dropped such pools.
	left    map[int]time.Time
	dropped map[int]time.Time
	// suspects are instances that their pool did not list when this process
	// saw the cluster first: arriving or leaving, only time tells.
	suspects map[int]bool
	// seen is when this process first saw an instance in its present state.
	seen map[int]sighting
	// vacant is since when this process has seen a place of a pool without an
	// instance.
	vacant map[vacancy]time.Time
	// homes tells the pool of an instance, pools what is known of a pool.
	homes map[int]int
	pools map[int]poolNote
	// first is the begin of the first full observation, latest of the newest.
	first, latest time.Time
}

type countNote struct {
	count int
	at    time.Time
}

type createNote struct {
	pool Pool
	at   time.Time
}

type sighting struct {
	claim string
	at    time.Time
}

type poolNote struct {
	pool Pool
	at   time.Time
}

// vacancy is a place in a pool that no instance holds: none has taken it yet, or
// the one that it still names is gone.
type vacancy struct {
	poolID int
	Slot
}

func newLedger(settle time.Duration) *ledger {
	return &ledger{
		settle: settle, marks: map[int]*mark{}, claims: map[string]int{}, counts: map[int]countNote{},
		created: map[int]createNote{}, left: map[int]time.Time{}, dropped: map[int]time.Time{},
		suspects: map[int]bool{}, seen: map[int]sighting{}, vacant: map[vacancy]time.Time{}, homes: map[int]int{}, pools: map[int]poolNote{},
	}
}

// correct returns the pools of a reading that began at the given time as they
// are to be believed: without what this process removed, with what it created
// and with the counts that it set.
func (l *ledger) correct(pools []Pool, began time.Time) []Pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	corrected := make([]Pool, 0, len(pools))
	listed := map[int]bool{}
	for _, pool := range pools {
		listed[pool.ID] = true
		if _, gone := l.dropped[pool.ID]; gone {
			continue
		}
		if note, ok := l.counts[pool.ID]; ok && l.recent(note.at, began) {
			pool.Count = note.count
		}
		pool.Members = slices.DeleteFunc(slices.Clone(pool.Members), func(m Member) bool {
			_, gone := l.left[m.ID]
			return gone || m.State == Leaving
		})
		corrected = append(corrected, pool)
	}
	for id, note := range l.created {
		_, gone := l.dropped[id]
		if !listed[id] && !gone && l.recent(note.at, began) {
			pool := note.pool
			pool.Count = l.counts[id].count
			corrected = append(corrected, pool)
		}
	}
	return corrected
}

// recent says whether a reading that began at `began` may not show yet what
// was written at `at`.
func (l *ledger) recent(at, began time.Time) bool { return began.Before(at.Add(l.settle)) }

// absorb learns from a full observation that began at the given time.
func (l *ledger) absorb(o Observation, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	firstTime := l.first.IsZero()
	if firstTime {
		l.first = began
	}
	l.latest = began
	present := map[int]bool{}
	l.claims, l.homes, l.pools = map[string]int{}, map[int]int{}, map[int]poolNote{}
	for _, pool := range o.Pools {
		l.pools[pool.ID] = poolNote{pool: pool, at: began}
		for _, member := range pool.Members {
			present[member.ID] = true
			l.homes[member.ID] = pool.ID
			l.meet(member.Instance, began)
			switch {
			case member.NodeID != "":
				delete(l.suspects, member.ID)
			case firstTime:
				l.suspects[member.ID] = true
			}
		}
	}
	for _, instance := range o.Loose {
		present[instance.ID] = true
		l.meet(instance, began)
	}
	l.noteVacant(o.Pools, present, began)
	for id, note := range l.created {
		if _, known := l.pools[id]; !known && l.recent(note.at, began) {
			l.pools[id] = poolNote(note)
		}
	}
	for id, m := range l.marks {
		if !present[id] && m.state == marked && l.recent(m.at, began) {
			l.claims[m.claim], l.homes[id] = id, m.node.PoolID
		}
	}
	l.forget(present, began)
}

// meet notes an instance's claim and settles what was unsure about it.
func (l *ledger) meet(instance Instance, began time.Time) {
	tag := claimOf(instance.Tags)
	if m, ok := l.marks[instance.ID]; ok && m.state == unsure {
		switch {
		case tag == m.claim:
			m.state = marked
		case !l.recent(m.at, began):
			delete(l.marks, instance.ID)
		}
	}
	claim := l.claimLocked(instance.ID, tag)
	if s, ok := l.seen[instance.ID]; !ok || s.claim != claim {
		l.seen[instance.ID] = sighting{claim: claim, at: began}
	}
	if claim != "" && (l.claims[claim] == 0 || instance.ID < l.claims[claim]) {
		l.claims[claim] = instance.ID
	}
}

// forget drops notes about what no longer exists.
func (l *ledger) forget(present map[int]bool, began time.Time) {
	for id, m := range l.marks {
		if !present[id] && m.state != marking && !l.recent(m.at, began) {
			delete(l.marks, id)
		}
	}
	for id, at := range l.left {
		if !present[id] && !l.recent(at, began) {
			delete(l.left, id)
		}
	}
	for id := range l.suspects {
		if !present[id] {
			delete(l.suspects, id)
		}
	}
	for id := range l.seen {
		if !present[id] {
			delete(l.seen, id)
		}
	}
	for id, at := range l.dropped {
		if _, listed := l.pools[id]; !listed && !l.recent(at, began) {
			delete(l.dropped, id)
			delete(l.counts, id)
		}
	}
	for id, note := range l.counts {
		if !l.recent(note.at, began) {
			delete(l.counts, id)
		}
	}
	for id, note := range l.created {
		if !l.recent(note.at, began) {
			delete(l.created, id)
		}
	}
}
