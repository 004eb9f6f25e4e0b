package decide

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// next returns the next step of a call that wants an instance.
func (t creator) next() event.Step {
	p := t.known.Purchase(t.ask.Order.Who)
	if p.Busy() {
		return event.Wait(time.Time{})
	}
	// Before a creation, instances of the claimant are found whatever their labels are.
	if s := t.list(t.known.CompleteAt(), "instances that exist"); !s.None() {
		return s
	}
	if own := t.known.Has(p.Claimant()); len(own) > 0 {
		return t.finish(p, own[0])
	}
	return t.make(p)
}

// make creates the instance, after the engine has found out whether the instance exists already.
func (t creator) make(p *known.Purchase) event.Step {
	order := t.ask.Order
	if err := p.FailedSince(t.call.Seq()); err != nil {
		return event.Refuse(err)
	}
	switch {
	case p.LabelOwner() != 0:
		return t.inspectOwner(p)
	case !p.Ambiguous().IsZero() || !p.LabelTaken().IsZero():
		return t.resolve(p)
	}
	for _, key := range []string{order.Capacity, order.Form} {
		if err := t.known.Refusal(key); err != nil {
			return t.refuse(p, err)
		}
	}
	if s := t.list(t.known.FreshAt(), "look for instances of the previous leader"); !s.None() {
		return s
	}
	if s := t.fit(p); !s.None() {
		return s
	}
	if !t.callers.Queued(t.call.Who()) {
		t.chosen.Callers = append(t.chosen.Callers, callers.Joins(p.Claimant()))
		return event.Step{}
	}
	if t.callers.Turn(t.ready) != t.call.Who() {
		return event.Wait(time.Time{})
	}
	if at := t.known.Slot(); at.IsZero() || at.After(t.now()) {
		return event.Wait(at)
	}
	return t.do(event.Effect{Op: event.OpCreate, Who: p.Claimant(), Order: order, Reason: "no instance of this claimant"})
}

// leave notes that a claimant needs no creation any more.
func (t creator) leave(p *known.Purchase) {
	if t.callers.Queued(t.call.Who()) {
		t.chosen.Callers = append(t.chosen.Callers, callers.Leaves(p.Claimant()))
	}
}

// refuse ends a call that needs no creation any more.
func (t creator) refuse(p *known.Purchase, err error) event.Step {
	t.leave(p)
	return event.Refuse(err)
}

// ready reports whether a claimant can use its turn. A claimant that has an instance, whose creation is under way, or whose label is
// searched lets the others pass.
func (t creator) ready(who claims.ClaimID) bool {
	p := t.known.Purchase(who)
	return len(t.known.Has(who)) == 0 && !p.Busy() && !p.Resolving()
}

// fit applies the ceilings. They count each instance until it is proven gone, and each creation that may still take effect. Nothing is
// created until a list shows all instances of the previous leader.
func (t creator) fit(p *known.Purchase) event.Step {
	settings := t.known.Settings()
	if !settings.Bounded() {
		return event.Step{}
	}
	if s := t.list(t.known.CountedAt(p), "instances that the ceilings count"); !s.None() {
		return s
	}
	types := []string{t.ask.Order.InstanceType}
	if last, until := p.Lands(); t.now().Before(until) && last != types[0] {
		types = append(types, last) // either type may be made
	}
	owned := t.known.Owned(p)
	for _, instanceType := range types {
		if _, err := settings.Fit("create", instanceType, 1, owned); err != nil {
			return t.refuse(p, err)
		}
	}
	return event.Step{}
}

// resolve searches for the instance with the label. A creation without an answer may have had its effect. If no list shows the instance,
// the next creation shows it, because the API then refuses the label. If the API refuses the label again, although no list shows its
// owner, the label belongs to another owner's Linode.
func (t creator) resolve(p *known.Purchase) event.Step {
	since := known.Latest(p.Ambiguous(), p.LabelTaken())
	searched, inARow := p.Searched()
	switch {
	case p.Searching():
		return event.Wait(time.Time{})
	case searched.After(since) && p.LabelTaken().IsZero():
		t.note(known.NotMade(p.Claimant()))
		return event.Step{}
	case p.Unshown():
		t.note(known.Resolved(p.Claimant()))
		return t.refuse(p, &claims.Error{
			Kind: claims.KindConflict, Op: "create", Field: "label", Effect: claims.EffectNone,
			Err: fmt.Errorf("the API refuses the label %s as taken, and no list shows a Linode with it: the Linode may be one that the token "+
				"may not read", p.Label()),
		})
	}
	if shown := t.known.OwnerShownAt(p); !p.LabelTaken().IsZero() && !searched.Before(shown) {
		return t.seek(p, shown)
	}
	next := known.Latest(since, searched).Add(tuning.Growing(tuning.FirstFind, tuning.LongestFind, inARow))
	if t.now().Before(next) {
		return event.Wait(next)
	}
	return t.do(event.Effect{Op: event.OpFind, Who: p.Claimant(), Text: p.Label(), Reason: "find the owner of the label"})
}

// seek looks for the owner of a label in the list of the cluster, after a search that had to show the owner. If the list lacks the owner
// as well, the label may be free again, which the next creation shows.
func (t creator) seek(p *known.Purchase, shown time.Time) event.Step {
	if s := t.list(shown, "find the owner of the label in the list"); !s.None() {
		return s
	}
	t.note(known.NotShown(p.Claimant()))
	return event.Step{}
}

// inspectOwner reads the instance that has the label and is not the claimant's.
func (t creator) inspectOwner(p *known.Purchase) event.Step {
	id, since := p.LabelOwner(), t.call.Began().Add(-tuning.RefusalHold)
	if n := t.known.Node(id); n != nil {
		since = known.Latest(since, n.Record().Removed)
	}
	gone, s := t.directly(id, since, "it has the label")
	if !s.None() {
		return s
	}
	t.note(known.Resolved(p.Claimant()))
	var other event.Instance
	if n, seen := t.known.Seen(id); seen && !gone {
		other = n.Value()
	}
	if other.Name != p.Label() {
		t.note(known.Freed(p.Claimant()))
		return event.Step{}
	}
	owner := "does not belong to this cluster"
	if t.known.Tags().Ours(other) {
		owner = fmt.Sprintf("belongs to claimant %s with another UID", t.claimIn(other))
	}
	return t.refuse(p, &claims.Error{
		Kind: claims.KindConflict, Op: "create", Object: claims.Object("instance", other.InstanceID), Field: "label", Effect: claims.EffectNone,
		Err: fmt.Errorf("the Linode has the label %s and %s", p.Label(), owner),
	})
}

// finish returns an instance that exists, or the next step that the instance needs.
func (t creator) finish(p *known.Purchase, n *known.Node) event.Step {
	t.leave(p)
	if p.Resolving() || p.Unshown() {
		t.note(known.Resolved(p.Claimant())) // the owner of the label is known
	}
	needs := t.needs(n)
	if s, ready := t.look(n, needs); !ready {
		return s
	}
	switch {
	case t.known.Disputed(n):
		return event.Refuse(event.Fail(claims.KindConflict, "create", n.ID(), "its tags name another claimant, %s", t.claimIn(n.Value())))
	case t.known.Leaving(n):
		return t.afterRemoval(n)
	case t.known.Stripped(n):
		return t.restore(n)
	case needs.late:
		t.note(known.Abandons(n.ID()))
		return t.delete(n, "not finished in time")
	case needs.building:
		return t.builder.build(n)
	}
	return event.End(event.Answer{Instance: t.known.Describe(n)})
}

// look returns the step that comes before a decision about an existing instance: a wait for other requests about it, a read of its disk
// that is being made, or a current reading. ready: no such step is necessary. The answer to its creation counts as a reading.
func (t creator) look(n *known.Node, needs needs) (s event.Step, ready bool) {
	if s := t.delay(n); !s.None() {
		return s, false
	}
	if disk, _ := t.known.Build(n).Making(); disk != 0 && needs.building && !needs.late && !t.known.Leaving(n) {
		return t.awaitDisk(n, disk), false
	}
	since := t.readSince(n, needs)
	if n.Made() && !n.First().Before(since) {
		return event.Step{}, true
	}
	gone, s := t.directly(n.ID(), since, "the claimant's instance")
	return s, !gone && s.None()
}

// readSince returns the earliest beginning of the reading that is necessary before an instance is returned or changed.
func (t creator) readSince(n *known.Node, needs needs) time.Time {
	since := t.call.Began()
	if needs.building || t.known.Leaving(n) {
		since = known.Latest(since, t.known.Build(n).Since())
	}
	if t.known.Stripped(n) {
		since = known.Latest(since, t.known.Inherited(n))
	}
	if needs.late || t.resend(n) { // a removal follows a current reading
		since = known.Latest(since, t.now().Add(-tuning.ReadValid))
	}
	return since
}

// afterRemoval repeats a removal without effect, and waits until the instance is proven gone.
func (t creator) afterRemoval(n *known.Node) event.Step {
	switch {
	case t.resend(n):
		return t.delete(n, "its removal had no effect")
	case t.known.Build(n).Abandoned():
		return event.Refuse(event.Fail(claims.KindUnavailable, "create", n.ID(),
			"disks and boot were not finished within %s; the instance is being removed", t.known.Settings().FinishTimeout))
	}
	return t.poll(n)
}
