package allocator

import (
	"context"
	"fmt"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// locks keep writes to one object from overlapping, because overlapping writes have
// no order.
type locks struct {
	mu   *sync.Mutex
	held map[string]*heldLock
}

// heldLock is the state of one key: how many share it, or that one has it alone.
type heldLock struct {
	shared int
	alone  bool
	// freed is closed and replaced when a writer ends.
	freed chan struct{}
}

func newLocks() locks { return locks{mu: &sync.Mutex{}, held: map[string]*heldLock{}} }

// lockKey names the object that a write changes. Removals of nodes of one pool by
// name share it: they commute.
type lockKey struct {
	key    string
	shared bool
}

func lockOf(a engine.Action) lockKey {
	switch a.Op {
	case engine.OpMark:
		return lockKey{key: fmt.Sprintf("instance %d", a.InstanceID)}
	case engine.OpCreate:
		return lockKey{}
	}
	return lockKey{key: fmt.Sprintf("pool %d", a.PoolID), shared: a.Op == engine.OpRemove}
}

// take waits for the lock until the context ends, and reports whether it has it. The
// caller calls release when its write has ended.
func (l locks) take(ctx context.Context, want lockKey) (release func(), locked bool) {
	if want.key == "" {
		return func() {}, true
	}
	for {
		freed := l.try(want)
		if freed == nil {
			return func() { l.release(want) }, true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// try takes the lock and returns nil, or returns what is closed when to try again.
func (l locks) try(want lockKey) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, known := l.held[want.key]
	if !known {
		h = &heldLock{freed: make(chan struct{})}
		l.held[want.key] = h
	}
	if h.alone || h.shared > 0 && !want.shared {
		return h.freed
	}
	if want.shared {
		h.shared++
	} else {
		h.alone = true
	}
	return nil
}

func (l locks) release(want lockKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[want.key]
	if want.shared {
		h.shared--
	} else {
		h.alone = false
	}
	close(h.freed)
	h.freed = make(chan struct{})
	if h.shared == 0 {
		delete(l.held, want.key)
	}
}
