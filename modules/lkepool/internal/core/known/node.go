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
	// home is the ID of the instance's pool, 0 if it is not known.
	home int
	// left is when its pool stopped listing the instance. It is zero while the pool lists it, and if the pool never has.
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

// Home is the ID of the instance's pool, 0 if it is not known.
func (n *Node) Home() int { return n.home }

// First is when this process learned of the instance, or of its present claim.
func (n *Node) First() time.Time { return n.claim.Since }

// Identified reports whether a reading showed the instance itself, or this process saw it arrive. Otherwise only its ID is known, from
// the pool that lists it.
func (n *Node) Identified() bool { return !n.rec.Shown.IsZero() || n.rec.Origin == record.Arrived }

// Leaving reports whether the instance is being removed, or gone.
func (n *Node) Leaving() bool {
	return n.rec.Value.State == lkepool.Leaving || !n.rec.Removing.IsZero() || !n.rec.Gone.IsZero()
}

// leavesAt reports whether the instance is Leaving, for a reading that began at began. An accepted removal has had no effect if a reading
// still shows the instance that began the duration after, or more, later than the acceptance: leavesAt then returns false. Example: the
// platform accepts the removal at 10:00:00, and after is 1 min. A reading that began at 10:01:00 and shows the instance shows that the
// removal had no effect.
func (n *Node) leavesAt(began time.Time, after time.Duration) bool {
	if r := &n.rec; r.Removed.IsZero() || !r.Gone.IsZero() || r.Value.State == lkepool.Leaving || began.Before(r.Removed.Add(after)) {
		return n.Leaving()
	}
	return false
}

// Serves reports whether the claimant has the instance, and may get it again.
func (n *Node) Serves(who claims.ClaimID) bool {
	return n.claim.Held() && n.claim.Of(who) && !n.Leaving()
}

// occupies reports whether the instance takes a place of its pool. listed: the pool lists the instance. twice: two reads of it, the settle
// time apart, were answered 404. An instance without a claimant that is known only by its ID takes no place: the place may be a hole,
// whose Linode is gone. A claimed instance that was answered 404 keeps its place while the pool lists it, until the second 404.
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
