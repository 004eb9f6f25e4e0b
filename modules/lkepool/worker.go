package lkepool

import (
	"context"
	"time"
)

// work serves a queue until it is empty.
func (a *Allocator) work(q *queue) {
	for {
		ctx, due, ok := a.attend(q)
		if !ok {
			return
		}
		if a.wait(ctx, q, due) {
			a.turn(ctx, q)
		}
	}
}

// attend returns when the next turn is due, or false for an empty queue, whose
// worker ends with that.
func (a *Allocator) attend(q *queue) (context.Context, time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(q.waiters) == 0 && len(q.removals) == 0 {
		q.running = false
		q.cancel()
		return nil, time.Time{}, false
	}
	due := a.claimsDueLocked(q)
	for _, r := range q.removals {
		due = earlier(due, r.joined.Add(gather))
	}
	return q.ctx, due, true
}

// wait returns true when the turn is due, and false when the queue changed.
func (a *Allocator) wait(ctx context.Context, q *queue, due time.Time) bool {
	pause := due.Sub(a.cfg.Clock.Now())
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := a.cfg.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-q.wake:
		return false
	case <-ctx.Done():
		return false
	}
}

// claimsDueLocked returns when the next pass for claimants is due, the zero
// time if nobody waits.
//
// A newcomer hastens the next pass only when what is known to be free or on its
// way does not suffice for everybody: otherwise a crowd that comes one by one,
// or comes back again and again, would turn every arrival into API calls.
func (a *Allocator) claimsDueLocked(q *queue) time.Time {
	if len(q.waiters) == 0 {
		return time.Time{}
	}
	due := q.next
	now := a.cfg.Clock.Now()
	suffices := len(q.waiters) <= q.spare && now.Sub(q.ended) < time.Minute
	for _, w := range q.waiters {
		if w.seen {
			continue
		}
		soon := later(w.joined.Add(gather), q.ended.Add(a.cfg.RetryDelay))
		if suffices {
			soon = later(soon, w.joined.Add(patience(w)))
			if _, back := q.unmet[w.claim]; back {
				// It was counted when it was here last.
				soon = later(soon, q.next)
			}
		}
		if due.IsZero() || soon.Before(due) {
			due = soon
		}
	}
	if due.IsZero() {
		due = now
	}
	if q.offer.began.IsZero() {
		due = later(due, a.lastLook.Add(a.crowdedLocked()))
	}
	return due
}

// patience is how long a newcomer may be left to the next regular look: so long
// that at least one falls into its time.
func patience(w *waiter) time.Duration {
	const usual = 5 * time.Second
	if w.deadline.IsZero() {
		return usual
	}
	return max(0, min(usual, w.deadline.Sub(w.joined)/2))
}

// turn does what is due, under the key's lock.
func (a *Allocator) turn(ctx context.Context, q *queue) {
	unlock, err := a.keys.Lock(ctx, q.hash)
	if err != nil {
		return
	}
	defer unlock()
	a.mu.Lock()
	due := a.claimsDueLocked(q)
	a.mu.Unlock()
	if !due.IsZero() && !due.After(a.cfg.Clock.Now()) {
		a.passToItsEnd(ctx, q)
	}
	if ctx.Err() == nil {
		a.dismiss(ctx, q)
	}
}

// longestPass bounds a pass that nobody waits for any more.
const longestPass = 30 * time.Second

// passToItsEnd runs a pass whose reads go on when the last claimant leaves: it
// will be back in a second, and a read that was cancelled has to be sent again.
func (a *Allocator) passToItsEnd(ctx context.Context, q *queue) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestPass)
	defer cancel()
	a.pass(ctx, q)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
