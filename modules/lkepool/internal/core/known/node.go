package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Node has the record of one instance.
type Node struct {
	rec   record.Record[lkepool.Instance]
	claim record.Claim
	// home is the pool that it belongs to, 0 for none that is known.
	home int
	// left is when its pool did not list it any more, zero while it does or never has.
	left time.Time
}

// ID is the platform's ID of the instance.
func (n *Node) ID() int { return n.rec.Value.ID }

// Value is the instance as it was read last.
func (n *Node) Value() lkepool.Instance { return n.rec.Value }

// Record is a copy of all that is known of the instance itself.
func (n *Node) Record() record.Record[lkepool.Instance] { return n.rec }

// Claim is the claim on the instance.
func (n *Node) Claim() record.Claim { return n.claim }

// Home is the ID of its pool, 0 for none that is known.
func (n *Node) Home() int { return n.home }

// First is when this process learned of it, or of the claim that it has.
func (n *Node) First() time.Time { return n.claim.Since }

// Identified reports whether a reading showed the instance itself, or this process saw it arrive. Otherwise its ID alone is known, from
// the pool that lists it.
func (n *Node) Identified() bool { return !n.rec.Shown.IsZero() || n.rec.Origin == record.Arrived }

// Leaving reports whether the instance is about to go, as far as is known.
func (n *Node) Leaving() bool {
	return n.rec.Value.State == lkepool.Leaving || !n.rec.Removing.IsZero() || !n.rec.Gone.IsZero()
}

// leavesAt reports whether the instance is about to go as far as a reading can tell that began then. A removal that was accepted longer
// before that had no effect.
func (n *Node) leavesAt(began time.Time, after time.Duration) bool {
	if r := &n.rec; r.Removed.IsZero() || !r.Gone.IsZero() || r.Value.State == lkepool.Leaving || began.Before(r.Removed.Add(after)) {
		return n.Leaving()
	}
	return false
}

// Serves reports whether the claimant has the instance, and may be given it again.
func (n *Node) Serves(who claims.ClaimID) bool {
	return n.claim.Held() && n.claim.Of(who) && !n.Leaving()
}

// occupies reports whether the instance takes a place of its pool, which lists it or not. One that is known by its ID alone may be a
// hole, a place whose Linode is gone: it takes none unless it has a claimant. One that was answered 404 keeps its place for its claimant
// while the pool lists it, until a second 404 the settle time later.
func (n *Node) occupies(listed, twice bool) bool {
	r := &n.rec
	switch {
	case !r.Gone.IsZero() || r.Value.State == lkepool.Leaving:
		return false
	case !r.Removed.IsZero():
		return listed // its removal was accepted, and has had no effect
	case n.claim.Held():
		return r.Missing.IsZero() || listed && !twice
	}
	return r.Missing.IsZero() && n.Identified()
}

// Usable reports whether nothing is in doubt about the instance at a time.
func (n *Node) Usable(now time.Time) bool { return n.rec.Usable(now) }
