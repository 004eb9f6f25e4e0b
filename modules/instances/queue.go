package instances

import (
	"slices"
	"time"
)

// queue paces creations: in no window are more than limit under way or
// answered, and claimants are served in the order of their arrival. A request
// counts from when it may be sent until one window after its answer, so that
// unequal delays on the way cannot put two windows' worth into one.
type queue struct {
	limit    int
	inFlight int
	answered []time.Time // oldest first, of the last window
	blocked  time.Time   // until then nothing is sent, after a 429
	waiting  []*claim    // in the order of their arrival
}

// join gives a claimant a position, unless it has one.
func (q *queue) join(cl *claim) {
	if !cl.queued {
		cl.queued = true
		q.waiting = append(q.waiting, cl)
	}
}

func (q *queue) leave(cl *claim) {
	if cl.queued {
		cl.queued = false
		q.waiting = slices.DeleteFunc(q.waiting, func(w *claim) bool { return w == cl })
	}
}

// slot returns when the next creation may be sent: now or earlier means that one
// may. The zero time means after the next answer.
func (q *queue) slot(now time.Time) time.Time {
	q.expire(now)
	if now.Before(q.blocked) {
		return q.blocked
	}
	if q.inFlight+len(q.answered) < q.limit {
		return now
	}
	if len(q.answered) == 0 {
		return time.Time{}
	}
	return q.answered[0].Add(creationWindow)
}

func (q *queue) expire(now time.Time) {
	for len(q.answered) > 0 && !q.answered[0].Add(creationWindow).After(now) {
		q.answered = q.answered[1:]
	}
	for _, cl := range slices.Clone(q.waiting) {
		if cl.callers == 0 && now.Sub(cl.left) > positionKept {
			q.leave(cl)
		}
	}
}

// turn reports whether the claimant is the first of those that would send a
// creation now.
func (q *queue) turn(cl *claim) bool {
	for _, other := range q.waiting {
		if other.callers > 0 && !other.busy && !other.resolving() {
			return other == cl
		}
	}
	return false
}

// position is 1 for the first, and how many wait.
func (q *queue) position(cl *claim) (at, of int) {
	return slices.Index(q.waiting, cl) + 1, len(q.waiting)
}

// send and done are around each creation.
func (q *queue) send() { q.inFlight++ }

func (q *queue) done(now time.Time) {
	q.inFlight--
	q.answered = append(q.answered, now)
}

// block stops creations for a while.
func (q *queue) block(until time.Time) {
	if until.After(q.blocked) {
		q.blocked = until
	}
}
