package instances

import (
	"slices"
	"time"
)

// queue paces creations: no window contains more than limit of them, and claimants
// are served in the order of their arrival. A request counts from when it may be sent
// until one window after its answer, so that unequal delays on the way cannot put the
// requests of two windows into one.
type queue struct {
	limit    int
	inFlight int
	answered []time.Time   // oldest first, of the last window
	blocked  time.Time     // until then nothing is sent, after a 429
	waiting  []*claimState // in the order of their arrival
}

// join appends a claimant, unless it has a position.
func (q *queue) join(cl *claimState) {
	if !cl.queued {
		cl.queued = true
		q.waiting = append(q.waiting, cl)
	}
}

func (q *queue) leave(cl *claimState) {
	if cl.queued {
		cl.queued = false
		q.waiting = slices.DeleteFunc(q.waiting, func(w *claimState) bool { return w == cl })
	}
}

// slot returns the time from which the next creation may be sent. The zero time means
// after the next answer.
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

// turn reports whether the claimant is the first that can send a creation now.
func (q *queue) turn(cl *claimState) bool {
	for _, other := range q.waiting {
		if other.callers > 0 && !other.busy && !other.resolving() {
			return other == cl
		}
	}
	return false
}

// position returns the claimant's position, 1 for the first, and the number waiting.
func (q *queue) position(cl *claimState) (at, of int) {
	return slices.Index(q.waiting, cl) + 1, len(q.waiting)
}

// send and done enclose each creation. One that was not sent counts for nothing.
func (q *queue) send() { q.inFlight++ }

func (q *queue) done(now time.Time, sent bool) {
	q.inFlight--
	if sent {
		q.answered = append(q.answered, now)
	}
}

// block stops creations for a while.
func (q *queue) block(until time.Time) {
	if until.After(q.blocked) {
		q.blocked = until
	}
}
