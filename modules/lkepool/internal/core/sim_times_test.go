package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// simTimes are how long claimants waited for their instances, as multiples of what the platform takes at most.
type simTimes struct{ calm, faults, after []float64 }

func (t *simTimes) add(other simTimes) {
	t.calm, t.faults, t.after = append(t.calm, other.calm...), append(t.faults, other.faults...), append(t.after, other.after...)
}

// String is the distribution of each.
func (t *simTimes) String() string {
	var b strings.Builder
	for _, of := range []struct {
		name  string
		times []float64
	}{{"in calm", t.calm}, {"under faults", t.faults}, {"in calm after faults", t.after}} {
		if n := len(of.times); n > 0 {
			slices.Sort(of.times)
			fmt.Fprintf(&b, "\n%d served %s: median %.2f, p99 %.2f, worst %.2f times what the platform takes at most", n, of.name,
				of.times[n/2], of.times[n*99/100], of.times[n-1])
		}
	}
	return b.String()
}

// platformTime is how long the platform takes at most from a purchase until the instance is shown. Arrivals are seen in lists on
// Enterprise, and elsewhere if several keys wait; and lists lag.
func (s *sim) platformTime() time.Duration {
	w := s.plan.world
	platform := w.idMost + 6*w.latency + w.lag
	if s.enterprise {
		platform += s.delays.tagged
	}
	return platform
}

// allowedTime is I10's bound: 1.15 times what the platform takes, and 2 s; a second more where lists are read, because lists are read less
// often than pools.
func (s *sim) allowedTime() time.Duration {
	bound := s.platformTime()*115/100 + 2*time.Second
	if s.enterprise || s.keys() > tuning.DirectPolls {
		bound += time.Second
	}
	return bound
}

// checkTimes is I10: without faults each claimant that waited all the time was served within the bound. A new process first waits until it
// can trust what it reads.
func (s *sim) checkTimes() {
	for _, c := range s.claimants {
		from := max(c.first, s.process.began+s.plan.settle()+2*s.plan.world.latency)
		if c.handed == 0 {
			continue
		}
		took := float64(c.served-c.first) / float64(s.platformTime())
		if !s.plan.calm {
			s.facts.times.faults = append(s.facts.times.faults, took)
			continue
		}
		s.facts.times.calm = append(s.facts.times.calm, took)
		// Claimants are served in the order of their first calls, so each that comes back takes the node that this one was waiting for.
		bound := s.allowedTime() + time.Duration(s.returned(c))*s.platformTime()
		if !c.leftIt && c.served-from > bound {
			s.fail("I10: %s was served after %s, and at most %s are allowed", c.Name, c.served-from, bound)
		}
	}
}

// checkRate is I12: a burst of trouble costs at most 60 requests a minute, counted over two minutes, and 3 for each caller besides, of the
// ones that came or waited meanwhile. And no request is repeated without a pause.
func (s *sim) checkRate(a Action) {
	f := &s.facts
	if at := s.Now / (2 * time.Minute); at != f.minutes {
		f.minutes, f.inMinutes, f.callers = at, 0, s.tokens-len(s.waiting)
	}
	f.inMinutes++
	besides := 3 * (s.tokens - f.callers)
	f.busiest = max(f.busiest, f.inMinutes-besides)
	most := 120 + besides
	if least := 2 * time.Second; s.plan.settle() < least || s.plan.latest() < least {
		most += 60 // what readings contradict is repeated after SettleTime, a count without effect after LateEffect: a user may set both
	}
	if f.inMinutes > most {
		s.fail("I12: %d requests in two minutes, and at most %d are allowed", f.inMinutes, most)
	}
	const span, repeats = 10 * time.Second, 15
	target := fmt.Sprint(a.Op, a.PoolID, a.InstanceID, a.NodeID)
	if a.Op == OpCreate {
		return // each of its own key
	}
	if f.repeats == nil || s.Now/span != f.spans {
		f.spans, f.repeats = s.Now/span, map[string]int{}
	}
	if f.repeats[target]++; f.repeats[target] > repeats {
		s.fail("I12: %d times in ten seconds: %s", f.repeats[target], s.describeAction(a))
	}
}

// serveOneMore is I10 in calm after faults: when all is at rest, and nothing goes wrong any more, one more claimant is served within the
// bound. Reads are as old as before, so that a look before a write may cost the settle time. A key that has no room, that its user edited,
// or whose nodes did not join, waits for other reasons.
func (s *sim) serveOneMore() {
	w := s.plan.world
	if s.plan.calm || w.room > 0 || s.plan.maxNodes > 0 || s.plan.maxPrice > 0 || s.facts.unjoined || s.process.core == nil {
		return
	}
	s.fates = nil
	c := s.arrives(len(s.claimants), simLife{patience: simPatience, again: time.Second})
	from, bound := s.Now, s.allowedTime()+s.plan.settle()
	if s.tooEdited(c) {
		s.quit(c)
		return
	}
	for c.handed == 0 && s.failure == "" && s.Now < from+bound+time.Minute {
		s.runUntil(s.Now + time.Second)
	}
	s.facts.times.after = append(s.facts.times.after, float64(max(c.served-from, 0))/float64(s.platformTime()))
	if took := c.served - from; s.failure == "" && (c.handed == 0 || took > bound) {
		s.fail("I10: in calm after faults %s was served after %s, and at most %s are allowed", c.Name, took, bound)
	}
}

// keys counts the keys that claimants request.
func (s *sim) keys() int {
	keys := map[int]bool{}
	for _, life := range s.plan.lives {
		keys[life.key] = true
	}
	return len(keys)
}

// returned counts the claimants of the same key that called before this one, left, and came
// back before it was served.
func (s *sim) returned(c *simClaimant) int {
	n := 0
	for _, other := range s.claimants {
		if other.leftIt && other.life.key == c.life.key && other.first < c.first {
			n++
		}
	}
	return n
}
