package lkepool

import "time"

// The ledger's part about what this process changed besides claims: counts set,
// pools made and deleted, nodes removed.

// removed notes that an instance's removal was accepted; count is its pool's
// count afterwards, negative if that is not known.
func (l *ledger) removed(instanceID, poolID, count int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m, ok := l.marks[instanceID]; ok && l.claims[m.claim] == instanceID {
		delete(l.claims, m.claim)
	}
	delete(l.marks, instanceID)
	l.left[instanceID] = at
	if count >= 0 {
		l.counts[poolID] = countNote{count: count, at: at}
	} else {
		delete(l.counts, poolID)
	}
}

func (l *ledger) sized(pool Pool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[pool.ID] = countNote{count: pool.Count, at: at}
}

// unsized forgets a pool's count: a write of it may or may not have happened.
func (l *ledger) unsized(poolID int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.counts, poolID)
}

func (l *ledger) poolCreated(pool Pool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.created[pool.ID] = createNote{pool: pool, at: at}
	l.counts[pool.ID] = countNote{count: pool.Count, at: at}
	l.pools[pool.ID] = poolNote{pool: pool, at: at}
}

func (l *ledger) poolDropped(poolID int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped[poolID] = at
	delete(l.pools, poolID)
}

func (l *ledger) hasLeft(instanceID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, left := l.left[instanceID]
	return left
}

func (l *ledger) hasDropped(poolID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, dropped := l.dropped[poolID]
	return dropped
}
