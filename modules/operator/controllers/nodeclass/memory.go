package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// memory remembers what was read about objects with IDs of one kind. Its clock is the process's.
type memory[K comparable, V any] struct {
	ttl     time.Duration
	reading singleflight.Group

	mu      sync.Mutex
	answers map[K]answer[V]
}

type answer[V any] struct {
	found *V // nil: there is none, or it is not known
	err   error
	until time.Time
}

func newMemory[K comparable, V any](ttl time.Duration) *memory[K, V] {
	return &memory[K, V]{ttl: ttl, answers: map[K]answer[V]{}}
}

// get returns what is remembered, and reads it otherwise. No lock is held while it does.
func (m *memory[K, V]) get(id K, read func() (*V, error)) (*V, error) {
	if known, ok := m.remembered(id); ok {
		return known.found, known.err
	}
	found, err, _ := m.reading.Do(fmt.Sprint(id), func() (any, error) {
		if known, ok := m.remembered(id); ok { // somebody else has read it since
			return known.found, known.err
		}
		found, err := read()
		m.remember(id, found, err)
		return found, err
	})
	return found.(*V), err //nolint:forcetypeassert // the function above returns nothing else
}

func (m *memory[K, V]) remembered(id K) (answer[V], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.answers[id]
	return known, ok && time.Now().Before(known.until)
}

// remember also forgets what is too old, so that IDs that nobody asks for any more do not pile up.
func (m *memory[K, V]) remember(id K, found *V, err error) {
	if errors.Is(err, context.Canceled) {
		return // who asked has left, which says nothing
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(m.answers, func(_ K, a answer[V]) bool { return !now.Before(a.until) })
	ttl := m.ttl
	if found == nil {
		ttl = min(ttl, doubtTTL)
	}
	m.answers[id] = answer[V]{found: found, err: err, until: now.Add(ttl)}
}
