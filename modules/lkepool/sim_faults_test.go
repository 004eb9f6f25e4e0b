package lkepool

import (
	"errors"
	"slices"
	"time"
)

// simFault is what goes wrong with one request.
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
)

func (f simFault) String() string {
	return [...]string{
		"none", "refused", "fails without effect", "answer lost", "fails after the effect", "accepted without effect", "carried out twice",
		"fails", "lacks one entry", "empty", "spurious 404", "hangs",
	}[f]
}

var (
	writeFaults = []simFault{faultRefused, faultNoEffect, faultLostAnswer, faultApplied, faultWithoutEffect, faultTwice, faultHangs}
	readFaults  = []simFault{faultFails, faultLacksOne, faultEmpty, faultMissing, faultHangs}
)

// simRefusals are answers that exclude an effect.
var simRefusals = []Error{
	{Kind: KindInsufficientCapacity},
	{Kind: KindQuotaExceeded},
	{Kind: KindForbidden},
	{Kind: KindRateLimited, RetryAfter: 10 * time.Second},
	{Kind: KindInvalid, Field: "labels"},
	{Kind: KindConflict},
	{Kind: KindUnavailable},
}

var errSimSpurious = errors.New("not found, although it exists")

// fate returns the fault of a request that is sent now.
func (s *sim) fate(a action) (fate simFate) {
	if s.now >= simChaos && !s.plan.world.exact {
		return fate
	}
	for i := range s.fates {
		f := &s.fates[i]
		if f.op != a.op || f.times == 0 || s.now < f.from || f.instance != 0 && f.instance != a.instanceID {
			continue
		}
		f.times--
		if f.pick%2 == 0 {
			// It is this instance that it happens to.
			f.instance = a.instanceID
		}
		return *f
	}
	return fate
}

func simRefusal(a action, pick int) *Error {
	e := simRefusals[pick%len(simRefusals)]
	if a.op != opCreate && a.op != opScale && (e.Kind == KindInsufficientCapacity || e.Kind == KindQuotaExceeded) {
		e.Kind = KindUnavailable
	}
	e.Op, e.PoolID, e.Effect, e.Err = string(a.op), a.poolID, EffectNone, errSimRefused
	return &e
}

// faultyWrite carries a write out as its fate wants.
func (s *sim) faultyWrite(a action, f simFate) done {
	switch f.kind {
	case faultRefused:
		return done{action: a, err: simRefusal(a, f.pick)}
	case faultNoEffect:
		return done{action: a, err: simError(a, KindUnavailable, EffectUnknown, errSimLost)}
	case faultWithoutEffect:
		return s.pretend(a)
	case faultHangs:
		if f.pick%2 == 0 {
			return done{action: a, err: simError(a, KindUnavailable, EffectUnknown, errSimLost)}
		}
	}
	d := s.carryOut(a)
	if d.err != nil {
		return d
	}
	switch f.kind {
	case faultLostAnswer, faultHangs:
		return done{action: a, err: simError(a, KindUnavailable, EffectUnknown, errSimLost)}
	case faultApplied:
		return done{action: a, err: simError(a, KindUnavailable, EffectApplied, errSimLost)}
	case faultTwice:
		before := s.bought
		d = s.carryOut(a)
		s.taken += s.bought - before
	}
	return d
}

// faultyRead answers a read as its fate wants.
func (s *sim) faultyRead(a action, f simFate, at time.Duration) done {
	switch f.kind {
	case faultFails:
		kind := [...]Kind{KindUnavailable, KindRateLimited, KindForbidden}[f.pick%3]
		return done{action: a, err: &Error{Kind: kind, Op: string(a.op), RetryAfter: time.Duration(f.pick%2) * 5 * time.Second, Effect: EffectNone, Err: errSimLost}}
	case faultHangs:
		return done{action: a, err: simError(a, KindUnavailable, EffectNone, errSimLost)}
	}
	d := s.read(a, at)
	switch {
	case d.err != nil:
	case a.op == opListPools && f.kind == faultEmpty:
		d.pools = nil
	case a.op == opListPools && f.kind == faultLacksOne && len(d.pools) > 0:
		at := f.pick % len(d.pools)
		d.pools = slices.Delete(d.pools, at, at+1)
	case a.op == opListInstances && f.kind == faultEmpty:
		d.instances = nil
	case a.op == opListInstances && f.kind == faultLacksOne && len(d.instances) > 0:
		at := f.pick % len(d.instances)
		d.instances = slices.Delete(d.instances, at, at+1)
	case a.op == opGetPool && f.kind == faultMissing && !s.simPlatform.pool(a.poolID).lied:
		s.simPlatform.pool(a.poolID).lied = true
		d = done{action: a, err: simError(a, KindNotFound, EffectNone, errSimSpurious)}
	case a.op == opGetInstance && f.kind == faultMissing && !s.instance(a.instanceID).lied:
		s.instance(a.instanceID).lied = true
		d = done{action: a, err: simError(a, KindNotFound, EffectNone, errSimSpurious)}
	}
	return d
}
