package decide

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// collector lists instances, and finds the instances that nothing needs.
type collector struct{ *reader }

// list returns the next step of a call that lists: it reads the instances that the list
// lacks although it must show them.
func (c *collector) list(call *callers.Call) event.Step {
	if s := c.reader.list(call.Began, call.Seq, "a caller lists"); !s.None() {
		return s
	}
	began := c.known.World.List.Began
	var pending event.Step
	for _, n := range c.known.World.Sorted() {
		if !n.Listed.Before(began) || began.Sub(n.Seen()) <= c.known.Settings.ListLag {
			continue
		}
		if l := c.known.World.Reads[n.InstanceID]; l != nil && !l.Absence.Since().Before(call.Began) && !l.Running {
			continue // it answered 404: the next list reads it again
		}
		_, s := c.directly(n.InstanceID, call.Began, call.Seq, "the list lacks it")
		switch {
		case s.Effect != nil || s.End != nil:
			return s
		case s.Wait:
			pending = s
		}
	}
	if pending.Wait {
		return pending
	}
	var all []event.Instance
	for _, n := range c.known.World.Sorted() {
		all = append(all, c.known.World.View(n))
	}
	return event.End(event.Answer{Instances: all})
}

// Survey lists the findings of a sweep.
type Survey struct {
	// Orphans have been unneeded for OrphanTTL.
	Orphans []claims.Node
	// Stripped are instances of existing claimants that lost their claim's tags.
	Stripped []int
	// Unclaimed have the tag of the cluster and no claim.
	Unclaimed []claims.Node
}

// Survey returns the actions on the instances when these claimants exist. It
// also records when each one became unneeded.
func (d *Decider) Survey(alive []claims.ClaimID) Survey {
	c := d.collect
	return Survey{Orphans: c.orphans(alive), Stripped: c.stripped(alive), Unclaimed: slices.Clone(c.known.World.Unclaimed)}
}

func (c *collector) orphans(alive []claims.ClaimID) []claims.Node {
	var orphans []claims.Node
	for _, n := range c.known.World.Sorted() {
		unneeded := c.unneeded(n, alive)
		n.Unneeded(unneeded, c.now())
		if unneeded && (c.now().Sub(n.Orphan) >= c.known.Settings.OrphanTTL || c.resend(n)) {
			orphans = append(orphans, c.known.World.View(n).Node)
		}
	}
	return orphans
}

// unneeded reports whether no existing claimant needs the instance, because it has
// none or is served by another instance.
func (c *collector) unneeded(n *known.Node, alive []claims.ClaimID) bool {
	exists := func(who claims.ClaimID) bool { return slices.ContainsFunc(alive, who.Is) }
	if c.awaited(n.Who) || c.known.World.Disputed(n) {
		return false
	}
	if holder, held := c.known.World.Holder(n.InstanceID); held && exists(holder) {
		return false
	}
	switch {
	case !exists(n.Who), c.resend(n):
		return true
	case c.known.World.Unfinished(n) && !n.Build.Ran:
		return c.now().Sub(n.First) > c.known.Settings.FinishTimeout
	}
	return c.known.World.Has(n.Who)[0] != n
}

// awaited reports whether a caller waits for the claimant's instance, or it is being made.
func (c *collector) awaited(who claims.ClaimID) bool {
	return c.callers.Awaits(who) || c.known.Purchases.UnderWay(who)
}

func (c *collector) stripped(alive []claims.ClaimID) []int {
	var ids []int
	for _, n := range c.known.World.Sorted() {
		if c.known.World.Stripped(n) && !c.known.World.Condemned(n) && slices.ContainsFunc(alive, n.Who.Is) {
			ids = append(ids, n.InstanceID)
		}
	}
	return ids
}
