package lkepool

import "time"

// The ledger's part about what was seen, and when.

func (l *ledger) suspect(instanceID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspects[instanceID]
}

// complete says whether a full observation has seen everything that an earlier
// process may have written.
func (l *ledger) complete(born time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.latest.IsZero() && !l.latest.Before(born.Add(l.settle))
}

// home returns what is known of an instance's pool.
func (l *ledger) home(instanceID int) (Pool, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	poolID, ok := l.homes[instanceID]
	if !ok {
		return Pool{}, false
	}
	note, ok := l.pools[poolID]
	return note.pool, ok
}

// since returns since when this process has seen the instance with this claim.
func (l *ledger) since(instanceID int, claim string) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.seen[instanceID]
	return s.at, ok && s.claim == claim
}

// poolKnown returns when what is known of a pool was read.
func (l *ledger) poolKnown(poolID int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pools[poolID].at
}

// met says whether the instance was part of an observation before.
func (l *ledger) met(instanceID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, met := l.seen[instanceID]
	return met
}

// noteVacant notes the places that no instance of a full observation holds.
func (l *ledger) noteVacant(pools []Pool, present map[int]bool, began time.Time) {
	vacant := map[vacancy]time.Time{}
	for _, pool := range pools {
		for _, slot := range pool.Slots {
			if place := (vacancy{pool.ID, slot}); !present[slot.InstanceID] {
				vacant[place] = earlier(l.vacant[place], began)
			}
		}
	}
	l.vacant = vacant
}

// vacantSince returns since when a place has been seen without an instance.
func (l *ledger) vacantSince(poolID int, slot Slot) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.vacant[vacancy{poolID, slot}]
	return at, ok
}
