package effects

import (
	"context"
	"sync"
	"time"
)

// Core is an engine as a state machine: events go in, actions come out. The Loop
// makes one call at a time, so a Core needs no lock.
type Core[E, A any] interface {
	Handle(e E, now time.Time) []A
	// Wake returns when Handle needs a tick at the latest, the zero time for never.
	Wake() time.Time
	// Idle reports whether no caller waits.
	Idle() bool
}

// LoopConfig connects a Loop with an engine: Q are the requests of its callers, E its
// events, A its actions, and R what callers get.
type LoopConfig[Q, E, A, R any] struct {
	// Core returns the core that runs. It is called while the Loop is locked.
	Core  func() Core[E, A]
	Clock Clock
	// Timer returns a channel that receives a value after the time, and a function that stops the timer.
	Timer func(time.Duration) (fires <-chan time.Time, stop func() bool)
	// Came returns the event of a new caller. Left returns the event of a caller whose context
	// ended, with the cause. Tick is the event that time has passed.
	Came func(token int, request Q) E
	Left func(token int, cause error) E
	Tick E
	// Answer returns the caller that an action answers, and false if the action is a request.
	Answer func(A) (token int, result R, is bool)
	// Run makes a request, and returns the event of its end. ctx ends when no caller waits.
	// Runner.Do lets ctx end only reads, because a cancelled write would have an unknown
	// effect.
	Run func(ctx context.Context, request A) E
}

// Loop runs a core: it serialises events, answers callers, and makes each request in
// a separate goroutine. One more goroutine exists only while callers wait or requests are
// under way. A Loop is safe for concurrent use.
type Loop[Q, E, A, R any] struct {
	cfg  LoopConfig[Q, E, A, R]
	wake chan struct{}

	mu      sync.Mutex
	callers map[int]chan R
	last    int
	inbox   []E
	running bool
	// under counts the requests under way; reads is the context of the reads among them.
	under  int
	reads  context.Context
	cancel context.CancelFunc
}

// NewLoop returns a Loop that is at rest.
func NewLoop[Q, E, A, R any](cfg LoopConfig[Q, E, A, R]) *Loop[Q, E, A, R] {
	return &Loop[Q, E, A, R]{cfg: cfg, wake: make(chan struct{}, 1), callers: map[int]chan R{}}
}

// Locked runs a function while the core handles no event. The function may use the core, or replace it.
func (l *Loop[Q, E, A, R]) Locked(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what()
}

// Nudge lets the core decide anew, if callers wait or requests are under way.
func (l *Loop[Q, E, A, R]) Nudge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		l.post(l.cfg.Tick)
	}
}

// Call puts a request to the core, and waits for its answer. When ctx ends, the core gets
// the event of LoopConfig.Left, and has to answer at once.
func (l *Loop[Q, E, A, R]) Call(ctx context.Context, request Q) R {
	done := make(chan R, 1)
	l.mu.Lock()
	l.last++
	token := l.last
	l.callers[token] = done
	l.post(l.cfg.Came(token, request))
	l.mu.Unlock()
	select {
	case result := <-done:
		return result
	case <-ctx.Done():
	}
	l.mu.Lock()
	if _, waits := l.callers[token]; waits {
		l.post(l.cfg.Left(token, context.Cause(ctx)))
	}
	l.mu.Unlock()
	return <-done
}

// post queues an event, and starts the loop if no loop runs. The caller holds mu.
func (l *Loop[Q, E, A, R]) post(e E) {
	l.inbox = append(l.inbox, e)
	if !l.running {
		l.running = true
		l.reads, l.cancel = context.WithCancel(context.Background())
		go l.run()
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run handles events until no caller waits and no request is under way.
func (l *Loop[Q, E, A, R]) run() {
	for {
		next, more := l.step()
		if !more {
			return
		}
		l.wait(next)
	}
}

// wait waits for an event, or until the core needs a tick.
func (l *Loop[Q, E, A, R]) wait(until time.Time) {
	var fires <-chan time.Time
	if !until.IsZero() {
		timer, stop := l.cfg.Timer(until.Sub(l.cfg.Clock.Now()))
		defer stop()
		fires = timer
	}
	select {
	case <-l.wake:
	case <-fires:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inbox = append(l.inbox, l.cfg.Tick)
	}
}

// step handles the events in the inbox: it answers callers and begins requests. It returns when
// the core needs a tick, and false when the loop may end.
func (l *Loop[Q, E, A, R]) step() (wake time.Time, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	core := l.cfg.Core()
	for len(l.inbox) > 0 {
		e := l.inbox[0]
		l.inbox = l.inbox[1:]
		for _, a := range core.Handle(e, l.cfg.Clock.Now()) {
			if token, result, is := l.cfg.Answer(a); is {
				l.answer(token, result)
			} else {
				l.begin(a)
			}
		}
	}
	if !core.Idle() {
		return core.Wake(), true
	}
	l.cancel()
	if l.under > 0 {
		return time.Time{}, true
	}
	l.running = false
	return time.Time{}, false
}

// answer gives a caller its result. The caller holds mu.
func (l *Loop[Q, E, A, R]) answer(token int, result R) {
	if done, waits := l.callers[token]; waits {
		delete(l.callers, token)
		done <- result
	}
}

// begin makes a request in a separate goroutine. The caller holds mu.
func (l *Loop[Q, E, A, R]) begin(a A) {
	if l.reads.Err() != nil {
		l.reads, l.cancel = context.WithCancel(context.Background())
	}
	l.under++
	go func(ctx context.Context) {
		e := l.cfg.Run(ctx, a)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.under--
		l.post(e)
	}(l.reads)
}
