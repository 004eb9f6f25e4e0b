package claims

import (
	"maps"
	"sync"
)

// Records are the caller's own records of the claimants of instances. They have precedence over tags: an instance with a holder is never
// given to another claimant, whatever its tags are, and the engine rewrites a tag that names another claimant.
//
// The records must be complete when a process begins to lead: they must have all values that earlier processes have stored. For
// Kubernetes that takes one list from the API server itself, because a cache may be older. A value that is stored later may become
// visible with a delay.
type Records interface {
	// Holder returns the claimant that has an instance, false for none. It makes no request and does not block.
	Holder(instanceID int) (Claimant, bool)
}

// Holder returns the claimant that has an instance, and implements [Records] with one function.
type Holder func(instanceID int) (Claimant, bool)

// Holder calls the function. A nil Holder has no records.
func (h Holder) Holder(instanceID int) (Claimant, bool) {
	if h == nil {
		return Claimant{}, false
	}
	return h(instanceID)
}

// RecordMap is Records in memory, for programs that store their claims themselves. The zero value is empty. It is safe for concurrent use.
type RecordMap struct {
	mu      sync.RWMutex
	holders map[int]Claimant
}

// Holder implements [Records].
func (m *RecordMap) Holder(instanceID int) (Claimant, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	who, held := m.holders[instanceID]
	return who, held
}

// Store records that a claimant has an instance. Call it when Claim has returned and the claim is stored where it survives a restart.
// Also call it for each stored claim before the process begins to lead.
func (m *RecordMap) Store(instanceID int, who Claimant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holders == nil {
		m.holders = map[int]Claimant{}
	}
	m.holders[instanceID] = who
}

// Forget removes the record of an instance, when it is gone.
func (m *RecordMap) Forget(instanceID int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.holders, instanceID)
}

// All returns a copy of the records, to be stored.
func (m *RecordMap) All() map[int]Claimant {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.holders)
}
