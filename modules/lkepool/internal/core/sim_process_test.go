package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// simProcess is the process that leads; core is nil while none does.
type simProcess struct {
	core *Core
	// life counts the processes, so that answers to an earlier one are dropped.
	life int
	// clock is how far its clock is off.
	clock time.Duration
	began time.Duration
	// tick is when the core wants a tick, if ticking.
	tick    time.Duration
	ticking bool
	spins   int
	// clean: no write of the processes before may take effect any more. open is until
	// when one may that was not answered with success or a refusal, or that one before may have.
	clean bool
	open  time.Duration
	// misled: it was given a list that lacks pools.
	misled bool
}

// lead starts a process that leads from now on.
func (s *sim) lead() {
	cfg := lkepool.Config{OrphanTTL: s.plan.world.orphanTTL, ListLag: s.plan.listLag, LateEffect: s.plan.lateEffect,
		SettleTime: s.plan.settleTime}.WithDefaults()
	cfg.Records = new(claims.RecordMap)
	if s.plan.known {
		cfg.Records = claims.Holder(s.holder)
	}
	cfg.Ceilings = claims.Ceilings{MaxNodes: s.plan.maxNodes, MaxHourlyPrice: s.plan.maxPrice, HourlyPrice: simPrices}
	limits := lkepool.Limits{PoolSize: cmp.Or(s.plan.poolSize, 100), NodesLag: s.plan.enterprise}
	clean := s.process.life == 0 || s.process.clean
	s.note("a process begins to lead, its clock is off by %s, no write of one before may take effect: %t", s.process.clock, clean)
	s.process.core, s.process.began, s.process.open = New(cfg, limits, s.local(), clean), s.Now, 0
	if !clean {
		s.process.open = s.Now + s.plan.latest()
	}
	s.process.ticking, s.process.misled, s.looked = false, false, s.looked[:0]
	s.hide(s.boughtSince(s.Now+s.plan.settle()-s.plan.world.lag) + s.markedSince(s.Now+s.plan.settle()-s.plan.world.lag))
}

// stop ends the process as a step wants: one that ends in order gives its Lease back if
// none of its writes may take effect any more, as package leadership of the operator does,
// and otherwise leaves it to expire.
func (s *sim) stop(step simStep) {
	if s.process.core == nil {
		return
	}
	underWay := slices.ContainsFunc(s.inflight, func(e *simEffect) bool { return e.action.Op.Write() })
	s.process.clean = step.orderly && !underWay && s.Now >= s.process.open
	if s.process.clean {
		s.facts.released++
	}
	gap := step.gap
	if step.orderly && !s.process.clean {
		gap = max(gap, simLease)
	}
	s.die(gap, step.clock)
}

// die ends the process. What it sent may still arrive at the platform before
// another one leads.
func (s *sim) die(gap, clock time.Duration) {
	if s.process.core == nil {
		return
	}
	s.note("the process dies")
	s.process.core, s.process.ticking = nil, false
	s.process.life++
	for _, i := range s.instances {
		i.unfoundAt = 0
	}
	for _, e := range s.inflight {
		switch {
		case e.executed && e.fate.kind == faultLate:
			// The next process counts from this death, not from an answer that none waits for.
			s.landIn(e, min(e.lands-s.Now, s.plan.latest()))
		case e.executed:
		case s.random.IntN(2) == 0:
			e.executed = true
		case s.plan.harsh && e.action.Op.Write():
			e.executed = true
			e.fate.kind = faultLate
			s.facts.lost += e.action.Bought
			s.late++
			s.landIn(e, s.between(0, s.plan.latest()))
		default:
			s.After(s.between(0, gap), func() { s.execute(e) })
		}
	}
	s.inflight = nil
	callers := s.waiting
	s.waiting = nil
	s.After(gap, func() {
		s.process.clock = clock
		s.lead()
		for _, c := range callers {
			c.then(Answer{Err: errSimLost})
		}
	})
}
