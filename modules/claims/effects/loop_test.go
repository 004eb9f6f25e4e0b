package effects_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/effects"
)

// desk is a core: each caller gets the number of the read that ended after it came, or the
// reason why it left.
type desk struct {
	waiting []int
	busy    bool
	reads   int
	wake    time.Time
	ticks   int
}

type (
	came  struct{ token int }
	left  struct{ token int }
	ended struct{ cancelled bool }
	tick  struct{}
)

type action struct {
	answers, token, result int
}

func (d *desk) Handle(e any, now time.Time) (actions []action) {
	switch e := e.(type) {
	case came:
		d.waiting = append(d.waiting, e.token)
	case left:
		for i, token := range d.waiting {
			if token == e.token {
				d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
				actions = append(actions, action{answers: 1, token: token, result: -1})
			}
		}
	case ended:
		d.busy = false
		if !e.cancelled {
			d.reads++
			for _, token := range d.waiting {
				actions = append(actions, action{answers: 1, token: token, result: d.reads})
			}
			d.waiting, d.wake = nil, time.Time{}
		}
	case tick:
		d.ticks++
		d.wake = time.Time{}
	}
	switch {
	case len(d.waiting) == 0 || d.busy:
	case d.wake.IsZero() && d.ticks == 0:
		d.wake = now.Add(time.Second) // it gathers callers
	case d.wake.IsZero():
		d.busy, d.ticks = true, 0
		actions = append(actions, action{})
	}
	return actions
}

func (d *desk) Wake() time.Time { return d.wake }
func (d *desk) Idle() bool      { return len(d.waiting) == 0 }

func loopOver(core *desk, read func(context.Context) error) *effects.Loop[int, any, action, int] {
	return effects.NewLoop(effects.LoopConfig[int, any, action, int]{
		Core: func() effects.Core[any, action] { return core }, Clock: system{},
		Timer: func(d time.Duration) (<-chan time.Time, func() bool) {
			timer := time.NewTimer(d)
			return timer.C, timer.Stop
		},
		Came:   func(token, _ int) any { return came{token} },
		Left:   func(token int, _ error) any { return left{token} },
		Tick:   tick{},
		Answer: func(a action) (token, result int, is bool) { return a.token, a.result, a.answers > 0 },
		Run: func(ctx context.Context, _ action) any {
			return ended{cancelled: errors.Is(read(ctx), context.Canceled)}
		},
	})
}

// Callers that come together share a read. A caller that leaves gets its answer at once, and the others get theirs from the read.
func TestALoopAnswersItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOver(&desk{}, func(ctx context.Context) error {
			select {
			case <-time.After(5 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		results := make(chan int, 2)
		go func() { results <- l.Call(t.Context(), 1) }()
		go func() { results <- l.Call(t.Context(), 2) }()
		if got := l.Call(impatient, 3); got != -1 || time.Since(began) != 3*time.Second {
			t.Errorf("one that leaves gets %d after %s", got, time.Since(began))
		}
		for range 2 {
			if got := <-results; got != 1 || time.Since(began) != 6*time.Second {
				t.Errorf("one that waits gets %d after %s", got, time.Since(began))
			}
		}
		// No goroutine is left: otherwise the bubble would not end.
	})
}

// A read ends with the last caller, and the next caller gets another one.
func TestALoopEndsReadsThatNoCallerWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &desk{}
		var ends []time.Duration
		began := time.Now()
		l := loopOver(core, func(ctx context.Context) error {
			defer func() { ends = append(ends, time.Since(began)) }()
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		l.Call(impatient, 1)
		synctest.Wait()
		if len(ends) != 1 || ends[0] != 3*time.Second {
			t.Errorf("reads ended after %v", ends)
		}
		if got := l.Call(t.Context(), 2); got != 1 {
			t.Errorf("the next caller gets %d", got)
		}
	})
}

// Nudge makes a core decide again although it waits for nothing. A core without callers stays at rest.
func TestALoopIsNudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &desk{}
		l := loopOver(core, func(context.Context) error { return nil })
		l.Nudge()
		synctest.Wait()
		if core.ticks != 0 {
			t.Error("a core at rest gets a tick")
		}
		began, done := time.Now(), make(chan int)
		go func() { done <- l.Call(t.Context(), 1) }()
		time.Sleep(100 * time.Millisecond)
		l.Nudge()
		if got := <-done; got != 1 || time.Since(began) != 100*time.Millisecond {
			t.Errorf("it gets %d after %s", got, time.Since(began))
		}
	})
}
