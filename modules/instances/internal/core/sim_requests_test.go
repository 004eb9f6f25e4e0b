package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// simSent is a write that was sent and not answered.
type simSent struct {
	Result
	// life is the life of the request's process.
	life int
	// arrived: the platform has it. lost: it never arrives.
	arrived, lost bool
	// landings counts the times that were drawn for its late effect; the last one holds.
	landings int
	landed   bool
}

// start sends a request: it arrives after a part of its latency, and is answered
// after the rest.
func (s *sim) start(e Effect) {
	s.requests++
	s.guard(e)
	w := &simSent{Result: Result{Effect: e, Began: s.now}, life: s.life}
	latency := time.Duration(1 + s.random.Int64N(int64(s.plan.latency)))
	way := time.Duration(s.random.Int64N(int64(latency)))
	fate, hit := s.fate(e)
	if s.trace != nil {
		s.logf("%s", requested(e, fate, hit))
	}
	if e.Op.Write() {
		s.writing = append(s.writing, w)
	}
	if hit && fate.kind == faultDeath {
		hit = false
		s.after(time.Duration(s.random.Int64N(int64(latency))), func() {
			if w.life == s.life {
				s.logf("%s", stepDeath)
				s.process(false)
			}
		})
	}
	s.after(way, func() {
		if w.lost {
			return
		}
		w.arrived = true
		// The time of a late effect counts from the death: none waits for its answer any more.
		orphaned := w.life != s.life && fate.kind == faultLate
		answer, wait := s.perform(w, fate, hit && !orphaned)
		if wait > 0 {
			latency = way + wait
		}
		s.after(latency-way, func() {
			s.writing = slices.DeleteFunc(s.writing, func(other *simSent) bool { return other == w })
			if w.life != s.life {
				return
			}
			if s.trace != nil {
				s.logf("%s", answered(answer))
			}
			s.learned(answer)
			s.core.Handle(answer, s.now)
		})
	})
}

// die ends the writes under way with their process. With all faults, a write without effect so far may still take effect until the bound
// of a late effect after the death, or never.
func (s *sim) die() {
	for _, w := range s.writing {
		switch {
		case !s.plan.harsh, w.life != s.life, w.arrived && (w.landings == 0 || w.landed):
		case w.arrived:
			s.land(w, schedule.Lands(s.random, 0, s.plan.latest()))
		default:
			switch s.random.IntN(4) {
			case 0:
				w.lost = true
			case 1: // it arrives as if the process lived
			default:
				w.lost = true
				s.facts.afterDeath++
				s.land(w, schedule.Lands(s.random, 0, s.plan.latest()))
			}
		}
	}
	s.writing = slices.DeleteFunc(s.writing, func(w *simSent) bool { return w.lost })
}

// perform applies a request with its fault at the platform. wait replaces the usual
// time of the answer.
func (s *sim) perform(w *simSent, fate simFate, hit bool) (_ Result, wait time.Duration) {
	r := w.Result
	unknown := simRefusal(claims.KindUnavailable, claims.EffectUnknown, "no answer")
	unknown.Op = string(r.Op)
	if hit {
		switch fate.kind {
		case faultRefused:
			r.Err = simRefusal(claims.KindUnavailable, claims.EffectNone, "not now")
			return r, 0
		case faultLimited:
			e := simRefusal(claims.KindRateLimited, claims.EffectNone, "too many requests")
			e.RetryAfter = fate.takes
			r.Err = e
			return r, 0
		case faultForbidden:
			r.Err = simRefusal(claims.KindForbidden, claims.EffectNone, "scope")
			return r, 0
		case faultGone:
			r.Err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found, wrongly")
			return r, 0
		case faultUnsent:
			r.Err = unknown
			return r, 0
		case faultDeaf:
			r.Err = unknown
			return r, Timeout(r.Op)
		case faultLate:
			r.Err = unknown
			takes := min(fate.takes, Timeout(r.Op))
			s.land(w, schedule.Lands(s.random, takes, fate.late))
			return r, takes
		case faultNoEffect:
			return r, 0
		}
	}
	if !r.Op.Write() {
		return s.readNow(r, fate, hit), 0
	}
	r.Instance, r.Err = s.carryOut(r)
	if r.Op == OpAddDisk && r.Err == nil {
		disks := s.find(r.ID).disks
		r.Disks = slices.Clone(disks[len(disks)-1:])
	}
	if hit && r.Err == nil {
		s.lose(r.Op, r.Instance, nil)
		r.Err = unknown
		if fate.kind == faultHang {
			return r, Timeout(r.Op)
		}
	}
	return r, 0
}

// land plans the effect of a write that is answered with an error, or whose process died.
func (s *sim) land(w *simSent, wait time.Duration) {
	if w.Op == OpCreate {
		s.late[w.Order.Label] = known.Latest(s.late[w.Order.Label], s.now.Add(wait))
	}
	if w.landings == 0 {
		s.unlanded++
	}
	w.landings++
	landing := w.landings
	s.after(wait, func() {
		if landing != w.landings { // its process died since
			return
		}
		w.landed = true
		s.unlanded--
		s.facts.landed++
		made, err := s.carryOut(w.Result)
		s.lose(w.Op, made, err)
		if s.trace != nil {
			s.logf("   %s LANDS LATE: %v", subject(w.Effect), err)
		}
	})
}

// lose notes an instance whose creation the process gets no answer to.
func (s *sim) lose(o Op, made Instance, err error) {
	if o == OpCreate && err == nil {
		s.known(made.InstanceID).unanswered = true
	}
}

// carryOut executes a write, and judges what it does.
func (s *sim) carryOut(r Result) (Instance, error) {
	e := r.Effect
	if e.Op == OpDelete {
		s.checkLoss(e, r.Began)
	}
	i, err := s.apply(e)
	if e.Op == OpCreate && err == nil {
		s.checkCeilings()
	}
	return i, err
}

func (s *sim) readNow(r Result, fate simFate, hit bool) Result {
	behind := s.plan.stale
	if r.Op == OpList || r.Op == OpFind {
		behind = s.plan.lag
	}
	if behind > 0 {
		behind = time.Duration(s.random.Int64N(int64(behind)))
	}
	began := r.Began
	r = s.read(r.Effect, s.now.Add(-behind))
	r.Began = began
	if r.Err == nil && s.inGap(r.Effect) {
		s.facts.grouped++
		r.Err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found, wrongly")
		return r
	}
	if hit && fate.kind == faultMissing && len(r.Instances) > 0 {
		at := s.random.IntN(len(r.Instances))
		if i := s.known(r.Instances[at].InstanceID); !i.renamed {
			i.leftOut = s.life + 1
			r.Instances = slices.Delete(r.Instances, at, at+1)
		}
	}
	return r
}

// fate takes the fault that a request meets, if it can be without making two
// faults together prove a falsehood.
func (s *sim) fate(e Effect) (simFate, bool) {
	for n := range s.fates {
		f := &s.fates[n]
		if f.op != e.Op || f.times == 0 || s.now.Sub(s.began) < f.from {
			continue
		}
		f.times--
		return *f, s.may(f.kind, e)
	}
	return simFate{}, false
}

func (s *sim) may(kind simFault, e Effect) bool {
	i := s.find(e.ID)
	switch kind {
	case faultGone:
		if e.Op == OpDisk { // which proves nothing of the instance
			return i != nil
		}
		if i == nil || i.lied || i.kept || s.now.Sub(i.born) < 10*time.Second || e.Op == OpDisks || e.Op == OpConfigs {
			return false
		}
		i.lied = true
	case faultNoEffect:
		if i == nil || i.lied || e.Op != OpDelete {
			return false
		}
		i.kept = true
	case faultLate:
		return s.plan.harsh || e.Op == OpCreate || e.Op == OpDelete
	case faultLost, faultUnsent, faultHang:
		return true
	case faultMissing:
		return e.Op == OpList || e.Op == OpFind
	case faultForbidden:
		return true
	}
	return true
}

// inGap reports whether a direct read of the object is answered 404 now.
func (s *sim) inGap(e Effect) bool {
	if e.ID == 0 {
		return false
	}
	at := s.now.Sub(s.began)
	return slices.ContainsFunc(s.plan.gaps, func(g simGap) bool { return at >= g.from && at < g.from+g.length && e.ID%g.share == 0 })
}
