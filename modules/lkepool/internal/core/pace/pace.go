// Package pace decides how long to pause between two looks for nodes that are on their way. Package known calls it. It has no clock.
package pace

import "time"

// Pace decides how long to pause between two looks at capacity that is on its way. It looks often for the first seconds, in which most
// nodes come, and around the time at which the last nodes came. In between, pauses grow. Once nodes arrive one after another, their rate
// shows when the last node may be expected, and looks are spread over that time. The zero value is ready.
type Pace struct {
	Settings
	// bought is when the capacity was requested, and asked when the first look for it was.
	bought, asked time.Time
	// at is when the last look was, and pending how many nodes it found pending. most is the largest such number.
	at            time.Time
	pending, most int
	pause         time.Duration
	// flowing: some nodes have arrived.
	flowing bool
}

// Settings are what the caller knows of the looks and of the platform. They may change between two looks.
type Settings struct {
	// Dense: a look costs little, so more of them are taken while nodes arrive.
	Dense bool
	// Few is the largest number of nodes for which the pause is Near, or a tenth
	// of the time that has passed if that is longer. Few nodes arrive soon, so
	// that the looks are few, too.
	Few  int
	Near time.Duration
	// Soon is for how long looks are Near to each other while it is unknown how long nodes take.
	Soon time.Duration
	// Due is how long after the purchase looks showed none of the last nodes. Measured: it is known.
	Due      time.Duration
	Measured bool
}

const longestPause = 20 * time.Second

// restart forgets what was seen: more capacity was requested.
func (p *Pace) restart() { *p = Pace{Settings: p.Settings} }

// wave is how long after the first look for a purchase further purchases share its looks.
const wave = 10 * time.Second

// Grow notes that more capacity was requested.
func (p *Pace) Grow(now time.Time) {
	if now.Sub(p.asked) > wave {
		p.restart()
		p.bought = now
	}
}

// Last is when the last look was.
func (p *Pace) Last() time.Time { return p.at }

// Again returns the pause after a look that was cancelled, counted from the look's beginning.
func (p *Pace) Again() time.Duration { return p.pause / 4 }

// Next returns the pause after a look that found this number of nodes pending.
// first is the shortest first pause.
func (p *Pace) Next(now time.Time, pending int, first time.Duration) time.Duration {
	if pending > p.pending && !p.asked.IsZero() && now.Sub(p.asked) > wave {
		p.restart() // for nodes that no purchase of this process brings
	}
	if p.asked.IsZero() {
		p.asked = now
	}
	if p.bought.IsZero() {
		p.bought = now
	}
	previous := *p
	p.at, p.pending, p.most = now, pending, max(p.most, pending)
	p.pause = p.next(previous, now.Sub(p.asked), first)
	return p.pause
}

// next returns the pause after a look. elapsed is the time since the first look, and previous the state before this look.
func (p *Pace) next(previous Pace, elapsed, first time.Duration) time.Duration {
	arrived, took := previous.pending-p.pending, p.at.Sub(previous.at)
	switch {
	case p.most <= p.Few:
		return min(max(p.Near, elapsed/10), longestPause)
	case p.pending == 0 || took <= 0:
		return first
	case previous.at.IsZero() || arrived <= 0 && !p.flowing:
		return p.waiting(p.at.Sub(p.bought), elapsed, first)
	case arrived <= 0:
		// The last nodes are late, but probably not by much.
		return min(p.late(first, elapsed), longestPause)
	}
	p.flowing = true
	// The first look that finds new nodes does not show when they began to come,
	// so the pause is at most two thirds of the time that has passed.
	remaining := time.Duration(float64(took) * float64(p.pending) / float64(arrived))
	shortest, longest := max(first/4, elapsed/10), min(max(first/2, elapsed*2/3), longestPause)
	share := remaining * 8 / 10
	if p.Dense {
		shortest, longest, share = max(first/8, elapsed/24), longest/2, remaining*5/10
	}
	return min(max(shortest, share), longest)
}

// waiting is the pause while no node has arrived, after so much time since the purchase and since the first look. It does not depend on the
// number of looks, because looks for other purchases come in between. Example: looks 50 s after their purchases showed none of the last
// nodes. Now looks are 1, 3.5 and 9.8 s after the purchase, in case that the platform has become faster, then after 50 s, and after each
// further 15% of the time.
func (p *Pace) waiting(since, looked, first time.Duration) time.Duration {
	switch {
	case p.Measured && since >= p.Due:
		return min(max(p.Near, since*3/20), longestPause)
	case p.Measured && since+seldom(since, first) > p.Due/2:
		return p.Due - since
	case p.Measured:
		return seldom(since, first)
	case since < p.Soon:
		return p.Near
	case p.Dense:
		return min(since*2/3, longestPause)
	}
	return seldom(looked, first)
}

// seldom is the pause of few looks: each comes after two and a half times the time of the look before it.
func seldom(elapsed, first time.Duration) time.Duration {
	return min(elapsed+elapsed/2+first, longestPause)
}

// late is the longest pause when the last nodes are late.
func (p *Pace) late(first, elapsed time.Duration) time.Duration {
	if p.Dense {
		return max(first/8, elapsed/24)
	}
	return max(first/2, elapsed/10)
}
