package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// simKnown holds the facts of a pool that the leading process was shown.
type simKnown struct {
	// life is the process, counted from 1. asOf is the newest state of the pool that it was
	// shown and could believe, wrote when its last write to it was answered.
	life        int
	asOf, wrote time.Duration
}

// known returns what the process that leads was shown of a pool.
func (s *sim) known(of *simPool) *simKnown {
	if of.known.life != s.process.life+1 {
		of.known = simKnown{life: s.process.life + 1, asOf: simLongAgo, wrote: simLongAgo}
	}
	return &of.known
}

// learn notes what an answer shows of pools. A list shows a pool that is new to the
// process; of others it makes the process look, no more. What was read within the settle
// time after an own write need not be believed.
func (s *sim) learn(e *simEffect) {
	a := e.action
	if a.Op.Write() {
		of := s.pool(a.PoolID)
		if e.result.Err == nil && a.Op == OpCreate {
			of = s.pool(e.result.Pool.ID)
		}
		if of == nil {
			return
		}
		k := s.known(of)
		k.wrote = s.Now
		if e.result.Err == nil && (a.Op == OpCreate || a.Op == OpScale) {
			k.asOf = max(k.asOf, e.asOf)
		}
		return
	}
	if e.result.Err != nil {
		return
	}
	for _, shown := range append(e.result.Instances, e.result.Instance) {
		if i := s.instance(shown.ID); i != nil {
			i.seenBy = s.process.life + 1
		}
	}
	for _, shown := range append(e.result.Pools, e.result.Pool) {
		of := s.pool(shown.ID)
		if of == nil {
			continue
		}
		for _, slot := range shown.Slots {
			for _, i := range s.instances {
				if i.slot.nodeID == slot.NodeID {
					i.slot.shownBy = s.process.life + 1
				}
			}
		}
		if k := s.known(of); a.Op == OpGetPool && e.sent-k.wrote >= s.plan.settle() || k.asOf == simLongAgo {
			k.asOf = max(k.asOf, e.asOf)
		}
	}
}

// checkPurchase is I5, purchase by purchase: purchases are no more than claimants of
// the key wait, less what the platform has or makes for them, as far as the process was
// shown that. Nothing here is a number of the engine's: what it may leave out of account is
// what no answer showed it, what requests failed for, and what was to be removed.
func (s *sim) checkPurchase(a Action) {
	wait := 0
	for _, c := range s.claimants {
		i := s.instance(c.handed)
		unserved := i == nil || !i.lives() || c.handed != c.instance
		if c.alive && s.waits(c) && c.hash == a.Key.Hash() && unserved &&
			!s.marking(func(e *simEffect) bool { return s.tagged(e.action.Tags) == c }) {
			wait++
		}
	}
	supply := 0
	for _, of := range s.pools {
		if of.gone || of.foreign || of.edited || of.doomed || simTags.KeyHash(of.Tags) != a.Key.Hash() {
			continue
		}
		supply += s.supplyOf(of)
	}
	s.notePassedOver()
	if a.Bought > max(0, wait-supply) {
		s.fail("I5: %d more are bought for the key, %d claimants wait, and there are %d nodes for them", a.Bought, wait, supply)
	}
}

// notePassedOver counts the instances that cannot be read when something is bought: their
// claimants get another one.
func (s *sim) notePassedOver() {
	for _, i := range s.instances {
		if !i.unread.passed && s.unreadable(i, s.Now) {
			i.unread.passed = true
			s.facts.passed++
		}
	}
}

// supplyOf is how many nodes of a pool can serve, as far as the process was shown them. One
// that replaced another does not change the count, so for as long as no answer has told the
// process that a node ended, one of the others seems to be that one. So does an instance that an
// answer showed, of a slot that landed late and that none has shown: it seems to have come into
// one of the known slots. A node whose removal this process sent makes no room. If it was replaced
// right before, the new node seems to be the one that is removed.
func (s *sim) supplyOf(of *simPool) int {
	supply := 0
	for _, slot := range of.slots {
		switch known, serves := slot.since <= s.known(of).asOf, s.serves(of, slot); {
		case known && serves:
			supply++
		case !known && !serves && slot.instance != nil && slot.instance.seenBy == s.process.life+1:
			supply--
		}
	}
	for _, i := range s.instances {
		if i.pool == of && !i.lives() && (i.slot.doomedBy != s.process.life+1 || i.slot.replaced) && i.toldEnd != s.process.life+1 {
			supply--
		}
	}
	return max(0, supply)
}

// learnEnd notes that an answer tells the process that nodes ended: two reads of one that
// found nothing, the settle time apart, a reading that shows it leaving, or a read of the pool that had listed it, which
// began the settle time after its end, and lacks it. A read of the pool that shows it takes
// back what another read of the pool told: either may be the older one.
func (s *sim) learnEnd(e *simEffect) {
	for _, shown := range e.result.Instances {
		if i := s.instance(shown.ID); i != nil && shown.State == lkepool.Leaving {
			i.toldEnd, i.sureEnd = s.process.life+1, s.process.life+1
		}
	}
	i := s.instance(e.action.InstanceID)
	s.learnUnfound(e, i)
	switch {
	case e.action.Op == OpGetInstance && i != nil && e.result.Err == nil && e.result.Instance.State == lkepool.Leaving:
		i.toldEnd, i.sureEnd = s.process.life+1, s.process.life+1
	case e.action.Op == OpGetInstance && i != nil && !i.lives() && e.asOf >= i.ended && claims.KindOf(e.result.Err) == claims.KindNotFound:
		if i.missedBy != s.process.life+1 {
			i.missedBy, i.missedAt = s.process.life+1, s.Now
		} else if e.sent >= i.missedAt+s.plan.settle() {
			i.toldEnd, i.sureEnd = s.process.life+1, s.process.life+1
		}
	case e.action.Op == OpGetPool && e.result.Err == nil:
		for _, i := range s.instances {
			if i.pool.ID != e.action.PoolID || i.lives() || i.slot.shownBy != s.process.life+1 {
				continue
			}
			shown := slices.ContainsFunc(e.result.Pool.Slots, func(slot lkepool.Slot) bool { return slot.InstanceID == i.ID })
			switch {
			case !shown && e.asOf >= i.ended+s.plan.settle():
				i.toldEnd = s.process.life + 1
			case shown && i.sureEnd != s.process.life+1:
				i.toldEnd = 0
			}
		}
	}
}

// learnUnfound notes a read of an instance that lives and was answered 404, because the answer was old or wrong.
func (s *sim) learnUnfound(e *simEffect, i *simInstance) {
	switch {
	case e.action.Op != OpGetInstance || i == nil || i.gone:
	case e.result.Err == nil:
		i.unfoundAt = 0
	case claims.KindOf(e.result.Err) == claims.KindNotFound && i.unfoundAt == 0:
		i.unfoundAt = s.Now
	}
}

// waits reports whether a call of the claimant waits for a node.
func (s *sim) waits(c *simClaimant) bool {
	return slices.ContainsFunc(s.waiting, func(w simCaller) bool { return w.ask.Kind == AskClaim && w.ask.Request.Claimant == c.Claimant })
}

// serves reports whether a node that waits, or comes into this slot, can be handed out. A slot that has been empty for 90 seconds does
// not count. A node on its way counts for four times as long as the slowest of the last nodes took, and for 90 seconds at least. One that
// replaces another seems to be of a count that was accepted before without effect, and late, until an answer shows its instance.
func (s *sim) serves(of *simPool, slot *simSlot) bool {
	i := slot.instance
	switch {
	case slot.doomedBy > 0 || slot.removed:
		return false
	case slot.replaces && of.vain > 0 && (i == nil || i.seenBy != s.process.life+1):
		return false
	case i == nil:
		return s.Now-slot.since < simShortest
	}
	if s.marking(func(e *simEffect) bool { return e.action.InstanceID == i.ID }) {
		return false
	}
	off := i.State == lkepool.Down && s.Now-slot.since > s.delays.idMost+s.delays.boot
	return i.lives() && !off && !i.edited && !i.troubled && simTags.ClaimIn(i.Tags).None() && !simTags.Removing(i.Tags) &&
		!slices.ContainsFunc(s.claimants, func(c *simClaimant) bool { return c.alive && c.handed == i.ID })
}

// marking reports whether such a claim is under way, apart from claims on instances of
// which an answer told the process that they ended, or are to be removed: these give no claimant a node.
func (s *sim) marking(such func(*simEffect) bool) bool {
	return slices.ContainsFunc(s.inflight, func(e *simEffect) bool {
		if e.action.Op != OpMark || !such(e) {
			return false
		}
		i := s.instance(e.action.InstanceID)
		return i == nil || i.toldEnd != s.process.life+1 && i.toldRemoving != s.process.life+1 && !i.pool.gone
	})
}

// doom notes a removal that was sent, and that the platform did not certainly refuse.
func (s *sim) doom(a Action) {
	of, slot := s.slot(a.PoolID, a.NodeID)
	if slot != nil && a.Op == OpRemove {
		slot.doomedBy = s.process.life + 1
	}
	if of != nil && (a.Op == OpDrop || a.Op == OpRetire) {
		of.doomed = true
	}
}
