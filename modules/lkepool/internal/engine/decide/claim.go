package decide

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// claimer gives nodes back, hands them out and has their claims written.
type claimer struct{ *reader }

// giveBack answers a claimant that has a node, or goes on with the claim that
// is being written. It returns false for one that has none.
func (c *claimer) giveBack(claim *callers.Claim) bool {
	if len(c.known.NodesOf(claim.ID.Value)) == 0 {
		return false // as most claimants of a burst
	}
	n := c.holder(claim.ID)
	if n == nil {
		if n = c.known.Assigned(claim.ID); n == nil {
			return false
		}
		c.finish(claim, n)
		return n.Phase != belief.Free
	}
	if c.claiming(claim, n) || c.copied(claim, n) || c.doubtful(claim, n) {
		return true
	}
	switch {
	case n.Claim.Own() && c.now.Sub(n.Claim.At) <= tuning.ConfirmedFor, c.seenLately(n.Direct):
	case !n.Evidence.Missing.IsZero(), c.now.Sub(n.Evidence.Last) > tuning.FullReadEvery:
		if c.ready(n.Direct.Ended.Add(tuning.VerifyAgain)) {
			c.readNode(n, "its claimant asks for it again")
		}
		return true
	}
	if c.loose(n) {
		return true
	}
	n.Claim.Deliver()
	c.deliver(claim, c.known.Describe(n), nil)
	return true
}

// loose reports whether no pool lists the node, and looks for one, for as long as that may be
// wrong.
func (c *claimer) loose(n *belief.Node) bool {
	if n.Home != 0 && n.Detached.IsZero() || c.ready(belief.Latest(n.Detached, n.Evidence.First).Add(tuning.UnsettledGrace)) {
		return false
	}
	if n.Home == 0 {
		c.freshPools(n.Evidence.First, "no pool of a claimed instance is known")
	} else if c.ready(n.Direct.Ended.Add(tuning.VerifyAgain)) {
		c.readNode(n, "its pool does not list it any more")
	}
	return true
}

// doubtful deals with a claim that matches a claimant by its name alone, on an
// instance of another key: a claim of an earlier version, or one whose UID was
// removed, which may be of another claimant of that name. The caller's own records
// settle it. It returns false for a claim that is beyond doubt.
func (c *claimer) doubtful(claim *callers.Claim, n *belief.Node) bool {
	p, known := c.known.Pools.Get(n.Home)
	if claim.ID.UID == "" || n.Claim.Who.UID != "" || known && p.KeyHash() == claim.Hash {
		return false
	}
	if c.named(n, claim.ID) {
		return false
	}
	if !known && !c.freshPools(belief.Latest(n.Evidence.First, c.known.StartedAt), "the pool of a claim by name alone is not known") {
		return true
	}
	c.deliver(claim, lkepool.Node{},
		&claims.Error{Kind: claims.KindConflict, Op: "claim", Object: claims.Object("pool", n.Home), Effect: claims.EffectNone, Err: fmt.Errorf(
			"instance %d of another NodePool, type or template carries the claim of %s without its UID: whose it is is not known", n.ID,
			n.Claim.Who.Value)})
	return true
}

// copied reports whether another instance carries the claim as well, and the one that the
// claimant would get may be another claimant's by the caller's own records, which lag: a
// person may have copied the tag there.
func (c *claimer) copied(claim *callers.Claim, n *belief.Node) bool {
	another := slices.ContainsFunc(c.known.NodesOf(claim.ID.Value), func(other *belief.Node) bool {
		return other != n && other.Holds(claim.ID)
	})
	return another && !n.Claim.Attested() && !c.named(n, claim.ID) && c.recordsLag()
}

// claiming reports whether a write may still give the claimant another instance
// than the one that it has, and waits for its end: of two that carry its claim
// the one that was claimed later is kept, so that one has to be the answer.
func (c *claimer) claiming(claim *callers.Claim, has *belief.Node) bool {
	n := c.known.Assigned(claim.ID)
	switch {
	case n == nil || n == has || n.Phase == belief.Reserved:
		return false
	case n.Phase == belief.Unsure && c.ready(belief.Latest(n.Claim.At.Add(c.cfg.SettleTime), n.Direct.Ended.Add(tuning.VerifyAgain))):
		c.readNode(n, "a claim was written without an answer")
	}
	return true
}

// finish brings a claim to its end that was begun on an instance.
func (c *claimer) finish(claim *callers.Claim, n *belief.Node) {
	switch {
	case n.Written():
	case n.Phase == belief.Reserved && (n.Evidence.Begun() || !n.Present()):
		c.known.Release(n)
	case n.Phase == belief.Reserved && n.Direct.Failing() && n.Claim.Failed < tuning.MarkAttempts:
		c.known.Quarantine(n)
	case c.unresolved(n):
		if c.ready(n.Claim.At.Add(c.cfg.SettleTime)) {
			c.readNode(n, "a claim was written without an answer")
		}
	case n.Phase == belief.Reserved && n.Arrived && n.Claim.Failed == 0, c.seenLately(n.Direct):
		c.mark(claim, n)
	default:
		c.readNode(n, "look before claiming")
	}
}

// unresolved reports whether a claim without an answer is looked for, instead of written
// again: writes to this instance alone fail.
func (c *claimer) unresolved(n *belief.Node) bool {
	return n.Phase == belief.Unsure && n.Claim.Failed >= tuning.MarkAttempts && !n.Claim.Lacking && !c.known.Marks.General()
}

// mark writes the claim unless marks are refused and it is not time to try.
func (c *claimer) mark(claim *callers.Claim, n *belief.Node) {
	if c.known.Marks.Err != nil {
		if !c.ready(c.known.Marks.Next) {
			// This frees the instance unless a claim may have been written already.
			c.deliver(claim, lkepool.Node{}, c.known.Marks.Err)
			return
		}
		c.known.Probe()
	}
	if !c.ready(n.Claim.Retry.Until) {
		return
	}
	c.do(event.Action{
		Op: event.OpMark, InstanceID: n.ID, PoolID: n.Home, Key: claim.Request.Key, Reason: "claim for " + claim.Request.Claimant.Name,
		Tags: c.known.Tags.ClaimTags(n.Tags, claim.ID, c.now, claim.Request.PoolTags, claim.Request.Tags),
	})
}

// restoreTags writes claims again whose tags were taken away, or outranked.
func (c *claimer) restoreTags() {
	for _, n := range c.known.Nodes.Rows {
		if !c.restorable(n) || !c.ready(n.Claim.Retry.Until) {
			continue
		}
		if n.Evidence.Begun() {
			c.prove(n)
			continue
		}
		if !c.seenLately(n.Direct) {
			c.readNode(n, "a claim's tag is missing or outranked")
			continue
		}
		c.known.Probe()
		c.do(event.Action{Op: event.OpMark, InstanceID: n.ID, PoolID: n.Home, Reason: "write the claim again",
			Tags: c.known.Tags.ClaimTags(n.Tags, n.Claim.Who, n.Claim.Dated(c.now))})
	}
}

// wrong reports whether the tag of a node's claim is missing, or does not outrank the one of a
// node that is to go.
func wrong(n *belief.Node) bool { return n.Stripped() || n.Claim.Overtaken() }

// restorable reports whether a claim is to be written again, and can be. One that was only
// read waits until the caller's own records would show another claimant. While marks are
// refused that is an attempt as good as any.
func (c *claimer) restorable(n *belief.Node) bool {
	refused := c.known.Marks.Err != nil && c.now.Before(c.known.Marks.Next)
	attested := c.cfg.Records == nil || n.Claim.Attested()
	return n.Phase == belief.Held && wrong(n) && attested && n.Present() && !n.Removal.Busy &&
		!c.settling() && !n.Claim.GivenUp && !refused && c.holder(n.Claim.Who) == n // not a second one, which is to go
}

// match hands free instances, in that order, to claimants in the order in
// which their first calls came.
func (c *claimer) match(d *demand) {
	d.waiting = slices.DeleteFunc(d.waiting, func(claim *callers.Claim) bool {
		for len(d.free) > 0 && claim.Waits() {
			n := d.free[0]
			d.free = d.free[1:]
			c.known.Reserve(n, claim.ID)
			if c.finish(claim, n); n.Phase != belief.Free {
				return true
			}
		}
		return !claim.Waits()
	})
}

// handOut orders free instances: those that requests failed for come last.
func handOut(a, b *belief.Node) int {
	failing := func(n *belief.Node) int {
		if n.Direct.Err != nil || n.Claim.Err != nil {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(failing(a), failing(b)), cmp.Compare(a.ID, b.ID))
}
