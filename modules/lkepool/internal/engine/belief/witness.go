package belief

import "github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"

// Witness looks up instances that look free in the caller's own records, and those whose
// claim was only read, until the records show what was written before it was: one that has
// another claimant there is held by that claimant, and its tag is wrong. It need not be of a
// pool that lists it: a claim that was read on such an instance is given back in time, too.
func (b *Belief) Witness() {
	if b.cfg.Records == nil {
		return
	}
	for _, n := range b.Nodes.Rows {
		read := n.Phase == Held && !n.Claim.Own() && !n.Claim.witnessed
		if n.Phase != Free && !read || n.Leaves() || !b.Owned(n) {
			continue
		}
		n.Claim.witnessed = !b.now.Before(n.Claim.Since.Add(tuning.RecordLag))
		if who, ok := b.cfg.Records.Holder(n.ID); ok && (n.Phase == Free || !n.Claim.Who.Is(b.Tags.ID(who))) {
			n.become(Held)
			n.Claim = claim{Who: b.Tags.ID(who), At: b.now, Since: b.now, Lacking: true, witnessed: true}
			b.Index.claimed(n)
		}
	}
}
