package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// pace bounds creations: no window contains more than limit creations. A request counts from when it may be sent until one window after
// its answer, so that unequal delays on the way cannot put the requests of two windows into one.
type pace struct {
	limit    int
	inFlight int
	answered []time.Time // oldest first
	// blocked is the time until which no creation is sent, after a 429.
	blocked time.Time
}

// recent returns the answers of the last window.
func (p *pace) recent(now time.Time) []time.Time {
	for n, at := range p.answered {
		if at.Add(tuning.CreationWindow).After(now) {
			return p.answered[n:]
		}
	}
	return nil
}

func (p *pace) expire(now time.Time) { p.answered = p.recent(now) }

// slot returns the time from which the next creation may be sent. The zero time means after the next answer.
func (p *pace) slot(now time.Time) time.Time {
	recent := p.recent(now)
	switch {
	case now.Before(p.blocked):
		return p.blocked
	case p.inFlight+len(recent) < p.limit:
		return now
	case len(recent) == 0:
		return time.Time{}
	}
	return recent[0].Add(tuning.CreationWindow)
}

// send and done enclose each creation. A creation that was not sent does not count.
func (p *pace) send() { p.inFlight++ }

func (p *pace) done(now time.Time, sent bool) {
	p.inFlight--
	p.expire(now)
	if sent {
		p.answered = append(p.answered, now)
	}
}

// block stops creations for a while.
func (p *pace) block(until time.Time) {
	if until.After(p.blocked) {
		p.blocked = until
	}
}
