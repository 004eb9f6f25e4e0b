package belief

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Reserve chooses a free node for a claimant; nothing is written yet. A node that was chosen
// for it before is left: its claim is not written again, because that of this one may take
// effect as well.
func (b *Belief) Reserve(n *Node, who claims.ClaimID) {
	n.free(b.now)
	if !n.become(Reserved) {
		return
	}
	n.Claim.Who = who
	b.Index.claimed(n)
	for _, other := range b.NodesOf(who.Value) {
		other.Claim.GivenUp = other.Claim.GivenUp || other != n && other.Claim.Who.Is(who)
	}
}

// Unreserve gives up the nodes that were chosen for a claimant which does not wait
// any more.
func (b *Belief) Unreserve(who claims.ClaimID) {
	for _, n := range b.NodesOf(who.Value) {
		if n.Phase == Reserved && n.Claim.Who.Is(who) {
			n.free(b.now)
		}
	}
}

// Release gives up a node that was chosen and cannot be had.
func (b *Belief) Release(n *Node) { n.free(b.now) }

// Quarantine gives up a node that was chosen and cannot be read.
func (b *Belief) Quarantine(n *Node) {
	n.free(b.now)
	n.Claim.Failed = tuning.MarkAttempts - 1
	b.Marks.failed(n, b.now)
}

// Probe notes a purchase, or a claim that is written, while marks are refused or
// fail: it is the one attempt until the pause has passed again.
func (b *Belief) Probe() {
	if b.Marks.Err != nil || b.Marks.General() {
		b.Marks.Next = b.now.Add(b.Marks.pause)
	}
}
