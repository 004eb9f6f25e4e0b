package lkepool

import "time"

// The ledger's part about claims: who has which instance, or is about to.

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

// confirmed returns the node of a claim that the API confirmed to this process at
// most `within` ago, and that nothing has been seen or done to since. A mark that
// a list proved, and not the answer to a write, has no node.
func (l *ledger) confirmed(claim string, within time.Duration, now time.Time) (Node, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[l.claims[claim]]
	if m == nil || m.claim != claim || m.state != marked || m.node.InstanceID == 0 || now.Sub(m.at) > within {
		return Node{}, false
	}
	return m.node, true
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

// knownClaim returns the instance that carries a claim, 0 if none is known.
func (l *ledger) knownClaim(claim string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims[claim]
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

// prefers says whether a, and not b, is the one that counts of two instances
// which carry the same claim: the one that this process handed out; otherwise
// the one that was claimed later, because a claimant that had stored the answer
// about the earlier one would not have asked again; otherwise the lower ID.
func (l *ledger) prefers(claim string, a, b Instance) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	atA, handedA := l.handedLocked(claim, a.ID)
	atB, handedB := l.handedLocked(claim, b.ID)
	if handedA != handedB {
		return handedA
	}
	if handedA && !atA.Equal(atB) {
		return atA.After(atB)
	}
	if toldA, toldB := claimedAtOf(a.Tags), claimedAtOf(b.Tags); !toldA.Equal(toldB) {
		return toldA.After(toldB)
	}
	return a.ID < b.ID
}

func (l *ledger) handedLocked(claim string, instanceID int) (time.Time, bool) {
	m, ok := l.marks[instanceID]
	if !ok || m.claim != claim || m.state != marked {
		return time.Time{}, false
	}
	return m.at, true
}
