package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// What must hold after every event; the numbers refer to the package doc's
// guarantees. Writes are judged when they are sent or carried out, answers when
// they are given.

const (
	// simLookAge is how long before a purchase is sent the read of its pool may
	// have begun.
	simLookAge = 10 * time.Second
	// What the documentation promises, not what package tuning has: requests to one instance
	// that fail in a row before its claimant gets another one, for how long that waits for
	// reads of an instance that may be its own, and edited pools that are a person's to mend.
	simAttempts    = 3
	simUnreadable  = 2 * time.Minute
	simEditedPools = 3
	// simShortest is how long a node on its way counts at least.
	simShortest = 90 * time.Second
)

// tagged returns the claimant that exists and whose claim the tags carry.
func (s *sim) tagged(tags []string) *simClaimant {
	id := simTags.ClaimIn(tags)
	if id.None() {
		return nil
	}
	for _, c := range s.claimants {
		if c.alive && c.id.Is(id) {
			return c
		}
	}
	return nil
}

// checkOurs is I4. A pool that does not exist is one whose creation was accepted
// without effect.
func (s *sim) checkOurs(a Action, of *simPool) {
	if of != nil && of.foreign {
		s.fail("I4: %s for pool %d, which is not ours", a.Op, a.PoolID)
	}
}

// checkMark is I1 and I2 for a claim that is written.
func (s *sim) checkMark(e *simEffect) {
	a, sent := e.action, e.sent
	i := s.instance(a.InstanceID)
	if i == nil || i.pool.foreign {
		s.fail("I4: %s for instance %d, which is not ours", a.Op, a.InstanceID)
		return
	}
	if !i.lives() {
		return
	}
	who, before := s.tagged(a.Tags), s.tagged(i.Tags)
	if s.outranked(e) {
		return
	}
	if before != nil && before != who && !i.copied && (!i.lateOf || before.instance == i.ID) && (before.handed == 0 || before.handed == i.ID) {
		s.fail("I1: the claim of %s on instance %d is overwritten", before.Name, i.ID)
	}
	for _, c := range s.claimants {
		if c.alive && c != who && c.handed == i.ID && !s.unknowable(c, i) && !s.copiedOver(e, i) {
			s.fail("I1: instance %d of %s is tagged for another", i.ID, c.Name)
		}
	}
	if at := simTags.ClaimedAtOf(a.Tags); !at.Equal(i.dated) {
		i.dated, i.sent = at, sent
	}
	if who == nil || before == who || who.handed == i.ID || e.fate.kind == faultLate || i.toldRemoving == s.process.life+1 {
		// A claim that lands late makes a second one, which is collected. So does a claim on an instance that a reading has shown since
		// as one that an earlier process removes: the claimant got another one.
		return
	}
	i.decided = sent
	for _, other := range s.instances {
		if other != i && other.lives() && !other.slot.removed && !other.copied && !i.copied && s.tagged(other.Tags) == who &&
			!other.landedLate() && !s.removedBefore(other) && !s.unseen(other, sent) {
			s.fail("I2: %s is given instance %d and has %d", who.Name, i.ID, other.ID)
		}
	}
}

// outranked: the claim is one of an earlier process, whose claimant was never told. This process may have given the instance to another
// claimant, whose claim outranks it and is written again: rule 4 holds at rest.
func (s *sim) outranked(e *simEffect) bool {
	return e.fate.kind == faultLate && e.life != s.process.life
}

// copiedOver: a person copied the claim onto the instance while another one could still land. No
// reading shows that one before it does: the claim that readings show is given back, and
// written again afterwards.
func (s *sim) copiedOver(e *simEffect, i *simInstance) bool {
	return i.copied && (e.life != s.process.life || e.fate.kind == faultLate)
}

// landedLate: the claim landed after the instance was passed over, or in the lead of
// another process, so that its claimant gets another one, and this one is collected.
func (i *simInstance) landedLate() bool {
	return i.late && (i.failed >= simAttempts || i.lateOf)
}

// removedBefore: a reading showed that an earlier process removes the instance, and a claim landed over its tags since. The removal may be
// on its way, too, so that the claimant gets another one.
func (s *sim) removedBefore(i *simInstance) bool { return i.late && i.toldRemoving == s.process.life+1 }

// unseen: an earlier process claimed the instance, and nothing had shown that to
// this one at the time: no reading did, and at its start lists lagged too far behind, or the
// instance was left out of two of them, or in none, because a person took the
// platform's tags away before any reading of its pool could list it. One that a person renamed is in no
// list either, nor is one that a list left out: its pool alone names it, and a list of pools left
// that out before any reading showed it. That costs a surplus node, which is collected; never a second holder.
func (s *sim) unseen(i *simInstance, at time.Duration) bool {
	if i.failed > 0 && s.unreadable(i, at) { // also for the process that claimed it, without an answer
		return true
	}
	if i.shown == s.process.life+1 && i.shownAt <= at || i.marked > s.process.began {
		return false
	}
	if i.omittedFrom == s.process.life && i.omitted > 1 {
		return true
	}
	listed := s.inList(i.Instance) && (i.omittedFrom != s.process.life || i.omitted == 0)
	if i.pool.omittedFrom == s.process.life+1 && !listed && (i.named != s.process.life+1 || i.namedAt > at) {
		return true
	}
	if s.unreadable(i, at) { // and no reading showed whose it is
		return true
	}
	neverListed := s.enterprise && i.edited && i.slot.listed > s.known(i.pool).asOf && !s.inList(i.Instance)
	return i.marked > s.process.began+s.plan.settle()-s.plan.world.lag || neverListed
}

// unreadable: direct reads of this very instance have failed, again and again, for so long
// that no claimant waits for it any more.
func (s *sim) unreadable(i *simInstance, at time.Duration) bool {
	u := i.unread
	if at < i.unreadBefore.until {
		u = i.unreadBefore // a claim that was sent then rests on what was known then
	}
	return u.process == s.process.life+1 && u.times >= simAttempts && at-u.since >= simUnreadable
}

// decided is when it was chosen whose the instance is, now for one that this
// process did not claim.
func (s *sim) decided(i *simInstance) time.Duration {
	if i.decided > s.process.began {
		return i.decided
	}
	return s.Now
}

// omit notes that a list lacks an instance. One that two lists of a process lack is hidden from it.
func (s *sim) omit(id int) {
	i := s.instance(id)
	if i.omittedFrom != s.process.life {
		i.omitted, i.omittedFrom = 0, s.process.life
	}
	if i.omitted++; i.omitted == 2 {
		s.facts.hidden++ // its claimant may get another one
	}
}

// noteRead counts the direct reads of an instance that failed in a row.
func (s *sim) noteRead(id int, err error) {
	i := s.instance(id)
	switch {
	case i == nil:
	case err == nil || claims.KindOf(err) == claims.KindNotFound:
		if i.unread.times > 0 {
			i.unreadBefore = i.unread
			i.unreadBefore.until = s.Now
		}
		i.unread = simUnread{}
	case i.unread.process != s.process.life+1:
		i.unread = simUnread{process: s.process.life + 1, times: 1, since: s.Now}
	default:
		i.unread.times++
	}
}

// show notes which claims a reading showed to the process, and which instances one
// of their pool named.
func (s *sim) show(d Done) {
	if d.Err != nil || s.process.life == 0 {
		return
	}
	for _, reading := range append(d.Instances, d.Instance) {
		if i := s.instance(reading.ID); i != nil && simTags.Removing(reading.Tags) {
			i.toldRemoving = s.process.life + 1
		}
		if i := s.instance(reading.ID); i != nil && s.tagged(reading.Tags) != nil && s.tagged(reading.Tags) == s.tagged(i.Tags) {
			if i.shown != s.process.life+1 {
				i.shown, i.shownAt = s.process.life+1, s.Now
			}
		}
	}
	for _, reading := range append(d.Pools, d.Pool) {
		for _, slot := range reading.Slots {
			if i := s.instance(slot.InstanceID); i != nil && i.named != s.process.life+1 {
				i.named, i.namedAt = s.process.life+1, s.Now
			}
		}
	}
}

// unknowable: the claim was in no record when its tag was taken away by hand, or when the claim of a process before landed over it. The
// answer to that claimant was lost, too, so that no claimant was told of its instance.
func (s *sim) unknowable(c *simClaimant, i *simInstance) bool {
	return i.edited && (c.instance == 0 || !s.plan.known) || i.lateOf && c.instance == 0
}

// answeredBefore: an earlier process answered, the claimant has no record of that, and a
// claim that was sent before landed late on another instance. Both carry its claim, and which of
// them was the answer is nowhere to be read. It has only one: the other is collected.
func (s *sim) answeredBefore(c *simClaimant, had, i *simInstance) bool {
	return c.instance == 0 && c.served < s.process.began && i.late && i.decided < s.process.began &&
		s.tagged(had.Tags) == c && s.tagged(i.Tags) == c
}

// checkHanded is I1 and I2 for an answer.
func (s *sim) checkHanded(c *simClaimant, n lkepool.Node) {
	i := s.instance(n.InstanceID)
	if i == nil {
		s.fail("%s is given instance %d, which never existed", c.Name, n.InstanceID)
		return
	}
	for _, other := range s.claimants {
		if other != c && other.alive && other.handed == i.ID && !s.unknowable(other, i) {
			s.fail("I1: %s is given instance %d of %s", c.Name, i.ID, other.Name)
		}
	}
	if had := s.instance(c.handed); had != nil && had != i && had.lives() && !had.slot.removed && !s.unknowable(c, had) && !i.copied &&
		!s.unseen(had, s.decided(i)) && !s.answeredBefore(c, had, i) {
		s.fail("I2: %s is given instance %d and has %d", c.Name, i.ID, had.ID)
	}
	if who := s.tagged(i.Tags); who != c && i.lives() && !i.edited && !i.lateOf {
		s.fail("I1: %s is given instance %d, which carries the claim %q", c.Name, i.ID, simTags.ClaimIn(i.Tags).Value)
	}
	if simTags.KeyHash(i.pool.Tags) != c.hash && !i.copied {
		s.fail("%s is given instance %d of a pool of another key", c.Name, i.ID)
	}
}

// checkRemoval is I6.
func (s *sim) checkRemoval(a Action, i *simInstance) {
	if i == nil || !i.lives() {
		return
	}
	for _, c := range s.claimants {
		if c.alive && !c.releasing && c.handed == i.ID && !s.unknowable(c, i) && !s.misdated(i) {
			s.fail("I6: %s removes instance %d of %s", a.Op, i.ID, c.Name)
		}
	}
	c := s.tagged(i.Tags)
	if c == nil || c.releasing || i.copied || c.handed != 0 || s.lateOver(i) {
		return
	}
	for _, other := range s.instances {
		if other != i && other.lives() && s.tagged(other.Tags) == c {
			return
		}
	}
	s.fail("I6: %s removes instance %d, which is claimed for %s", a.Op, i.ID, c.Name)
}

// lateOver: the claim is one of an earlier process that landed on the instance of a claimant with a record.
func (s *sim) lateOver(i *simInstance) bool {
	return i.lateOf && slices.ContainsFunc(s.claimants, func(c *simClaimant) bool { return c.alive && c.instance == i.ID })
}

// misdated: earlier processes claimed two instances for one claimant, because the
// first claim was hidden from the second of them or took effect later, and its clock was
// behind that of the first. Of two claims the one that was made later counts, whenever
// either took effect: that is the time in its tags. Without the caller's own records there
// is nothing else to go by.
func (s *sim) misdated(i *simInstance) bool {
	return !s.plan.known && i.marked < s.process.began && slices.ContainsFunc(s.instances, func(other *simInstance) bool {
		return other != i && other.sent < i.sent && simTags.ClaimIn(other.Tags).Is(simTags.ClaimIn(i.Tags)) &&
			!simTags.ClaimedAtOf(other.Tags).Before(simTags.ClaimedAtOf(i.Tags))
	})
}

// checkScale is I9 when the write is sent: what the engine itself read or wrote
// is not lowered.
func (s *sim) checkScale(a Action) {
	for _, e := range s.inflight {
		if e.action.Op == OpScale && e.action.PoolID == a.PoolID && e.action.Count != a.Count {
			s.fail("I9: two counts for pool %d are on their way: %d and %d", a.PoolID, e.action.Count, a.Count)
		}
	}
}

// lookedAt is when the read of a pool began that a write to it rests on. What a
// person did after that could not be seen.
func (s *sim) lookedAt(poolID int) time.Duration {
	began := s.Now - simLookAge
	for _, look := range s.looked {
		if look.pool == poolID {
			began = max(began, look.began)
		}
	}
	return began
}

// checkCount is I9 when the write is carried out.
func (s *sim) checkCount(e *simEffect) {
	a := e.action
	of := s.pool(a.PoolID)
	if of != nil && !of.gone && a.Count < len(of.slots) && of.raised <= e.looked-s.plan.settle() {
		s.fail("I9: count %d is written to pool %d, which has %d", a.Count, of.ID, len(of.slots))
	}
}

// simPrices are the hourly prices of the types of simKeys.
func simPrices(instanceType string) (float64, bool) {
	price, known := map[string]float64{"g6-standard-2": 1, "g6-standard-4": 2}[instanceType]
	return price, known
}

// checkCeiling is rule 12: both ceilings hold whenever a purchase lands, but for nodes
// that people added, and for pools that lists did not show to a new process.
func (s *sim) checkCeiling(a Action) {
	twice := slices.ContainsFunc(s.plan.fates, func(f simFate) bool { return f.kind == faultTwice })
	if s.facts.misled || twice {
		return
	}
	total, price := 0, 0.0
	for _, of := range s.pools {
		if !of.foreign {
			each, _ := simPrices(of.InstanceType)
			total, price = total+len(of.slots), price+each*float64(len(of.slots))
		}
	}
	excess := s.added + s.unremoved
	if s.plan.maxNodes > 0 && total > s.plan.maxNodes+excess {
		s.fail("rule 12: %s makes %d nodes, and at most %d are allowed", a.Op, total, s.plan.maxNodes)
	}
	if s.plan.maxPrice > 0 && price > s.plan.maxPrice+2*float64(excess) {
		s.fail("rule 12: %s makes the nodes cost %g by the hour, and at most %g is allowed", a.Op, price, s.plan.maxPrice)
	}
}

// checkRefusal: no claimant is turned away for want of capacity unless the
// platform refused it, or did not deliver.
func (s *sim) checkRefusal(c *simClaimant, err error) {
	switch claims.KindOf(err) {
	case claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		ceilings := s.plan.maxNodes > 0 || s.plan.maxPrice > 0
		if !s.facts.noRoom && !s.silent(c) && !s.refusedByFate() && !ceilings && !s.facts.unjoined {
			s.fail("I10: %s is refused, and the platform refused nothing: %v", c.Name, err)
		}
	case claims.KindProvisioning, claims.KindUnavailable, claims.KindRateLimited:
	default:
		if len(s.plan.fates) == 0 && len(s.plan.steps) == 0 {
			s.fail("I10: %s is refused without a reason: %v", c.Name, err)
		}
	}
}

// silent: the claimant has waited for 90 seconds or longer, and so has a place of its key's pools for an instance. An instance whose
// removal was accepted without effect seems to be gone after a wrong 404, and one of which reads fail for minutes is passed over. One that
// two groups of wrong 404s hid seems not to have come.
func (s *sim) silent(c *simClaimant) bool {
	since := s.Now - simShortest
	return c.first <= since && slices.ContainsFunc(s.pools, func(of *simPool) bool {
		if of.foreign || simTags.KeyHash(of.Tags) != c.hash {
			return false
		}
		// A node that a person added or took away cannot be told from one that has not come. A count that was accepted without effect
		// before the claimant called promised a node to it, too.
		return of.vain > 0 || of.disturbed > c.first || slices.ContainsFunc(of.slots, func(slot *simSlot) bool {
			i := slot.instance
			return i == nil && slot.since <= since || i != nil && (!i.lives() && slot.since <= since || i.pretended || s.unreadable(i, s.Now) ||
				i.lied && len(s.plan.gaps) > 1)
		})
	})
}

func (s *sim) refusedByFate() bool {
	return slices.ContainsFunc(s.plan.fates, func(f simFate) bool { return f.kind == faultRefused && (f.op == OpCreate || f.op == OpScale) })
}

// checkGone: only an object that is gone is reported as gone. After a removal of ours one
// 404 is proof, so a removal without effect and a spurious 404 deceive it.
func (s *sim) checkGone(c *simClaimant, err error) {
	i := s.instance(c.instance)
	// In a group of 404s the end of an instance that is being deleted shows too early.
	if i != nil && !i.gone && (!s.plan.harsh || i.lives()) && (!i.lied || s.plan.harsh && !i.pretended) {
		s.fail("I6: instance %d of %s is reported as gone: %v", i.ID, c.Name, err)
	}
}

// checkList: a claim that this process wrote or read, or that every list shows which began
// when the answer was asked for, is in it, unless it is in no list and reading it fails.
func (s *sim) checkList(nodes []lkepool.Node, process int, asked time.Duration) {
	for _, c := range s.claimants {
		i := s.instance(c.instance)
		if !c.alive || c.releasing || i == nil || !i.lives() || i.slot.removed || i.edited || process != s.process.life {
			continue
		}
		earlier := c.served < s.process.began && i.shown != s.process.life+1
		lag := s.plan.world.lag + 2*s.plan.settle()
		if earlier && (s.lacking() || asked-c.served < lag || i.failed >= simAttempts) ||
			slices.ContainsFunc(nodes, func(n lkepool.Node) bool { return n.InstanceID == i.ID }) {
			continue
		}
		s.fail("I3: instance %d of %s is missing from a list of the claimed nodes", i.ID, c.Name)
	}
}

// lacking: lists lack entries in this schedule.
func (s *sim) lacking() bool {
	return slices.ContainsFunc(s.plan.fates, func(f simFate) bool { return f.kind == faultLacksOne || f.kind == faultEmpty })
}
