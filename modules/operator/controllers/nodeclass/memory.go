package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// memory remembers what was read about objects with IDs of one kind.
type memory[K comparable, V any] struct {
	ttl     time.Duration
	read    func(context.Context, K) (*V, error)
	answers *cache.Expiring
	reading singleflight.Group
}

type answer[V any] struct {
	found *V // nil: there is none, or it is not known
	err   error
	read  time.Time
}

func newMemory[K comparable, V any](ttl time.Duration, read func(context.Context, K) (*V, error)) *memory[K, V] {
	return &memory[K, V]{ttl: ttl, read: read, answers: cache.NewExpiring()}
}

// get returns what is remembered, and reads it otherwise. No lock is held while it does.
func (m *memory[K, V]) get(ctx context.Context, id K) (*V, error) { return m.young(ctx, id, m.ttl) }

// young is get for an answer that is up to so old.
func (m *memory[K, V]) young(ctx context.Context, id K, age time.Duration) (*V, error) {
	result, _, _ := m.reading.Do(fmt.Sprint(id, age), func() (any, error) {
		if known, ok := m.answers.Get(id); ok && time.Since(known.(answer[V]).read) <= age { //nolint:forcetypeassert // set below
			return known, nil
		}
		began := time.Now()
		found, err := m.read(ctx, id)
		ttl := m.ttl
		if err != nil || found == nil {
			found, ttl = nil, min(ttl, doubtTTL)
		}
		if !errors.Is(err, context.Canceled) { // the caller has left, which proves nothing
			m.answers.Set(id, answer[V]{found, err, began}, ttl)
		}
		return answer[V]{found, err, began}, nil
	})
	a := result.(answer[V]) //nolint:forcetypeassert // the function above returns nothing else
	return a.found, a.err
}
