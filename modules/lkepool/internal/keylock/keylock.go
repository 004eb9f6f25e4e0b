// Package keylock is a set of mutexes by key whose Lock honours a context.
//
// Locks of different keys never wait for each other. A key costs memory only
// while somebody holds its lock or waits for it. Waiters are served in no
// particular order. The zero value is ready, and safe for concurrent use.
package keylock

import (
	"context"
	"sync"
)

// Set is a set of locks.
type Set[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*lock
}

type lock struct {
	// held has room for one token; whoever put it there holds the lock.
	held chan struct{}
	// users counts the holder and those who wait.
	users int
}

// Lock waits until the key's lock is free or ctx ends, and in the latter case
// returns ctx's error. The returned function unlocks; call it once.
func (s *Set[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	l := s.join(key)
	select {
	case l.held <- struct{}{}:
		return func() {
			<-l.held
			s.leave(key, l)
		}, nil
	case <-ctx.Done():
		s.leave(key, l)
		return nil, context.Cause(ctx)
	}
}

// Len returns the number of keys in use.
func (s *Set[K]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.locks)
}

func (s *Set[K]) join(key K) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.locks[key]
	if !ok {
		if s.locks == nil {
			s.locks = map[K]*lock{}
		}
		l = &lock{held: make(chan struct{}, 1)}
		s.locks[key] = l
	}
	l.users++
	return l
}

func (s *Set[K]) leave(key K, l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.locks, key)
	}
}
