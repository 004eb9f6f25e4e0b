package belief

import (
	"cmp"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Owned reports whether an instance is of a pool of ours, or was before its
// pool gave it up. A claim that was seen once shows that too, whatever older
// readings show.
func (b *Belief) Owned(n *Node) bool {
	p, known := b.Pools.Get(n.Home)
	return known && p.Ours() || !known && !n.Foreign && (n.Claimed() || slices.Contains(n.Tags, b.Tags.Managed))
}

// Quarantined reports whether writes to the instance have failed so often that its
// claimant gets another one. It does not while one more write is under way.
func (b *Belief) Quarantined(n *Node) bool {
	return !b.Marks.General() && n.Claim.Failed >= tuning.MarkAttempts && !n.Written() &&
		(n.Phase != Unsure || n.Claim.Lacking || n.Direct.Failing())
}

// Assigned returns the node that is being claimed for a claimant, nil if there is none but
// such as were quarantined, or left for another one.
func (b *Belief) Assigned(who claims.ClaimID) *Node {
	for _, n := range b.NodesOf(who.Value) {
		if n.Phase > Free && n.Phase < Held && !n.Claimed() && n.Claim.Who.Is(who) && !n.Claim.GivenUp &&
			(n.Phase == Reserved || !b.Quarantined(n)) {
			return n
		}
	}
	return nil
}

// IsFree reports whether a member may be handed out.
func (b *Belief) IsFree(n *Node) bool {
	return n.Phase == Free && n.Known() && !b.Quarantined(n) && !n.Removal.Busy && b.Health(n) == claims.Healthy
}

// Health is the engine's judgement of an instance.
func (b *Belief) Health(n *Node) claims.Health {
	switch {
	case n.State == lkepool.Leaving:
		return claims.Deleting
	case !n.Detached.IsZero() || n.Home == 0 && !b.PoolList.Began.IsZero() && b.now.Sub(n.Evidence.First) > tuning.UnsettledGrace:
		return claims.Detached
	case n.State == lkepool.Down && b.now.Sub(n.Evidence.First) > b.cfg.BootTimeout:
		return claims.Stopped
	}
	return claims.Healthy
}

// Describe returns an instance as a caller sees it.
func (b *Belief) Describe(n *Node) lkepool.Node {
	node := lkepool.Node{NodeID: n.Slot, PoolID: n.Home, Node: claims.Node{
		InstanceID: n.ID, Name: n.Name, InstanceType: n.InstanceType, Region: n.Region, Status: n.Status, Health: b.Health(n),
		Created: n.Created, Tags: slices.Clone(n.Tags),
	}}
	if n.Claimed() {
		node.Claim = n.Claim.Who.Value
	}
	if p, ok := b.Pools.Get(n.Home); ok {
		node.Template = p.Template.Clone()
		node.InstanceType = cmp.Or(node.InstanceType, p.InstanceType)
	}
	return node
}

// Owning counts the nodes of each instance type that our pools have, those included
// that purchases under way or without an answer may add, and those that a reading shows and
// that no later one has refuted. A count that is sent is not what it adds: another client
// may have lowered the one before.
func (b *Belief) Owning() map[string]int {
	owned := b.Purchases.pending(b.PoolList.Began)
	for _, p := range b.Pools.Rows {
		if p.Ours() {
			owned[p.InstanceType] += max(p.Count, p.Writes.sending, p.Writes.Frozen.Count, p.most.count)
		}
	}
	return owned
}

// OnTheirWay counts the nodes that are on their way in a pool.
func (b *Belief) OnTheirWay(p *Pool) int {
	if !p.Ours() || p.Phase >= Doomed {
		return 0
	}
	return b.Expected(p) - p.Overdue(b.now, b.cfg.PendingTimeout)
}

// Expected counts the nodes of a pool that are on their way, or should be. What two reads
// did not find is no member, also before a list has shown that it is gone: it was
// replaced, or its end is about to be proven.
func (b *Belief) Expected(p *Pool) int {
	members := slices.DeleteFunc(b.Members(p.ID), func(n *Node) bool { return n.Evidence.Twice() })
	p.Expect(max(0, p.Count-len(members)-p.Lost()), b.now)
	return len(p.Pending)
}
