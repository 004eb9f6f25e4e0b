package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

const (
	// simPatience is how long after the last fault everything has to be exact:
	// the longest pauses of the engine are for a node that never comes
	// (15 minutes) and of an instance wrongly taken for gone (10 minutes).
	simPatience = 40 * time.Minute
	// simQuiet is for how long calls are counted at rest.
	simQuiet = 4 * time.Minute
)

// live runs a schedule to its end.
func (s *sim) live() {
	s.lead()
	s.admit()
	s.sweeps()
	for _, step := range s.plan.steps {
		s.At(step.at, func() { s.take(step) })
	}
	for at := simChaos; s.failure == ""; at += 15 * time.Second {
		s.runUntil(at)
		unrest := s.unrest()
		if unrest == "" {
			break
		}
		if at > simChaos+simPatience {
			s.fail("%s, %s after the last fault", unrest, simPatience)
		}
	}
	s.facts.settled = s.Now
	calls, releases := s.facts.calls, s.facts.releases
	s.runUntil(s.Now + simQuiet)
	if rate := float64(s.facts.calls-calls) / simQuiet.Minutes(); rate > 10 && s.facts.releases == releases {
		s.fail("I8: %.1f calls a minute at rest", rate)
	}
	if s.failure == "" {
		if unrest := s.disorder(); unrest != "" {
			s.fail("after rest: %s", unrest)
		}
		s.checkBought()
		s.checkTimes()
		s.serveOneMore()
	}
}

// report is a caller's about a node that joined, or did not.
func (s *sim) report(kind simStepKind, key lkepool.Key) {
	switch {
	case s.process.core == nil:
	case kind == stepJoined:
		s.process.core.Joined(key)
	default:
		s.facts.unjoined = true
		s.process.core.Failed(key, s.local())
	}
}

func (s *sim) take(step simStep) {
	switch step.kind {
	case stepDeath:
		s.stop(step)
		return
	case stepUnjoined, stepJoined:
		s.report(step.kind, simKeys[step.pick%len(simKeys)])
		return
	}
	done := s.edit(step.edit, step.pick)
	s.note("by hand: %s (%d): %t", step.edit, step.pick, done)
	stripped := step.edit == editStripClaim || step.edit == editStripAll || step.edit == editCopyClaim
	if done && stripped && slices.ContainsFunc(s.claimants, func(c *simClaimant) bool { return c.alive && c.instance == 0 }) {
		// It may have been a claim that is in no record but its tag.
		s.taken++
	}
}

// unrest returns the differences from the state at rest, "" at rest: I3, and
// I10 without its times.
func (s *sim) unrest() string {
	if s.process.core == nil || len(s.inflight) > 0 || s.late > 0 {
		return "requests are under way"
	}
	for _, c := range s.claimants {
		if c.alive && c.instance != 0 && c.life.keeps > 0 {
			return fmt.Sprintf("I10: %s is not released", c.Name)
		}
	}
	return s.disorder()
}

// disorder is unrest apart from requests, which a sweep has now and then.
func (s *sim) disorder() string {
	for _, c := range s.claimants {
		i := s.instance(c.instance)
		switch {
		case !c.alive:
		case c.releasing:
			return fmt.Sprintf("I10: %s is not proven gone", c.Name)
		case i == nil && !s.tooEdited(c):
			return fmt.Sprintf("I10: %s has no node", c.Name)
		case i != nil && !i.lives():
			return fmt.Sprintf("I10: %s was not told that instance %d is gone", c.Name, i.ID)
		case i != nil && !i.slot.removed && !i.copied && s.tagged(i.Tags) != c:
			return fmt.Sprintf("rule 4: instance %d does not carry the claim of %s", i.ID, c.Name)
		}
	}
	for _, of := range s.pools {
		if of.foreign || of.gone {
			continue
		}
		if len(of.slots) == 0 {
			return fmt.Sprintf("I3: pool %d is empty", of.ID)
		}
		for _, slot := range of.slots {
			if slot.instance == nil {
				return fmt.Sprintf("I3: no claimant waits for %s", slot.nodeID)
			}
			if !s.wanted(slot.instance) {
				return fmt.Sprintf("I3: instance %d has no claimant", slot.instance.ID)
			}
		}
	}
	return ""
}

func (s *sim) wanted(i *simInstance) bool {
	for _, c := range s.claimants {
		if c.alive && c.instance == i.ID {
			return true
		}
	}
	return false
}

// tooEdited: three edited pools of a key are a conflict for a person.
func (s *sim) tooEdited(c *simClaimant) bool {
	edited := 0
	for _, of := range s.pools {
		if !of.gone && of.Autoscaled && simTags.KeyHash(of.Tags) == c.hash {
			edited++
		}
	}
	return edited >= simEditedPools
}

// checkBought checks I5: a node for each claimant that called, and one for each that
// was taken away or could not be tagged. Where lists lag longer than the settle
// time, or lack pools that a new process has never seen, what was bought shows
// too late after a take-over or a lost answer: each time that is at most one more
// for each claimant. A process from which nodes are hidden starts anew: what could
// not be tagged and what was lost before is not known to it either.
func (s *sim) checkBought() {
	needs := s.needs()
	least, most := 0, needs+s.taken+s.facts.hidden
	if s.plan.calm {
		least = needs
	}
	for _, sight := range append(s.facts.sights, s.facts.simSight) {
		most += min(sight.passed, needs+s.collectedUnread())
		switch {
		case s.plan.harsh, s.facts.misled:
			most += sight.lost
		case s.plan.world.lag >= s.plan.settle():
			most += min(sight.lost, needs)
		}
	}
	if s.bought < least || s.bought > most {
		s.fail("I5: %d nodes were bought for %d claimants, %d were taken away", s.bought, needs, s.taken)
	}
}

// collectedUnread counts the instances that were passed over and are gone since: they cost nothing any more, so that another one may be
// passed over in the place of each.
func (s *sim) collectedUnread() int {
	collected := 0
	for _, i := range s.instances {
		if !i.lives() && (i.failed >= simAttempts || i.unread.passed) {
			collected++
		}
	}
	return collected
}

// needs counts the claimants that have called Claim.
func (s *sim) needs() int {
	needs := 0
	for _, c := range s.claimants {
		if c.asked {
			needs++
		}
	}
	return needs
}

// hide notes nodes that the process that leads cannot see.
func (s *sim) hide(nodes int) {
	if nodes == 0 {
		return
	}
	s.facts.hidden += min(nodes, len(s.plan.lives))
	s.facts.sights, s.facts.simSight = append(s.facts.sights, s.facts.simSight), simSight{}
}

// mislead follows a list of pools that lacks some. The first time that a process
// gets one, all that earlier ones bought may be hidden from it.
func (s *sim) mislead(lacks ...lkepool.Pool) {
	for _, of := range lacks {
		s.pool(of.ID).omittedFrom = s.process.life + 1
	}
	s.facts.misled = true
	if !s.process.misled {
		s.process.misled = true
		s.hide(s.boughtSince(0) - s.boughtSince(s.process.began))
	}
}

// boughtSince is how many nodes were bought after a time.
func (p *simPlatform) boughtSince(at time.Duration) int {
	n := 0
	for _, purchase := range p.purchases {
		if purchase.at > at {
			n += purchase.nodes
		}
	}
	return n
}

// markedSince is how many nodes were claimed after a time.
func (p *simPlatform) markedSince(at time.Duration) int {
	n := 0
	for _, i := range p.instances {
		if i.marked > at && i.marked > 0 {
			n++
		}
	}
	return n
}
