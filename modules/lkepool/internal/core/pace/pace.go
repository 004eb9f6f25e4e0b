// Package pace decides how long to pause between two looks for nodes that are on their way. Package known calls it. It has no clock.
package pace

import "time"

// Pace decides how long to pause between two looks at capacity that is on its
// way. Pauses grow while nothing arrives. Once nodes arrive one after another,
// their rate shows when the last node may be expected, and looks are spread over
// that time. The zero value is ready.
type Pace struct {
	// asked is when the capacity was requested, or first seen to be pending.
	asked time.Time
	// at is when the last look was, and pending how many nodes it found pending. most is the largest such number.
	at            time.Time
	pending, most int
	pause         time.Duration
	// flowing: some nodes have arrived.
	flowing bool
	// Dense: a look costs little, so more of them are taken while nodes arrive.
	Dense bool
	// Few is the largest number of nodes for which the pause is Near, or a tenth
	// of the time that has passed if that is longer. Few nodes arrive soon, so
	// that the looks are few, too.
	Few  int
	Near time.Duration
}

const longestPause = 20 * time.Second

// Restart forgets what was seen: more capacity was requested.
func (p *Pace) Restart() { *p = Pace{Dense: p.Dense, Few: p.Few, Near: p.Near} }

// wave is how long after the first purchase further purchases share its looks.
const wave = 10 * time.Second

// Grow notes that more capacity was requested.
func (p *Pace) Grow(now time.Time) {
	if now.Sub(p.asked) > wave {
		p.Restart()
	}
}

// Again returns the pause after a look that was cancelled, counted from the look's beginning.
func (p *Pace) Again() time.Duration { return p.pause / 4 }

// Next returns the pause after a look that found this number of nodes pending.
// first is the shortest first pause.
func (p *Pace) Next(now time.Time, pending int, first time.Duration) time.Duration {
	previous := *p
	if p.asked.IsZero() || pending > p.pending && now.Sub(p.asked) > wave {
		p.Restart()
		p.asked, p.at, p.pending, p.most, p.pause = now, now, pending, pending, first
		if pending <= p.Few || !p.Dense { // few nodes, or a list for each look
			p.pause = p.Near
		}
		return p.pause
	}
	p.at, p.pending, p.most = now, pending, max(p.most, pending)
	elapsed := now.Sub(p.asked)
	if p.most <= p.Few {
		p.pause = min(max(p.Near, elapsed/10), longestPause)
		return p.pause
	}
	arrived, took := previous.pending-pending, now.Sub(previous.at)
	switch {
	case pending == 0 || took <= 0:
		p.pause = first
		return p.pause
	case arrived <= 0:
		// The pause depends on the time that has passed and not on the number of
		// looks, because looks for other purchases come in between.
		p.pause = min(elapsed+elapsed/2+first, longestPause)
		if p.flowing {
			// The last nodes are late, but probably not by much.
			p.pause = min(p.pause, p.late(first, elapsed))
		}
		return p.pause
	}
	p.flowing = true
	// The first look that finds new nodes does not show when they began to come,
	// so the pause is at most two thirds of the time that has passed.
	remaining := time.Duration(float64(took) * float64(pending) / float64(arrived))
	shortest, longest := max(first/4, elapsed/10), min(max(first/2, elapsed*2/3), longestPause)
	share := remaining * 8 / 10
	if p.Dense {
		shortest, longest, share = max(first/8, elapsed/24), longest/2, remaining*5/10
	}
	p.pause = min(max(shortest, share), longest)
	return p.pause
}

// late is the longest pause when the last nodes are late.
func (p *Pace) late(first, elapsed time.Duration) time.Duration {
	if p.Dense {
		return max(first/8, elapsed/24)
	}
	return max(first/2, elapsed/10)
}
