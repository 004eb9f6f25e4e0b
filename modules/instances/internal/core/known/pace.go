package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Pace bounds creations: no window contains more than limit of them. A request counts
// from when it may be sent until one window after its answer, so that unequal delays on
// the way cannot put the requests of two windows into one.
type Pace struct {
	limit    int
	inFlight int
	answered []time.Time // oldest first, of the last window
	// Blocked is until when nothing is sent, after a 429.
	Blocked time.Time
}

// Slot returns the time from which the next creation may be sent. The zero time means
// after the next answer.
func (p *Pace) Slot(now time.Time) time.Time {
	p.expire(now)
	if now.Before(p.Blocked) {
		return p.Blocked
	}
	if p.inFlight+len(p.answered) < p.limit {
		return now
	}
	if len(p.answered) == 0 {
		return time.Time{}
	}
	return p.answered[0].Add(tuning.CreationWindow)
}

// SlotOf estimates the wait of the claimant at a position, with the next slot known.
func (p *Pace) SlotOf(position int, next, now time.Time) time.Duration {
	windows := (position - 1) / p.limit
	return next.Sub(now) + time.Duration(windows)*tuning.CreationWindow
}

func (p *Pace) expire(now time.Time) {
	for len(p.answered) > 0 && !p.answered[0].Add(tuning.CreationWindow).After(now) {
		p.answered = p.answered[1:]
	}
}

// send and done enclose each creation. One that was not sent counts for nothing.
func (p *Pace) send() { p.inFlight++ }

func (p *Pace) done(now time.Time, sent bool) {
	p.inFlight--
	if sent {
		p.answered = append(p.answered, now)
	}
}

// block stops creations for a while.
func (p *Pace) block(until time.Time) {
	if until.After(p.Blocked) {
		p.Blocked = until
	}
}
