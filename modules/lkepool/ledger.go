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
	// homes tells the pool of an instance, pools what is known of a pool.
	homes map[int]int
	pools map[int]poolNote
	// first is the begin of the first full observation, latest of the newest.
	first, latest time.Time
}

type mark struct {
	claim string
	// key is the hash of the key whose pass wrote it.
	key   string
	state markState
	at    time.Time
	node  Node
}

type markState int

const (
	// marking: the write is under way.
	marking markState = iota
	// unsure: the write failed in a way that leaves its effect open.
	unsure
	// marked: the write's answer confirmed the claim.
	marked
)

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

func newLedger(settle time.Duration) *ledger {
	return &ledger{
		settle: settle, marks: map[int]*mark{}, claims: map[string]int{}, counts: map[int]countNote{},
		created: map[int]createNote{}, left: map[int]time.Time{}, dropped: map[int]time.Time{},
		suspects: map[int]bool{}, seen: map[int]sighting{}, homes: map[int]int{}, pools: map[int]poolNote{},
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
	for id, note := range l.created {
		if _, known := l.pools[id]; !known && l.recent(note.at, began) {
			l.pools[id] = poolNote{pool: note.pool, at: note.at}
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

// claim returns whose an instance is, given the claim tag that a reading showed.
func (l *ledger) claim(instanceID int, tag string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimLocked(instanceID, tag)
}

// A tag that somebody removed by hand from an instance that this process
// handed out stays a claim here: handing the instance out again would be worse.
func (l *ledger) claimLocked(instanceID int, tag string) string {
	if m, ok := l.marks[instanceID]; ok && (tag == "" || m.state != marked) {
		return m.claim
	}
	return tag
}

// reserve takes an instance for a claim unless somebody else has it.
func (l *ledger) reserve(instanceID int, claim, key string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m, ok := l.marks[instanceID]; ok && m.claim != claim {
		return false
	}
	if _, gone := l.left[instanceID]; gone {
		return false
	}
	l.marks[instanceID] = &mark{claim: claim, key: key, state: marking, at: at}
	return true
}

// confirm notes a claim that the API confirmed.
func (l *ledger) confirm(node Node, key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks[node.InstanceID] = &mark{claim: node.Claim, key: key, state: marked, at: at, node: node}
	l.claims[node.Claim] = node.InstanceID
	l.homes[node.InstanceID] = node.PoolID
	l.seen[node.InstanceID] = sighting{claim: node.Claim, at: at}
	delete(l.suspects, node.InstanceID)
}

// doubt notes that a claim's write may or may not have taken effect.
func (l *ledger) doubt(instanceID int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m, ok := l.marks[instanceID]; ok {
		m.state, m.at = unsure, at
	}
}

// unreserve ends a reservation that certainly has no effect.
func (l *ledger) unreserve(instanceID int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.marks, instanceID)
}

// holdings returns, for each claim that is reserved but not confirmed, the
// instance and the key whose pass reserved it.
func (l *ledger) holdings() map[string]mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[string]mark{}
	for id, m := range l.marks {
		if m.state != marked {
			note := *m
			note.node.InstanceID = id
			held[m.claim] = note
		}
	}
	return held
}

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

func (l *ledger) suspect(instanceID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspects[instanceID]
}

// knownClaim returns the instance that carries a claim, 0 if none is known.
func (l *ledger) knownClaim(claim string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims[claim]
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

// unseen returns nodes claimed so shortly before a reading that it may lack
// them.
func (l *ledger) unseen(seen map[int]bool, began time.Time) []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	var nodes []Node
	for id, m := range l.marks {
		if m.state == marked && !seen[id] && l.recent(m.at, began) {
			nodes = append(nodes, m.node)
		}
	}
	return nodes
}

func (l *ledger) hasDropped(poolID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, dropped := l.dropped[poolID]
	return dropped
}

// met says whether the instance was part of an observation before.
func (l *ledger) met(instanceID int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, met := l.seen[instanceID]
	return met
}
