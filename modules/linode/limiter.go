package linode

import (
	"container/list"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// limiter keeps the requests of one rate class within a limit: no window of the given length, as the server counts it,
// holds more requests than the limit. A token bucket with a burst cannot promise that, because a full burst and a refill
// fit into one window. This limiter counts a request from the moment it may be sent until one window after its answer, so
// bursts and unequal delays on the way cannot put the requests of two windows into one.
//
// Waiting requests are served in the order of their arrival. Each class has its own limiter, so many lists do not
// delay a delete.
type limiter struct {
	documented int
	window     time.Duration

	mu       sync.Mutex
	inFlight int
	done     []time.Time // when answers of the last window came, oldest first
	queue    list.List   // of chan struct{}: waiting requests, the first one watches the clock

	announced    int       // smaller limit that the server announced; 0 for none
	remaining    int       // the least that the server had left in an answer of its window, which ends at budgetEnd
	budgetEnd    time.Time // zero when the server gave none, or the time has passed
	blockedUntil time.Time // after a 429
	halvings     int       // how often the limit is halved, after 429s
	recovery     time.Time // when the halvings end: after the first window without a 429
}

// feedback contains what an answer reports about the limit.
type feedback struct {
	limited   bool          // 429
	wait      time.Duration // pause required by the server after a 429
	limit     int           // X-RateLimit-Limit, 0 when missing
	remaining int           // X-RateLimit-Remaining, -1 when missing
	reset     time.Duration // time until X-RateLimit-Reset, 0 when missing
}

func newLimiters() map[api.RateClass]*limiter {
	limiters := map[api.RateClass]*limiter{}
	for _, operation := range api.Operations() {
		if limit, ok := api.DocumentedRateLimit(operation.Class); ok && limiters[operation.Class] == nil {
			limiters[operation.Class] = &limiter{documented: limit.Requests, window: limit.Per}
		}
	}
	return limiters
}

// noRoom is the error of a request that would have to wait for the limit longer than its context lasts.
type noRoom struct{ wait time.Duration }

func (e noRoom) Error() string {
	return "rate limited: next slot in " + max(e.wait.Round(time.Second), time.Second).String() + ", after the deadline"
}

// acquire waits until a request may be sent and returns how long that took. Every success needs one release. It fails
// at once when the wait would outlast the context's deadline.
func (l *limiter) acquire(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	start := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.Len() == 0 && l.delay(start) == 0 {
		l.take()
		return 0, nil
	}
	turn := make(chan struct{}, 1)
	element := l.queue.PushBack(turn)
	defer l.leave(element)
	for {
		first, delay := l.queue.Front() == element, l.delay(time.Now())
		if deadline, ok := ctx.Deadline(); ok && delay > 0 && time.Until(deadline) < delay {
			return time.Since(start), noRoom{delay}
		}
		if first && delay == 0 {
			l.take()
			return time.Since(start), nil
		}
		var clock <-chan time.Time
		if first && delay > 0 { // below 0 only an answer can make room, and release wakes the first in the queue
			clock = time.After(delay)
		}
		if err := l.wait(ctx, turn, clock); err != nil {
			return time.Since(start), err
		}
	}
}

// wait gives the lock back until it is the request's turn to look again.
func (l *limiter) wait(ctx context.Context, turn <-chan struct{}, clock <-chan time.Time) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-turn:
	case <-clock:
	}
	return nil
}

// leave takes a waiting request out of the queue, and wakes the request that is first now.
func (l *limiter) leave(element *list.Element) {
	l.queue.Remove(element)
	l.wake()
}

func (l *limiter) wake() {
	if first := l.queue.Front(); first != nil {
		select {
		case first.Value.(chan struct{}) <- struct{}{}:
		default:
		}
	}
}

func (l *limiter) take() { l.inFlight++ }

// delay returns 0 when a request may be sent now, how long to wait for the clock, or -1 when an answer must come first.
func (l *limiter) delay(now time.Time) time.Duration {
	l.expire(now)
	if now.Before(l.blockedUntil) {
		return l.blockedUntil.Sub(now)
	}
	// All that the server has not counted yet is among the requests on their way.
	if !l.budgetEnd.IsZero() && l.remaining <= l.inFlight {
		return l.budgetEnd.Sub(now)
	}
	if l.inFlight+len(l.done) < l.limit() {
		return 0
	}
	if len(l.done) == 0 {
		return -1
	}
	return l.done[0].Add(l.window).Sub(now)
}

// limit is the documented one, or less when the server announced less or answered 429.
func (l *limiter) limit() int {
	limit := l.documented
	if l.announced > 0 && l.announced < limit {
		limit = l.announced
	}
	return max(1, limit>>l.halvings)
}

func (l *limiter) expire(now time.Time) {
	for len(l.done) > 0 && !l.done[0].Add(l.window).After(now) {
		l.done = l.done[1:]
	}
	if !l.budgetEnd.IsZero() && !now.Before(l.budgetEnd) {
		l.remaining, l.budgetEnd = 0, time.Time{}
	}
	if l.halvings > 0 && !now.Before(l.recovery) {
		l.halvings = 0
	}
}

// release ends a request that acquire let pass, and learns from its answer.
func (l *limiter) release(f feedback) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.expire(now)
	l.inFlight--
	l.done = append(l.done, now)
	if f.limit > 0 {
		l.announced = f.limit
	}
	switch {
	case f.remaining >= 0 && f.reset > 0:
		l.learnBudget(now, f)
	case !l.budgetEnd.IsZero():
		l.remaining-- // the server may have counted it after the answer with the least
	}
	if f.limited {
		l.backOff(now, f.wait)
	}
	l.wake()
}

// learnBudget keeps the smallest figure of a window: answers overtake each other, and others may use the same token.
func (l *limiter) learnBudget(now time.Time, f feedback) {
	if l.budgetEnd.IsZero() || f.remaining < l.remaining {
		l.remaining, l.budgetEnd = f.remaining, now.Add(min(f.reset, l.window))
	}
}

// mostHalvings keeps a sixteenth of the limit after a long storm: with less, the first requests after its end would
// wait for a window each.
const mostHalvings = 4

// backOff holds the class back after a 429 and halves its limit for the next windows, once for the 429s of one burst.
// The random part keeps processes that share a token from waking at the same moment.
//
// It lasts one window at most: a longer wish concerns the request that was refused, whose caller learns of it, and not
// all others of the class.
func (l *limiter) backOff(now time.Time, wait time.Duration) {
	until := now.Add(spread(min(wait, l.window)))
	if now.Before(l.blockedUntil) {
		if until.After(l.blockedUntil) {
			l.blockedUntil = until
		}
		return
	}
	l.blockedUntil = until
	l.recovery = until.Add(l.window)
	if l.limit() > 1 && l.halvings < mostHalvings {
		l.halvings++
	}
}

// spread adds up to a fifth to a wait.
func spread(wait time.Duration) time.Duration {
	if wait <= 0 {
		return 0
	}
	return wait + rand.N(wait/5+1)
}

// cancel ends a request that acquire let pass and that was not sent.
func (l *limiter) cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.wake()
}
