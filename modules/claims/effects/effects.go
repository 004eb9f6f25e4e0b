// Package effects is the shell of an engine. A [Runner] makes its requests: a bounded number
// at a time, writes to one object one after another, each with a time until which it may be
// sent and a timeout that begins when it is sent. A [Loop] runs a core that is a state
// machine over events and actions.
//
//	runner := effects.NewRunner(64, clock)
//	outcome, err := runner.Do(ctx, effects.Request{Lock: "instance 7", NotAfter: now.Add(5 * time.Second), Timeout: time.Minute},
//		func(ctx context.Context) error { return backend.Delete(ctx, 7) })
//
// # Guarantees
//
// Two writes with one lock never overlap, because overlapping writes have no order. Writes that
// share a lock may overlap each other, but not a write that holds the lock alone. A write that
// has not got its lock and a slot by NotAfter is not sent ([Outcome].Unsent), and the caller
// decides again. The context of a sent write has NotAfter as [SendBefore]: a client that waits
// for a rate limit, or repeats the request after a 429, keeps to NotAfter, too. The Runner does
// not cancel a write with ctx, because the effect would be unknown. A read ends with ctx and
// reports [Outcome].Cancelled. If other callers need the object, it has to be read again.
//
// # Not guaranteed
//
// A write that was sent may take effect later than its answer, and after its timeout.
//
// # Concurrency and errors
//
// Runner and Loop are safe for concurrent use. A Runner starts no goroutine. A Loop starts one
// goroutine for each request, and runs one more while callers wait or requests are under way.
//
// The callers are the engines' shells. Errors are the backend's errors; ErrUnsent is the error
// of a write that was not sent in time.
package effects

import (
	"context"
	"errors"
	"time"
)

// Clock is the time of the engine.
type Clock interface{ Now() time.Time }

// Runner runs requests.
type Runner struct {
	clock Clock
	slots chan struct{}
	locks locks
}

// NewRunner returns a Runner of at most parallel requests at a time.
func NewRunner(parallel int, clock Clock) *Runner {
	return &Runner{clock: clock, slots: make(chan struct{}, parallel), locks: newLocks()}
}

// Request describes one request.
type Request struct {
	// NotAfter is the latest time at which a write is sent. The zero time makes the request a read.
	NotAfter time.Time
	// Lock names the object that a write changes, "" without a lock. Shared: the write may
	// overlap other shared writes with this lock, because their order does not matter.
	Lock   string
	Shared bool
	// Timeout ends the request, counted from the moment at which it is sent.
	Timeout time.Duration
}

// Outcome describes how a request ended.
type Outcome struct {
	// Began is when the request was sent. For a request that was not sent, Began is when it began to wait.
	Began time.Time
	// Unsent: a write waited until NotAfter, and was not sent.
	Unsent bool
	// Cancelled: the context of a read ended.
	Cancelled bool
}

// ErrUnsent is the error of a write that had not been sent by Request.NotAfter.
var ErrUnsent = errors.New("the request was not sent before its time limit")

// Do runs a request and returns the error of send.
func (r *Runner) Do(ctx context.Context, request Request, send func(context.Context) error) (Outcome, error) {
	if request.NotAfter.IsZero() {
		return r.read(ctx, request, send)
	}
	return r.write(context.WithoutCancel(ctx), request, send)
}

func (r *Runner) read(ctx context.Context, request Request, send func(context.Context) error) (o Outcome, err error) {
	o.Began = r.clock.Now()
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		o.Cancelled = true
		return o, context.Cause(ctx)
	}
	defer func() { <-r.slots }()
	o.Began = r.clock.Now()
	err = limited(ctx, request.Timeout, send)
	o.Cancelled = err != nil && errors.Is(ctx.Err(), context.Canceled)
	return o, err
}

func (r *Runner) write(ctx context.Context, request Request, send func(context.Context) error) (o Outcome, err error) {
	o.Began = r.clock.Now()
	left := request.NotAfter.Sub(o.Began)
	before := time.Now().Add(left)
	waiting, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	release, locked := r.locks.take(waiting, request.Lock, request.Shared)
	if !locked {
		o.Unsent = true
		return o, ErrUnsent
	}
	defer release()
	select {
	case r.slots <- struct{}{}:
	case <-waiting.Done():
		o.Unsent = true
		return o, ErrUnsent
	}
	defer func() { <-r.slots }()
	o.Began = r.clock.Now()
	return o, limited(WithSendBefore(ctx, before), request.Timeout, send)
}

func limited(ctx context.Context, timeout time.Duration, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return send(ctx)
}

type sendBeforeKey struct{}

// WithSendBefore returns the context of a write that must not be sent after a time.
func WithSendBefore(ctx context.Context, before time.Time) context.Context {
	return context.WithValue(ctx, sendBeforeKey{}, before)
}

// SendBefore returns the time until which a write may be sent, on the system's clock,
// and false if there is no bound. If a backend's client may wait, the backend passes
// the time on to it.
func SendBefore(ctx context.Context) (before time.Time, bounded bool) {
	before, bounded = ctx.Value(sendBeforeKey{}).(time.Time)
	return before, bounded
}
