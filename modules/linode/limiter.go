package linode

import (
	"container/list"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// limiter keeps the requests of one rate class within a limit: the server never counts more requests in one window than
// the limit. A token bucket with a burst cannot promise that, because a full burst and a refill fit into one window. This
// limiter counts a request from the moment it may be sent until one window after its answer, so bursts and unequal delays
// on the network cannot move the requests of two windows into one. Example with a window of one minute: a request that is
// sent at 10:00:00 and answered at 10:00:05 counts until 10:01:05.
//
// Waiting requests are served in the order of their arrival. Each class has its own limiter, so many lists do not delay a
// delete.
type limiter struct {
	documented int
	window     time.Duration

	mu       sync.Mutex
	inFlight int
	done     []time.Time // when answers of the last window came, oldest first
	queue    list.List   // of chan struct{}: waiting requests; only the first one waits for the clock

	announced    int       // smaller limit that the server announced; 0 for none
	remaining    int       // requests that the server still allows until budgetEnd: the smallest X-RateLimit-Remaining, counted down
	budgetEnd    time.Time // zero when the server named no end, or the end has passed
	blockedUntil time.Time // end of the pause after a 429
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

// noRoom is the error of a request whose wait for the limit would outlast its context's deadline.
type noRoom struct{ wait time.Duration }

func (e noRoom) Error() string {
	wait := max(e.wait.Round(time.Second), time.Second)
	return fmt.Sprintf("rate limited: the next request may be sent in %s, after the context's deadline", wait)
}

// acquire waits until a request may be sent and returns the time that it waited. Every success needs one release or
// cancel. It fails at once when the wait would outlast the context's deadline.
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
		if first && delay > 0 { // a negative delay ends with an answer; release then wakes the first request of the queue
			clock = time.After(delay)
		}
		if err := l.wait(ctx, turn, clock); err != nil {
			return time.Since(start), err
		}
	}
}

// wait releases the lock until the request is woken, the clock fires or the context ends.
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

// delay returns 0 when a request may be sent now, and else the time until it may be sent. -1 means that an answer must
// come first.
func (l *limiter) delay(now time.Time) time.Duration {
	l.expire(now)
	if now.Before(l.blockedUntil) {
		return l.blockedUntil.Sub(now)
	}
	// The server may not have counted the requests on their way, so they may be all that remains.
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

// limit is the documented limit, or less when the server announced less or answered 429.
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
		l.remaining-- // the answer that set remaining may not have counted this request
	}
	if f.limited {
		l.backOff(now, f.wait)
	}
	l.wake()
}

// learnBudget keeps the smallest X-RateLimit-Remaining of a window: answers overtake each other, and other programs may
// use the token.
func (l *limiter) learnBudget(now time.Time, f feedback) {
	if l.budgetEnd.IsZero() || f.remaining < l.remaining {
		l.remaining, l.budgetEnd = f.remaining, now.Add(min(f.reset, l.window))
	}
}

// mostHalvings keeps at least a sixteenth of the limit, however many 429s came. With a limit of 1, each of the first
// requests after the 429s would wait for a whole window.
const mostHalvings = 4

// backOff holds the class back after a 429 and halves its limit for the next windows. The 429s of one burst halve it once.
// The random part keeps processes that share a token from waking at the same moment.
//
// The pause lasts at most one window (and the random part). A longer Retry-After concerns the refused request alone: its
// caller gets it in Error.RetryAfter, and the other requests of the class do not wait for it.
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
