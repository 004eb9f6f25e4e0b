package lkepool

// Owns says whether a pool of the cluster was made by this engine, from what the
// last observation showed and what this process did since: it makes no request.
// While known is false nobody can tell yet: nothing was read so far, or the pool
// is newer than the last reading.
func (a *Allocator) Owns(poolID int) (owned, known bool) { return a.ledger.owns(poolID) }

func (l *ledger) owns(poolID int) (owned, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, dropped := l.dropped[poolID]; dropped {
		return true, true // nothing else is ever dropped
	}
	note, known := l.pools[poolID]
	return known && note.pool.ours(), known
}
