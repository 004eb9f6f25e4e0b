package core

import (
	"context"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

var errSimDeadline = context.DeadlineExceeded

// begin sends a request: it takes effect and is answered at random times.
func (s *sim) begin(a Action) {
	s.facts.calls++
	s.checkRate(a)
	if a.Op == OpListPools || a.Op == OpListInstances {
		s.facts.lists++
	}
	e := &simEffect{action: a, fate: s.fate(a), life: s.process.life, began: s.local(), sent: s.Now, looked: s.lookedAt(a.PoolID)}
	s.inflight = append(s.inflight, e)
	takes := s.between(s.plan.world.latency/4, s.plan.world.latency)
	if e.fate.kind == faultHangs {
		// The shell waits no longer for an answer.
		takes = min(e.fate.takes, tuning.ReadTimeout)
		if a.Op.Write() {
			takes = min(e.fate.takes, tuning.WriteTimeout)
		}
	}
	if a.Op == OpScale {
		s.checkScale(a)
	}
	if a.Bought > 0 {
		s.checkPurchase(a)
	}
	s.doom(a)
	if e.fate.kind == faultLate {
		takes = min(e.fate.takes, tuning.WriteTimeout)
		e.executed = true
		e.result = Done{Err: simError(a, claims.KindUnavailable, claims.EffectUnknown, errSimLost)}
		s.facts.lost += a.Bought
		s.late++
		s.landIn(e, schedule.Lands(s.random, takes, e.fate.late))
		s.After(takes, func() { s.end(e) })
		return
	}
	s.After(s.between(0, takes), func() {
		if e.life == s.process.life || e.action.Op.Write() {
			s.execute(e)
		}
	})
	s.After(takes, func() { s.end(e) })
}

// end feeds the result of a request to the core.
func (s *sim) end(e *simEffect) {
	if e.life != s.process.life || e.ended {
		return
	}
	e.ended = true
	s.inflight = slices.DeleteFunc(s.inflight, func(other *simEffect) bool { return other == e })
	a := &e.action
	e.result.Action, e.result.Began = *a, e.began
	if a.Op.Write() && e.result.Err != nil && claims.EffectOf(e.result.Err) == claims.EffectUnknown {
		s.process.open = s.Now + s.plan.latest()
	}
	if a.Op == OpGetPool && e.result.Err == nil {
		s.sawPool(a.PoolID, e.sent)
	}
	if (a.Op == OpMark || a.Op == OpGetInstance) && e.result.Err != nil && !e.canceled {
		s.notePassed(a.InstanceID)
	}
	if a.Op == OpGetInstance && !e.canceled {
		s.noteRead(a.InstanceID, e.result.Err)
	}
	if i := s.instance(a.InstanceID); i != nil && e.result.Err != nil {
		i.troubled = true
	}
	s.learn(e)
	s.learnEnd(e)
	s.show(e.result)
	s.feed(e.result)
}

// cancelReads ends the reads under way.
func (s *sim) cancelReads() {
	for _, e := range s.inflight {
		if e.action.Op.Write() || e.canceled {
			continue
		}
		e.executed, e.canceled = true, true
		e.result = Done{Err: simError(e.action, claims.KindUnavailable, claims.EffectNone, context.Canceled), Cancelled: true}
		s.After(0, func() { s.end(e) })
	}
}

// execute is the moment at which the platform serves a request.
func (s *sim) execute(e *simEffect) {
	if e.executed || s.failure != "" {
		return
	}
	e.executed = true
	if e.action.Op.Write() {
		if s.wrote != nil {
			s.wrote(e.action, e)
		}
		e.result, e.asOf = s.faultyWrite(e), s.Now
		if s.trace != nil {
			s.note("  platform: %s %s", s.describeAction(e.action), outcome(e))
		}
		return
	}
	old := s.plan.world.stale
	if e.action.Op == OpListPools || e.action.Op == OpListInstances {
		old = s.plan.world.lag
	}
	if !s.plan.world.exact {
		old = s.between(0, old)
	}
	e.asOf = s.Now - old
	e.result = s.faultyRead(e.action, e.fate, e.asOf)
	s.noteLie(e)
}

// noteLie remembers a 404 for something that exists: two of them would be proof
// by the engine's rules, so each object gets one in its life, out of date or
// spurious. Only readings from before it existed are 404 besides.
func (s *sim) noteLie(e *simEffect) {
	if claims.KindOf(e.result.Err) != claims.KindNotFound {
		return
	}
	if of := s.pool(e.action.PoolID); e.action.Op == OpGetPool && of != nil && !of.gone {
		of.lied = true
	}
	if i := s.instance(e.action.InstanceID); e.action.Op == OpGetInstance && i != nil && !i.gone {
		i.lied = true
	}
}

// notePassed counts the instances that the engine passes over, because it cannot
// write to them; a claimant gets another one for each, but not ever more.
func (s *sim) notePassed(id int) {
	if i := s.instance(id); i != nil {
		if i.failed++; i.failed == simAttempts {
			s.facts.passed++
		}
	}
}

func (s *sim) sawPool(id int, began time.Duration) {
	for i := range s.looked {
		if s.looked[i].pool == id {
			s.looked[i].began = max(s.looked[i].began, began)
			return
		}
	}
	s.looked = append(s.looked, simLook{pool: id, began: began})
}

// carryOut executes a write, and judges it.
func (s *sim) carryOut(e *simEffect) Done {
	a := e.action
	switch a.Op {
	case OpMark:
		s.checkMark(e)
	case OpRemove:
		of, slot := s.slot(a.PoolID, a.NodeID)
		s.checkOurs(a, of)
		if slot != nil {
			s.checkRemoval(a, slot.instance)
		}
	case OpDrop:
		of := s.pool(a.PoolID)
		s.checkOurs(a, of)
		for i := 0; of != nil && i < len(of.slots); i++ {
			s.checkRemoval(a, of.slots[i].instance)
		}
	case OpRetire:
		s.checkOurs(a, s.pool(a.PoolID))
	case OpScale:
		s.checkOurs(a, s.pool(a.PoolID))
		s.checkCount(e)
	}
	d := s.write(a)
	if a.Op == OpScale || a.Op == OpCreate {
		s.checkCeiling(a)
	}
	if kind := claims.KindOf(d.Err); kind == claims.KindInsufficientCapacity || kind == claims.KindQuotaExceeded {
		s.facts.noRoom = true
	}
	return d
}
