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

// creator makes the instances of claimants.
type creator struct {
	*reader
	build *builder
	tags  *tagger
}

// next repeats try while a decision only leads to another one.
func (c *creator) next(call *callers.Call) event.Step {
	for range 8 {
		if s := c.try(call); !s.None() {
			return s
		}
	}
	return event.Wait(c.now().Add(tuning.FirstPoll))
}

func (c *creator) try(call *callers.Call) event.Step {
	p := c.known.Purchases.Of(call.Ask.Order.Who, call.Ask.Order.Label)
	if p.Busy {
		return event.Wait(time.Time{})
	}
	// Instances are found whatever their label is, before one is created.
	if s := c.list(c.known.CompleteAt(), call.Seq, "instances that exist"); !s.None() {
		return s
	}
	if own := c.known.World.Has(p.Who); len(own) > 0 {
		return c.finish(call, p, own[0])
	}
	return c.make(call, p)
}

// make creates the instance, after it was resolved whether it exists.
func (c *creator) make(call *callers.Call, p *known.Purchase) event.Step {
	order := call.Ask.Order
	switch {
	case p.Failed > call.Seq:
		return event.Refuse(p.Cause)
	case p.LabelOwner != 0:
		return c.inspectOwner(call, p)
	case !p.Ambiguous.IsZero() || !p.LabelTaken.IsZero():
		return c.resolve(call, p)
	}
	for _, key := range []string{order.Capacity, order.Form} {
		if err := c.known.Refusals.Of(key, c.now()); err != nil {
			return c.refuse(p, err)
		}
	}
	if s := c.list(c.known.FreshAt(), call.Seq, "what was made before"); !s.None() {
		return s
	}
	if s := c.fit(call, p); !s.None() {
		return s
	}
	c.callers.Join(call.Who)
	if c.callers.Turn(c.ready) != call.Who {
		return event.Wait(time.Time{})
	}
	c.callers.Expire(c.now())
	if at := c.known.Pace.Slot(c.now()); at.IsZero() || at.After(c.now()) {
		return event.Wait(at)
	}
	return c.do(event.Effect{Op: event.OpCreate, Who: p.Who, Order: order, Reason: "no instance of this claimant"})
}

// refuse ends a call that needs no creation any more.
func (c *creator) refuse(p *known.Purchase, err error) event.Step {
	c.callers.Leave(p.Who)
	return event.Refuse(err)
}

// ready reports whether a claimant can use its turn. A claimant that has an instance, whose
// creation is under way, or whose label is searched lets the others pass.
func (c *creator) ready(who claims.ClaimID) bool {
	p, known := c.known.Purchases.Get(who)
	return len(c.known.World.Has(who)) == 0 && (!known || !p.Busy && !p.Resolving())
}

// fit applies the ceilings. They count what exists until it is proven gone, and what
// may still be made; nothing is made until a list shows all instances of the process
// before.
func (c *creator) fit(call *callers.Call, p *known.Purchase) event.Step {
	if !c.known.Settings.Bounded() {
		return event.Step{}
	}
	if s := c.list(c.known.CountedAt(p), call.Seq, "instances that the ceilings count"); !s.None() {
		return s
	}
	types := []string{call.Ask.Order.InstanceType}
	if last := p.Lands; c.now().Before(last.Until) && last.InstanceType != types[0] {
		types = append(types, last.InstanceType) // either type may be made
	}
	owned := c.known.Owned(p)
	for _, instanceType := range types {
		if _, err := c.known.Settings.Fit("create", instanceType, 1, owned); err != nil {
			return c.refuse(p, err)
		}
	}
	return event.Step{}
}

// resolve searches for the instance with the label. A creation without an answer may
// have had its effect: if no list shows it, the next creation does, because the API
// then refuses the label. One that is refused again, although no list shows who has it,
// is a stranger's.
func (c *creator) resolve(call *callers.Call, p *known.Purchase) event.Step {
	since := known.Latest(p.Ambiguous, p.LabelTaken)
	switch {
	case p.Search.Running:
		return event.Wait(time.Time{})
	case p.Search.Began.After(since) && p.LabelTaken.IsZero():
		p.NotMade()
		return event.Step{}
	case p.Unshown:
		p.Resolved()
		return c.refuse(p, &claims.Error{
			Kind: claims.KindConflict, Op: "create", Field: "label", Effect: claims.EffectNone,
			Err: fmt.Errorf("the API refuses the label %s as taken, and lists no Linode that has it: it may be one that the token does not show",
				p.Label),
		})
	}
	if shown := c.known.OwnerShownAt(p); !p.LabelTaken.IsZero() && !p.Search.Began.Before(shown) {
		return c.seek(call, p, shown)
	}
	next := known.Latest(since, p.Search.Began).Add(tuning.Growing(tuning.FirstFind, tuning.LongestFind, p.Search.InARow))
	if c.now().Before(next) {
		return event.Wait(next)
	}
	return c.do(event.Effect{Op: event.OpFind, Who: p.Who, Text: p.Label, Reason: "who has the label"})
}

// seek looks for the owner of a label in the list of the cluster, after a search that had
// to show it. If the list lacks it as well, the label may be free again, which the next
// creation shows.
func (c *creator) seek(call *callers.Call, p *known.Purchase, shown time.Time) event.Step {
	if s := c.list(shown, call.Seq, "whether it shows who has the label"); !s.None() {
		return s
	}
	p.NotShown()
	return event.Step{}
}

// inspectOwner reads the instance that has the label and is not the claimant's.
func (c *creator) inspectOwner(call *callers.Call, p *known.Purchase) event.Step {
	since := call.Began.Add(-tuning.RefusalHold)
	if n := c.node(p.LabelOwner); n != nil {
		since = known.Latest(since, n.Removal.Accepted)
	}
	gone, s := c.directly(p.LabelOwner, since, call.Seq, "it has the label")
	if !s.None() {
		return s
	}
	p.Resolved()
	var other event.Instance
	if !gone {
		other = c.known.World.Reads[p.LabelOwner].Instance
	}
	if other.Name != p.Label {
		p.Freed()
		return event.Step{}
	}
	owner := "is not of this cluster"
	if c.known.Tags.Ours(other) {
		owner = fmt.Sprintf("is of claimant %s with another UID", c.known.Tags.ClaimIn(other.Tags).Value)
	}
	return c.refuse(p, &claims.Error{
		Kind: claims.KindConflict, Op: "create", Object: claims.Object("instance", other.InstanceID), Field: "label", Effect: claims.EffectNone,
		Err: fmt.Errorf("the Linode has the label %s and %s", p.Label, owner),
	})
}

// finish returns an instance that exists, or the next step that it lacks.
func (c *creator) finish(call *callers.Call, p *known.Purchase, n *known.Node) event.Step {
	c.callers.Leave(p.Who)
	p.Resolved() // the owner of the label is known
	switch {
	case n.Failed > call.Seq:
		return event.Refuse(n.Cause)
	case c.known.Busy[n.InstanceID]:
		return event.Wait(time.Time{})
	}
	world := &c.known.World
	needs := c.build.needs(call.Ask.Order, n)
	if n.Build.Making != 0 && needs.building && !needs.late && !world.Leaving(n) {
		return c.build.awaitDisk(n)
	}
	if since := c.readSince(call, n, needs); n.Made.Before(since) {
		if gone, s := c.directly(n.InstanceID, since, call.Seq, "the claimant's instance"); gone || !s.None() {
			return s
		}
	}
	switch {
	case world.Disputed(n):
		return event.Refuse(event.Fail(claims.KindConflict, "create", n.InstanceID, "its tags name another claimant, %s",
			c.known.Tags.ClaimIn(n.Tags).Value))
	case world.Leaving(n):
		return c.afterRemoval(n)
	case world.Stripped(n):
		return c.tags.restore(n)
	case needs.late:
		n.Build.Abandon()
		return c.delete(n, "not finished in time")
	case needs.building:
		return c.build.next(call.Ask.Order, n)
	}
	return event.End(event.Answer{Instance: world.View(n)})
}

// readSince returns when the reading began, at the earliest, that an instance is returned
// or changed on.
func (c *creator) readSince(call *callers.Call, n *known.Node, needs needs) time.Time {
	since := call.Began
	if needs.building || c.known.World.Leaving(n) {
		since = known.Latest(since, n.Build.Since)
	}
	if c.known.World.Stripped(n) {
		since = known.Latest(since, c.known.World.Inherited(n))
	}
	if needs.late || c.resend(n) { // a removal follows a current reading
		since = known.Latest(since, c.now().Add(-tuning.ReadValid))
	}
	return since
}

// afterRemoval repeats a removal without effect, and waits until the instance is proven
// gone.
func (c *creator) afterRemoval(n *known.Node) event.Step {
	switch {
	case c.resend(n):
		return c.delete(n, "its removal had no effect")
	case n.Build.Abandoned:
		return event.Refuse(event.Fail(claims.KindUnavailable, "create", n.InstanceID,
			"disks and boot were not finished within %s; the instance is being removed",
			c.known.Settings.FinishTimeout))
	}
	return event.Wait(n.Build.Poll(c.now()))
}
