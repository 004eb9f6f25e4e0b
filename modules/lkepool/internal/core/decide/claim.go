package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// giveBack answers a claimant that has an instance, or takes the next step of the claim that is being written. It returns false for a
// claimant without an instance.
func (t claimer) giveBack(claim *callers.Claim) bool {
	n := t.held(claim.ID())
	if n == nil {
		if n = t.chosenFor(claim.ID()); n == nil {
			return false
		}
		t.finish(claim, n)
		return true
	}
	if t.ofAnother(claim, n) {
		t.refuse([]*callers.Claim{claim}, &claims.Error{
			Kind: claims.KindConflict, Op: "claim", Object: claims.Object("pool", n.Home()), Effect: claims.EffectNone, Err: fmt.Errorf(
				"instance %d has the claim tag of %s without a UID and belongs to another NodePool, type or template: which claimant owns it "+
					"is not known", n.ID(), n.Claim().Claimant.Value)})
		return true
	}
	if t.busy(tagsOf(n.ID())) || t.settling() {
		return true
	}
	confirmed := n.Claim().Source == record.Own && t.now.Sub(n.Claim().Since) <= tuning.ConfirmedFor
	switch {
	case t.seenNode(n) || confirmed && n.Record().Missing.IsZero():
	case !n.Record().Missing.IsZero():
		t.prove(n)
		return true
	case !t.known.Listed(n), !n.Identified():
		t.readNode(n, "its claimant asks for it again")
		return true
	}
	_, shown := t.known.Pool(n.Home())
	if !shown && !t.readList(poolList, later(n.First(), t.known.Settled()), "the pool of a claimed instance is not known") {
		return true
	}
	t.deliver(claim, event.Answer{Node: t.known.Describe(n)})
	return true
}

// ofAnother reports whether a tag without the claimant's UID may belong to another claimant of the same name: the tag is on an instance of
// another key, and no record of the caller names the instance.
func (t claimer) ofAnother(claim *callers.Claim, n *known.Node) bool {
	p, shown := t.known.Pool(n.Home())
	return n.Claim().Source == record.Tag && claim.ID().UID != "" && n.Claim().Claimant.UID == "" && shown && p.Hash() != claim.Hash()
}

// chosenFor returns the instance to which the tag of a claimant was sent last. An instance that cannot be read or tagged is passed over,
// and the claimant gets another instance. After [tuning.HopelessLimit] such instances the last one that can be read is tried again.
func (t claimer) chosenFor(who claims.ClaimID) *known.Node {
	var chosen, last *known.Node
	passed := 0
	for n := range t.known.ClaimedFor(who) {
		switch {
		case !t.sentTo(n):
		case !t.known.Hopeless(n):
			if chosen == nil || t.sentAt(chosen).Before(t.sentAt(n)) {
				chosen = n
			}
		default:
			if passed++; last == nil || !t.known.Request(instance(n.ID())).Hopeless() {
				last = n
			}
		}
	}
	if chosen == nil && passed >= tuning.HopelessLimit {
		return last
	}
	return chosen
}

func (t claimer) sentAt(n *known.Node) time.Time { return t.known.Request(tagsOf(n.ID())).Started }

// passedFor returns the instances to which a claimant's tag was sent, and for which the claimant does not wait any more.
func (t claimer) passedFor(who claims.ClaimID) (passed []*known.Node) {
	for n := range t.known.ClaimedFor(who) {
		if t.sentTo(n) && t.known.Hopeless(n) {
			passed = append(passed, n)
		}
	}
	return passed
}

// sentTo reports whether a claim was sent to an instance and may be in its tags.
func (t claimer) sentTo(n *known.Node) bool {
	return n.Claim().Source == record.Sent && !n.Leaving() && !t.known.AbsentNode(n)
}

// finish takes the next step of a claim. An instance that this process saw arrive, or of a pool that it made, is claimed without a look: no
// other process has written to it.
func (t claimer) finish(claim *callers.Claim, n *known.Node) {
	arrived := n.Record().Origin == record.Arrived && n.Record().Wrote.IsZero() && t.known.Request(instance(n.ID())).Failed == 0 &&
		claims.KindOf(t.known.Request(tagsOf(n.ID())).Err) != claims.KindNotFound
	switch {
	case !n.Record().Missing.IsZero():
		t.prove(n)
	case t.busy(tagsOf(n.ID())):
		t.readSilent(n)
	case !t.mayMark(claim, n):
		t.readFailed(n)
	case arrived || t.seenNode(n):
		if t.mark(claim, n); t.busy(tagsOf(n.ID())) {
			t.readSilent(n)
		}
	case n.Claim().Source != record.Sent || !t.wait(n.Record().Wrote.Add(t.cfg.SettleTime)):
		t.readNode(n, "look before claiming")
	}
}

// readSilent reads an instance if the write of its tags, and every other write of tags, has had no answer for SilentAfter: the instance
// may not exist any more.
func (t claimer) readSilent(n *known.Node) {
	mark, read := t.known.Request(tagsOf(n.ID())), t.known.Request(instance(n.ID()))
	started := mark.Started
	if mark.Busy == 0 {
		started = t.now // it was chosen in this turn
	}
	if !t.wait(later(started, t.known.Ended(event.OpMark)).Add(tuning.SilentAfter)) && !t.wait(read.Ended.Add(tuning.VerifyAgain)) {
		t.readNode(n, "the answer to its claim is late")
	}
}

// readFailed reads an instance after three failed writes of its tags, when reads show the effect of the last write. If no write had its
// effect, the claimant gets another instance.
func (t claimer) readFailed(n *known.Node) {
	shows := n.Record().Wrote.Add(t.cfg.SettleTime)
	if t.known.Request(tagsOf(n.ID())).Failed >= tuning.MarkAttempts && n.Record().Read.Before(shows) && !t.wait(shows) {
		t.readNode(n, "look before claiming")
	}
}

// mayMark reports whether the claim may be written now: not in the pause after a failed write, and only one at a time while tags are
// refused.
func (t claimer) mayMark(claim *callers.Claim, n *known.Node) bool {
	if err, general, next := t.known.Refused(); (err != nil || general) && (t.now.Before(next) || t.probing()) {
		t.wait(next)
		if err != nil {
			t.deliver(claim, event.Answer{Err: err})
		}
		return false
	}
	return !t.wait(t.known.Request(tagsOf(n.ID())).Until)
}

// mark writes the claim.
func (t claimer) mark(claim *callers.Claim, n *known.Node) {
	request := claim.Request()
	t.do(event.Action{
		Op: event.OpMark, InstanceID: n.ID(), PoolID: n.Home(), Key: request.Key, Reason: "claim for " + request.Claimant.Name,
		Tags: t.known.Tags().ClaimTags(n.Value().Tags, claim.ID(), t.now, request.PoolTags, request.Tags),
	})
}

// probing reports whether a write of tags is under way or chosen: while tags are refused, only one is tried at a time.
func (t claimer) probing() bool {
	for target := range t.sent {
		if target.Op == event.OpMark {
			return true
		}
	}
	return t.known.Busy(event.OpMark) > 0
}

// restored is the reason for writing a claim's tag again.
const restored = "write the claim again"

// restore writes a claim's tag again where more than the tag shows the claimant of an instance, and the tags do not name this claimant.
func (t claimer) restore() {
	for n := range t.known.Astray() {
		if !t.restorable(n) || t.wait(t.restoreDue(n)) || t.settling() {
			continue
		}
		if !t.seenNode(n) {
			t.readNode(n, "a claim's tag is missing, or names another claimant")
			continue
		}
		tags, c := t.known.Tags(), n.Claim()
		t.do(event.Action{Op: event.OpMark, InstanceID: n.ID(), PoolID: n.Home(), Reason: restored,
			Tags: tags.ClaimTags(n.Value().Tags, c.Claimant, cmp.Or(tags.ClaimedAtOf(n.Value().Tags), t.now))})
	}
}

// restoreDue is the end of the pause before a claim's tag is written again: after a failed write, and after an accepted write that did not
// show.
func (t claimer) restoreDue(n *known.Node) time.Time {
	last := t.known.Request(tagsOf(n.ID()))
	if last.Sent.Reason == restored {
		return later(last.Until, last.Ended.Add(tuning.RestoreAgain))
	}
	return last.Until
}

// restorable reports whether the tag of a claim has to be written again.
func (t claimer) restorable(n *known.Node) bool {
	r, c := n.Record(), n.Claim()
	shown := !r.Shown.IsZero() && r.Missing.IsZero() && !n.Leaving()
	if !c.Vouched() || !shown || t.busy(tagsOf(n.ID())) || !t.known.Owned(n) || t.known.Detached(n) {
		return false
	}
	tags := n.Value().Tags
	if who := t.known.Tags().ClaimIn(tags); !who.None() && who.Is(c.Claimant) && !t.known.Tags().Removing(tags) {
		return false
	}
	return !t.refused() && t.held(c.Claimant) == n && t.only(n)
}

// refused reports whether tags are not written for now, because the API refuses them.
func (t claimer) refused() bool {
	err, general, next := t.known.Refused()
	return (err != nil || general) && (t.now.Before(next) || t.probing())
}

// only reports whether an instance is the only instance that its claimant has or had. A second instance is to be removed, so its tag is
// not written again.
func (t claimer) only(n *known.Node) bool {
	if stored, ok := t.known.Stored(n.ID()); ok && stored.Is(n.Claim().Claimant) {
		return true
	}
	for other := range t.known.ClaimedFor(n.Claim().Claimant) {
		if other != n && other.Claim().Vouched() && other.Record().Gone.IsZero() {
			return false
		}
	}
	return true
}

// match hands free instances to claimants in the order in which their first calls came.
func (t claimer) match(d *demand) {
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *callers.Claim) bool {
		if len(d.free) == 0 || t.answered[claim] {
			return t.answered[claim]
		}
		n := d.free[0]
		d.free = d.free[1:]
		t.finish(claim, n)
		return true
	})
}
