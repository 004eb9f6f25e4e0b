package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

// shrink takes away of a failed schedule what it fails without.
func shrink(plan *simSchedule) *simSchedule { return schedule.Shrink(plan, reductions, invariantOf) }

// invariantOf names what a schedule breaks, "" for nothing.
func invariantOf(plan *simSchedule) string {
	why, _, _ := play(plan, false)
	return brokenBy(why)
}

// brokenBy is the name of the invariant in a violation.
func brokenBy(why string) string {
	if strings.HasPrefix(why, "panic: ") {
		return "panic"
	}
	_, what, _ := strings.Cut(why, ": ")
	broken, _, _ := strings.Cut(what, ":")
	return broken
}

// reductions are the schedules that are simpler by one thing.
func reductions(plan *simSchedule) (smaller []*simSchedule) {
	with := func(change func(*simSchedule)) {
		next := *plan
		next.lives, next.steps, next.fates = slices.Clone(plan.lives), slices.Clone(plan.steps), slices.Clone(plan.fates)
		change(&next)
		smaller = append(smaller, &next)
	}
	for i := range plan.lives {
		with(func(s *simSchedule) { s.lives = slices.Delete(s.lives, i, i+1) })
	}
	for i := range plan.steps {
		with(func(s *simSchedule) { s.steps = slices.Delete(s.steps, i, i+1) })
	}
	for i := range plan.fates {
		with(func(s *simSchedule) { s.fates = slices.Delete(s.fates, i, i+1) })
		if plan.fates[i].times > 1 {
			with(func(s *simSchedule) { s.fates[i].times = 1 })
		}
	}
	for i := range plan.gaps {
		with(func(s *simSchedule) { s.gaps = slices.Delete(slices.Clone(s.gaps), i, i+1) })
	}
	simpler := func(holds bool, change func(*simSchedule)) {
		if holds {
			with(change)
		}
	}
	w := plan.world
	simpler(w.lag > 0, func(s *simSchedule) { s.world.lag = 0 })
	simpler(w.stale > 0, func(s *simSchedule) { s.world.stale = 0 })
	simpler(w.room > 0, func(s *simSchedule) { s.world.room = 0 })
	simpler(w.latency > 80*time.Millisecond, func(s *simSchedule) { s.world.latency = 80 * time.Millisecond })
	simpler(w.idMost > w.idLeast, func(s *simSchedule) { s.world.idMost = s.world.idLeast })
	simpler(plan.enterprise, func(s *simSchedule) { s.enterprise = false })
	simpler(plan.holderLag > 0, func(s *simSchedule) { s.holderLag = 0 })
	simpler(plan.aliveLag > 0, func(s *simSchedule) { s.aliveLag = 0 })
	simpler(plan.maxNodes > 0, func(s *simSchedule) { s.maxNodes = 0 })
	simpler(plan.listLag > 0, func(s *simSchedule) { s.listLag = 0 })
	simpler(plan.lateEffect > 0, func(s *simSchedule) { s.lateEffect = 0 })
	simpler(plan.settleTime > 0, func(s *simSchedule) { s.settleTime = 0 })
	simpler(plan.maxPrice > 0, func(s *simSchedule) { s.maxPrice = 0 })
	simpler(plan.poolSize > 0, func(s *simSchedule) { s.poolSize = 0 })
	for i, l := range plan.lives {
		simpler(l.forgets, func(s *simSchedule) { s.lives[i].forgets = false })
		simpler(l.quits > 0, func(s *simSchedule) { s.lives[i].quits = 0 })
		simpler(l.keeps > 0, func(s *simSchedule) { s.lives[i].keeps = 0 })
		simpler(l.heir, func(s *simSchedule) { s.lives[i].heir = false })
		simpler(l.key > 0, func(s *simSchedule) { s.lives[i].key = 0 })
	}
	return smaller
}
