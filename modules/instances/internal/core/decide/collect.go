package decide

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// list returns the next step of a call that lists: it reads the instances that the list lacks although it must show them.
func (t collector) list() event.Step {
	if s := t.reader.list(t.call.Began(), "a caller lists"); !s.None() {
		return s
	}
	nodes := t.known.Nodes()
	var pending event.Step
	for _, n := range nodes {
		if !t.known.Lacking(n) {
			continue
		}
		missing, _, since := n.Missing()
		if missing && !since.Before(t.call.Began()) && !t.known.Reading(n.ID()).Running {
			continue // it answered 404: the next list reads it again
		}
		_, s := t.directly(n.ID(), t.call.Began(), "the list lacks it")
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
	for _, n := range nodes {
		all = append(all, t.known.Describe(n))
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

// Sweep returns the findings about all instances, and the instances that no claimant needs. alive are the claimants that
// exist.
func Sweep(k known.View, c callers.View, alive []claims.ClaimID) (found Survey, unneeded []int) {
	t := collector{reader{&turn{known: k, callers: c}}}
	found.Unclaimed = k.Unclaimed()
	for _, n := range k.Nodes() {
		if t.unneeded(n, alive) {
			unneeded = append(unneeded, n.ID())
			if t.now().Sub(k.Orphan(n.ID())) >= k.Settings().OrphanTTL || t.resend(n) {
				found.Orphans = append(found.Orphans, k.Describe(n).Node)
			}
		}
		if k.Stripped(n) && !k.Removing(n) && slices.ContainsFunc(alive, n.Claimant().Is) {
			found.Stripped = append(found.Stripped, n.ID())
		}
	}
	return found, unneeded
}

// unneeded reports whether no existing claimant needs the instance. Its claimant does not exist or has another instance,
// or it was not finished in time, or its removal is to be repeated.
func (t collector) unneeded(n *known.Node, alive []claims.ClaimID) bool {
	exists := func(who claims.ClaimID) bool { return slices.ContainsFunc(alive, who.Is) }
	if t.awaited(n.Claimant()) || t.known.Disputed(n) {
		return false
	}
	if holder, held := t.known.Holder(n.ID()); held && exists(holder) {
		return false
	}
	switch {
	case !exists(n.Claimant()), t.resend(n):
		return true
	case t.known.Unfinished(n) && !t.known.Build(n).Ran():
		return t.now().Sub(n.First()) > t.known.Settings().FinishTimeout
	}
	return t.known.Has(n.Claimant())[0] != n
}

// awaited reports whether a caller waits for the claimant's instance, or its creation is under way.
func (t collector) awaited(who claims.ClaimID) bool {
	return t.callers.Awaits(who) || t.known.UnderWay(who)
}
