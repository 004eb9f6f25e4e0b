// Package poll measures when something happened by reading until it shows.
//
// A reading only bounds the moment of an event: the event came after the start of the last reading without it and before the end of the
// first reading with it. Everything here keeps both bounds, so a report never claims more than was seen. Times are of package time, which
// is virtual inside a testing/synctest bubble.
//
// Until reads every 50 ms at first and every 2 s at most. Example: a read from 10:00:00.0 to 10:00:00.2 lacks the node, and the next read,
// from 10:00:01.0 to 10:00:01.2, shows it. The node came between 10:00:00.0 and 10:00:01.2. Until returns the error of a read, or of the
// context.
//
// A Mark that the first reading shows has the lower bound 0. Lost counts the readings that lack a Mark after a reading that showed it.
package poll

import (
	"context"
	"time"
)

const (
	shortest = 50 * time.Millisecond
	longest  = 2 * time.Second
	share    = 20 // a pause is 1/share of the time that has passed, within the bounds above
)

// Window is a span of time in which something happened.
type Window struct{ From, To time.Time }

// Around runs do and returns when it ran.
func Around(do func() error) (Window, error) {
	w := Window{From: time.Now()}
	err := do()
	w.To = time.Now()
	return w, err
}

// Read is Around with a result.
func Read[T any](do func() (T, error)) (T, Window, error) {
	var value T
	w, err := Around(func() (err error) {
		value, err = do()
		return err
	})
	return value, w, err
}

// Sample is a delay with its bounds.
type Sample struct{ AtLeast, AtMost time.Duration }

// Between is the delay from a cause to its effect.
func Between(cause, effect Window) Sample {
	return Sample{AtLeast: max(0, effect.From.Sub(cause.To)), AtMost: max(0, effect.To.Sub(cause.From))}
}

// Mark is one event that readings wait for, such as a node's entry in its pool.
type Mark struct {
	seen   bool
	absent time.Time // start of the last reading without it
	window Window
	lost   int
}

// Note records one reading. Until a mark is seen, its window begins at the last reading without it.
func (m *Mark) Note(present bool, read Window) {
	switch {
	case present && !m.seen:
		m.seen = true
		m.window = Window{From: m.absent, To: read.To}
	case !present && !m.seen:
		m.absent = read.From
	case !present:
		m.lost++
	}
}

// Seen reports whether any reading had it.
func (m *Mark) Seen() bool { return m.seen }

// Window returns the span in which the mark came about.
func (m *Mark) Window() Window { return m.window }

// Lost returns how many readings lacked the mark after a reading that had it.
func (m *Mark) Lost() int { return m.lost }

// Since is the delay from a cause to the mark. Without a reading that lacked it, the lower bound is 0.
func (m *Mark) Since(cause Window) Sample {
	w := m.window
	if w.From.IsZero() {
		w.From = cause.From
	}
	return Between(cause, w)
}

// After is the delay from another mark, which came first.
func (m *Mark) After(first *Mark) Sample {
	cause := first.window
	if cause.From.IsZero() {
		cause.From = cause.To
	}
	return m.Since(cause)
}

// Until calls look until it returns true, an error, or the context ends. The pauses grow with the time that has passed: early moments are
// measured finely, late ones cost few requests.
func Until(ctx context.Context, look func(context.Context) (bool, error)) error {
	start := time.Now()
	for {
		done, err := look(ctx)
		if done || err != nil {
			return err
		}
		pause := min(max(time.Since(start)/share, shortest), longest)
		if err := Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// Pause waits, or returns the context's error.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
