package effects

import (
	"context"
	"sync"
)

// locks keep writes to one object from overlapping.
type locks struct {
	mu   *sync.Mutex
	held map[string]*heldLock
}

// heldLock is the state of one lock: how many writes share it, or whether one write has it alone.
type heldLock struct {
	shared int
	alone  bool
	// freed is closed and replaced when a writer ends.
	freed chan struct{}
}

func newLocks() locks { return locks{mu: &sync.Mutex{}, held: map[string]*heldLock{}} }

// take waits for the lock until ctx ends, and reports whether it has it. The caller
// calls release when its write has ended.
func (l locks) take(ctx context.Context, name string, shared bool) (release func(), locked bool) {
	if name == "" {
		return func() {}, true
	}
	for {
		freed := l.try(name, shared)
		if freed == nil {
			return func() { l.release(name, shared) }, true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// try takes the lock and returns nil, or returns a channel that is closed when the caller may try again.
func (l locks) try(name string, shared bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, known := l.held[name]
	if !known {
		h = &heldLock{freed: make(chan struct{})}
		l.held[name] = h
	}
	if h.alone || h.shared > 0 && !shared {
		return h.freed
	}
	if shared {
		h.shared++
	} else {
		h.alone = true
	}
	return nil
}

func (l locks) release(name string, shared bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[name]
	if shared {
		h.shared--
	} else {
		h.alone = false
	}
	close(h.freed)
	h.freed = make(chan struct{})
	if h.shared == 0 {
		delete(l.held, name)
	}
}
