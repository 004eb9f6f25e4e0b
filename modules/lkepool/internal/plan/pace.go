package plan

import "time"

// Pace decides how long to pause between two looks at capacity that is on its
// way. Pauses grow while nothing arrives. Once nodes trickle in, their rate
// tells when the last may be expected, and looks are spread over that time. The
// zero value is ready.
type Pace struct {
	// asked is when the capacity was asked for, or first seen to be pending.
	asked time.Time
	// at and pending are the last look.
	at      time.Time
	pending int
	pause   time.Duration
	// flowing: some have arrived.
	flowing bool
}

const (
	growth       = 2
	longestPause = 15 * time.Second
)

// Restart forgets what was seen: more capacity was asked for.
func (p *Pace) Restart() { *p = Pace{} }

// Next returns the pause after a look that found so many nodes pending. first
// is the shortest first pause.
func (p *Pace) Next(now time.Time, pending int, first time.Duration) time.Duration {
	previous := *p
	if p.asked.IsZero() || pending > p.pending {
		*p = Pace{asked: now, at: now, pending: pending, pause: first}
		return first
	}
	p.at, p.pending = now, pending
	elapsed := now.Sub(p.asked)
	arrived, took := previous.pending-pending, now.Sub(previous.at)
	switch {
	case pending == 0 || took <= 0:
		p.pause = first
		return p.pause
	case arrived <= 0:
		p.pause = min(max(first, previous.pause*growth), longestPause)
		if p.flowing {
			// The last ones are late, but hardly by much.
			p.pause = min(p.pause, max(first/2, elapsed/8))
		}
		return p.pause
	}
	p.flowing = true
	// The first look that finds any cannot tell when they began to come, so the
	// rate is not trusted beyond half of the time that has passed.
	remaining := time.Duration(float64(took) * float64(pending) / float64(arrived))
	shortest, longest := max(first/4, elapsed/12), min(max(first/2, elapsed/2), longestPause)
	p.pause = min(max(shortest, remaining*6/10), longest)
	return p.pause
}
