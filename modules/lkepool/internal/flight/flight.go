// Package flight lets many callers share one expensive read without anybody
// getting an answer older than its own question.
//
// A caller that arrives while a read is running does not join it, because that
// read may have passed already what the caller must see; it joins the next
// one, together with everybody else who arrives in the meantime. So any number
// of simultaneous callers cost at most two reads. The end of a caller's context
// ends only its own wait; a read is cancelled when all of its callers are gone.
package flight

import (
	"context"
	"sync"
)

// Group shares the reads of one thing. It is safe for concurrent use.
type Group[T any] struct {
	read func(context.Context) (T, error)

	mu      sync.Mutex
	running *call[T]
	next    *call[T]
}

type call[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	value  T
	err    error
	// callers is guarded by the group's mutex.
	callers int
}

// New returns a group over a read.
func New[T any](read func(context.Context) (T, error)) *Group[T] {
	return &Group[T]{read: read}
}

// Do returns the result of a read that began after Do was called.
func (g *Group[T]) Do(ctx context.Context) (T, error) {
	return g.wait(ctx, g.join(ctx))
}

func (g *Group[T]) wait(ctx context.Context, c *call[T]) (T, error) {
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		g.leave(c)
		var none T
		return none, context.Cause(ctx)
	}
}

// Running returns the result of the read that is running, or of one that begins
// now. It is for callers who know that the running read covers their question.
func (g *Group[T]) Running(ctx context.Context) (T, error) {
	g.mu.Lock()
	c := g.running
	if c != nil && c.ctx.Err() == nil {
		c.callers++
	} else {
		c = nil
	}
	g.mu.Unlock()
	if c == nil {
		return g.Do(ctx)
	}
	return g.wait(ctx, c)
}

func (g *Group[T]) join(ctx context.Context) *call[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.next
	if c == nil {
		c = &call[T]{done: make(chan struct{})}
		c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
		if g.running == nil {
			g.running = c
			go g.run(c)
		} else {
			g.next = c
		}
	}
	c.callers++
	return c
}

func (g *Group[T]) leave(c *call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.callers--; c.callers > 0 {
		return
	}
	c.cancel()
	if g.next == c {
		g.next = nil
	}
}

func (g *Group[T]) run(c *call[T]) {
	c.value, c.err = g.read(c.ctx)
	c.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	close(c.done)
	g.running, g.next = g.next, nil
	if g.running != nil {
		go g.run(g.running)
	}
}
