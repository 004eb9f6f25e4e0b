package instances

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/schedule"
)

// start sends a request: it arrives after a part of its latency, and is answered
// after the rest.
func (s *sim) start(e effect) {
	s.requests++
	s.guard(e)
	r := result{effect: e, began: s.now}
	life := s.life
	latency := time.Duration(1 + s.random.Int64N(int64(s.plan.latency)))
	way := time.Duration(s.random.Int64N(int64(latency)))
	fate, hit := s.fate(e)
	if s.trace != nil {
		s.logf("%s", requested(e, fate, hit))
	}
	if e.op.write() {
		s.writing++
	}
	s.after(way, func() {
		answer, wait := s.perform(r, fate, hit)
		if wait > 0 {
			latency = way + wait
		}
		s.after(latency-way, func() {
			if e.op.write() {
				s.writing--
			}
			if life != s.life {
				return
			}
			if s.trace != nil {
				s.logf("%s", answered(answer))
			}
			s.core.now = s.now
			s.learned(answer)
			s.core.done(answer)
		})
	})
}

// perform applies a request with its fault at the platform. wait replaces the usual
// time of the answer.
func (s *sim) perform(r result, fate simFate, hit bool) (_ result, wait time.Duration) {
	unknown := simRefusal(claims.KindUnavailable, claims.EffectUnknown, "no answer")
	unknown.Op = string(r.op)
	if hit {
		switch fate.kind {
		case faultRefused:
			r.err = simRefusal(claims.KindUnavailable, claims.EffectNone, "not now")
			return r, 0
		case faultLimited:
			e := simRefusal(claims.KindRateLimited, claims.EffectNone, "too many requests")
			e.RetryAfter = fate.takes
			r.err = e
			return r, 0
		case faultForbidden:
			r.err = simRefusal(claims.KindForbidden, claims.EffectNone, "scope")
			return r, 0
		case faultGone:
			r.err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found, wrongly")
			return r, 0
		case faultUnsent:
			r.err = unknown
			return r, 0
		case faultDeaf:
			r.err = unknown
			return r, r.op.timeout()
		case faultLate:
			r.err = unknown
			return r, s.later(r, fate)
		case faultNoEffect:
			return r, 0
		}
	}
	if !r.op.write() {
		return s.readNow(r, fate, hit), 0
	}
	r.instance, r.err = s.carryOut(r)
	if r.op == opAddDisk && r.err == nil {
		disks := s.find(r.id).disks
		r.disks = slices.Clone(disks[len(disks)-1:])
	}
	if hit && r.err == nil {
		r.err = unknown
		if fate.kind == faultHang {
			return r, r.op.timeout()
		}
	}
	return r, 0
}

// later plans the effect of a write that is answered with an error, and returns when
// that is.
func (s *sim) later(r result, fate simFate) time.Duration {
	takes := min(fate.takes, r.op.timeout())
	lands := schedule.Lands(s.random, takes, fate.late, simLateEffect)
	if r.op == opCreate {
		s.late[r.creation.Label] = latest(s.late[r.creation.Label], s.now.Add(lands))
	}
	s.unlanded++
	s.after(lands, func() {
		s.unlanded--
		s.facts.landed++
		_, err := s.carryOut(r)
		if s.trace != nil {
			s.logf("   %s LANDS LATE: %v", subject(r.effect), err)
		}
	})
	return takes
}

// carryOut executes a write, and judges what it does.
func (s *sim) carryOut(r result) (Instance, error) {
	e := r.effect
	if e.op == opDelete {
		s.checkLoss(e, r.began)
	}
	i, err := s.apply(e)
	if e.op == opCreate && err == nil {
		s.checkCeilings()
	}
	return i, err
}

func (s *sim) readNow(r result, fate simFate, hit bool) result {
	behind := s.plan.stale
	if r.op == opList || r.op == opFind {
		behind = s.plan.lag
	}
	if behind > 0 {
		behind = time.Duration(s.random.Int64N(int64(behind)))
	}
	began := r.began
	r = s.read(r.effect, s.now.Add(-behind))
	r.began = began
	if r.err == nil && s.inGap(r.effect) {
		s.facts.grouped++
		r.err = simRefusal(claims.KindNotFound, claims.EffectNone, "not found, wrongly")
		return r
	}
	if hit && fate.kind == faultMissing && len(r.instances) > 0 {
		at := s.random.IntN(len(r.instances))
		if !s.known(r.instances[at].InstanceID).renamed {
			r.instances = slices.Delete(r.instances, at, at+1)
		}
	}
	return r
}

// fate takes the fault that a request meets, if it can be without making two
// faults together prove what is not so.
func (s *sim) fate(e effect) (simFate, bool) {
	for n := range s.fates {
		f := &s.fates[n]
		if f.op != e.op || f.times == 0 || s.now.Sub(s.began) < f.from {
			continue
		}
		f.times--
		return *f, s.may(f.kind, e)
	}
	return simFate{}, false
}

func (s *sim) may(kind simFault, e effect) bool {
	i := s.find(e.id)
	switch kind {
	case faultGone:
		if e.op == opDisk { // which proves nothing of the instance
			return i != nil
		}
		if i == nil || i.lied || i.kept || s.now.Sub(i.born) < 10*time.Second || e.op == opDisks || e.op == opConfigs {
			return false
		}
		i.lied = true
	case faultNoEffect:
		if i == nil || i.lied || e.op != opDelete {
			return false
		}
		i.kept = true
	case faultLate:
		return s.plan.harsh || e.op == opCreate || e.op == opDelete
	case faultLost, faultUnsent, faultHang:
		return true
	case faultMissing:
		return e.op == opList || e.op == opFind
	case faultForbidden:
		return true
	}
	return true
}

// inGap reports whether a direct read of the object is answered 404 now.
func (s *sim) inGap(e effect) bool {
	if e.id == 0 {
		return false
	}
	at := s.now.Sub(s.began)
	return slices.ContainsFunc(s.plan.gaps, func(g simGap) bool { return at >= g.from && at < g.from+g.length && e.id%g.share == 0 })
}
