package core

import (
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

// simFault identifies what goes wrong with one request.
type simFault int

const (
	faultNone simFault = iota
	// Writes.
	faultRefused
	faultNoEffect      // an error of unknown effect, without effect
	faultLostAnswer    // an error of unknown effect, with effect
	faultApplied       // an error that says that the effect happened
	faultWithoutEffect // accepted, but nothing changes
	faultTwice         // carried out twice
	// Reads.
	faultFails
	faultLacksOne // a list lacks one entry
	faultEmpty    // a list is empty
	faultMissing  // 404 for something that exists
	// Both: answered after takes with an error, writes with effect or not.
	faultHangs
	// Writes, in schedules with late effects: answered with an error after takes,
	// and carried out up to late after that, whichever process leads then.
	faultLate
)

func (f simFault) String() string {
	return [...]string{
		"none", "refused", "fails without effect", "answer lost", "fails after the effect", "accepted without effect", "carried out twice",
		"fails", "lacks one entry", "empty", "spurious 404", "hangs", "lands late",
	}[f]
}

var (
	writeFaults = []simFault{faultRefused, faultNoEffect, faultLostAnswer, faultApplied, faultWithoutEffect, faultTwice, faultHangs}
	readFaults  = []simFault{faultFails, faultLacksOne, faultEmpty, faultMissing, faultHangs}
)

// simRefusals are answers that exclude an effect.
var simRefusals = []claims.Error{
	{Kind: claims.KindInsufficientCapacity},
	{Kind: claims.KindQuotaExceeded},
	{Kind: claims.KindForbidden},
	{Kind: claims.KindRateLimited, RetryAfter: 10 * time.Second},
	{Kind: claims.KindInvalid, Field: "labels"},
	{Kind: claims.KindConflict},
	{Kind: claims.KindUnavailable},
}

var errSimSpurious = errors.New("not found, although it exists")

// fate returns the fault of a request that is sent now.
func (s *sim) fate(a Action) (fate simFate) {
	if s.Now >= simChaos && !s.plan.world.exact {
		return fate
	}
	for i := range s.fates {
		f := &s.fates[i]
		if f.op != a.Op || f.times == 0 || s.Now < f.from || f.instance != 0 && f.instance != a.InstanceID {
			continue
		}
		f.times--
		if f.pick%2 == 0 {
			// It is this instance that it happens to.
			f.instance = a.InstanceID
		}
		return *f
	}
	return fate
}

func simRefusal(a Action, pick int) *claims.Error {
	e := simRefusals[pick%len(simRefusals)]
	if a.Op != OpCreate && a.Op != OpScale && (e.Kind == claims.KindInsufficientCapacity || e.Kind == claims.KindQuotaExceeded) {
		e.Kind = claims.KindUnavailable
	}
	e.Op, e.Object, e.Effect, e.Err = string(a.Op), claims.Object("pool", a.PoolID), claims.EffectNone, errSimRefused
	return &e
}

// faultyWrite carries a write out as its fate wants.
func (s *sim) faultyWrite(e *simEffect) Done {
	a, f := e.action, e.fate
	switch f.kind {
	case faultRefused:
		return Done{Action: a, Err: simRefusal(a, f.pick)}
	case faultNoEffect:
		return Done{Action: a, Err: simError(a, claims.KindUnavailable, claims.EffectUnknown, errSimLost)}
	case faultWithoutEffect:
		if of := s.pool(a.PoolID); of != nil && a.Op == OpScale {
			of.disturbed, of.vain = s.Now, s.Now
		}
		return s.pretend(a)
	case faultHangs:
		if f.pick%2 == 0 {
			return Done{Action: a, Err: simError(a, claims.KindUnavailable, claims.EffectUnknown, errSimLost)}
		}
	}
	d := s.carryOut(e)
	if d.Err != nil {
		return d
	}
	switch f.kind {
	case faultLostAnswer, faultHangs:
		s.facts.lost += a.Bought
		return Done{Action: a, Err: simError(a, claims.KindUnavailable, claims.EffectUnknown, errSimLost)}
	case faultApplied:
		s.facts.lost += a.Bought
		return Done{Action: a, Err: simError(a, claims.KindUnavailable, claims.EffectApplied, errSimLost)}
	case faultTwice:
		before := s.bought
		if again := s.carryOut(e); again.Err == nil {
			d = again // a refusal would hide the effect of the first
		}
		s.taken += s.bought - before
	}
	return d
}

// faultyRead answers a read as its fate wants.
func (s *sim) faultyRead(a Action, f simFate, at time.Duration) Done {
	switch f.kind {
	case faultFails:
		kind := [...]claims.Kind{claims.KindUnavailable, claims.KindRateLimited, claims.KindForbidden}[f.pick%3]
		return Done{Action: a, Err: &claims.Error{Kind: kind, Op: string(a.Op), RetryAfter: time.Duration(f.pick%2) * 5 * time.Second,
			Effect: claims.EffectNone, Err: errSimLost}}
	case faultHangs:
		return Done{Action: a, Err: simError(a, claims.KindUnavailable, claims.EffectNone, errSimLost)}
	}
	d := s.read(a, at)
	if d.Err == nil && s.inGap(a) {
		s.facts.grouped++
		return Done{Action: a, Err: simError(a, claims.KindNotFound, claims.EffectNone, errSimSpurious)}
	}
	switch {
	case d.Err != nil:
	case a.Op == OpListPools && f.kind == faultEmpty:
		s.mislead(d.Pools...)
		d.Pools = nil
	case a.Op == OpListPools && f.kind == faultLacksOne && len(d.Pools) > 0:
		at := f.pick % len(d.Pools)
		s.mislead(d.Pools[at])
		d.Pools = slices.Delete(d.Pools, at, at+1)
	case a.Op == OpListInstances && f.kind == faultEmpty:
		for _, i := range d.Instances {
			s.omit(i.ID)
		}
		d.Instances = nil
	case a.Op == OpListInstances && f.kind == faultLacksOne && len(d.Instances) > 0:
		at := f.pick % len(d.Instances)
		s.omit(d.Instances[at].ID)
		d.Instances = slices.Delete(d.Instances, at, at+1)
	case a.Op == OpGetPool && f.kind == faultMissing && !s.simPlatform.pool(a.PoolID).lied:
		s.simPlatform.pool(a.PoolID).lied = true
		d = Done{Action: a, Err: simError(a, claims.KindNotFound, claims.EffectNone, errSimSpurious)}
	case a.Op == OpGetInstance && f.kind == faultMissing && !s.instance(a.InstanceID).lied:
		s.instance(a.InstanceID).lied = true
		d = Done{Action: a, Err: simError(a, claims.KindNotFound, claims.EffectNone, errSimSpurious)}
	}
	return d
}

// simGap is a time in which direct reads of many objects answer 404, although
// they exist and lists show them.
type simGap struct {
	schedule.Gap
	pools     bool
	instances bool
}

// inGap reports whether a direct read of the object is answered 404 now.
func (s *sim) inGap(a Action) bool {
	return slices.ContainsFunc(s.plan.gaps, func(g simGap) bool {
		return a.Op == OpGetPool && g.pools && g.Hides(s.Now, a.PoolID) || a.Op == OpGetInstance && g.instances && g.Hides(s.Now, a.InstanceID)
	})
}

// landIn makes a write take effect later, instead of when it was to before.
func (s *sim) landIn(e *simEffect, in time.Duration) {
	e.lands = s.Now + in
	s.After(in, func() {
		if e.lands == s.Now {
			e.lands = -1
			s.land(e)
		}
	})
}

// land carries out a write that was answered with an error long before.
func (s *sim) land(e *simEffect) {
	s.late--
	if s.failure != "" {
		return
	}
	s.facts.landed++
	if s.wrote != nil {
		s.wrote(e.action, e)
	}
	bought := s.bought
	d := s.carryOut(e)
	if i := s.instance(e.action.InstanceID); i != nil && e.action.Op == OpMark {
		i.late, i.lateOf = true, e.life != s.process.life
		if i.lateOf {
			s.facts.lost++ // its claimant may have another node by now
		}
	}
	if of := s.pool(e.action.PoolID); of != nil && of.shrunk >= e.looked-s.plan.settle() {
		// The count brings back what the read that it rests on does not show to be gone.
		s.facts.lost += max(0, s.bought-bought-e.action.Bought)
	}
	if s.trace != nil {
		s.note("  platform: %s LANDS LATE: %v", s.describeAction(e.action), d.Err)
	}
}
