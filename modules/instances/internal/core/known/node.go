package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Node records one instance of this cluster.
type Node struct {
	event.Instance
	// Who is the claimant. It stays, whatever tags are read later.
	Who claims.ClaimID
	// claimedTags contains the tags last seen or written together with the claim. They
	// are written again when a user removes the claim.
	claimedTags []string
	// First is the time of the first reading by this process, Made of the answer to
	// its creation, Tagged of the last write of its tags. An own write outranks readings
	// begun less than SettleTime after it.
	First, Made, Tagged time.Time
	// Read is the beginning of the latest direct reading that shows it, Listed of the
	// latest list. The reading may show changes until answered, the time of its answer.
	Read, Listed, answered time.Time
	// Removal is the latest accepted removal.
	Removal Removal
	// Orphan is the time since which it is unneeded.
	Orphan time.Time
	Failure
	Build Building
}

// Removal records an accepted removal: when, and its seq.
type Removal struct {
	Accepted time.Time
	Seq      int
}

// Claimant returns whose it is.
func (n *Node) Claimant() claims.ClaimID { return n.Who }

// Seen returns the latest time at which the instance is known to have existed.
func (n *Node) Seen() time.Time { return Latest(n.confirmed(), n.Listed) }

// confirmed returns the latest time at which a direct reading or an own write that showed the
// instance was answered.
func (n *Node) confirmed() time.Time { return Latest(n.answered, n.Made, n.Tagged) }

// Unneeded notes whether nothing needs the instance, and since when.
func (n *Node) Unneeded(unneeded bool, now time.Time) {
	switch {
	case !unneeded:
		n.Orphan = time.Time{}
	case n.Orphan.IsZero():
		n.Orphan = now
	}
}

// BeingDeleted reports whether the platform shows that the instance is being removed.
func (n *Node) BeingDeleted() bool { return stateOf(n.Status) == leaving }

// Resent reports whether an accepted removal without effect is old enough to be repeated.
func (r Removal) Resent(now time.Time) bool { return now.Sub(r.Accepted) > tuning.RemovalResend }

// state classifies an instance's status.
type state int

const (
	up state = iota
	down
	leaving
)

// stateOf classifies busy instances as up. A new instance is provisioning.
func stateOf(status string) state {
	switch status {
	case "deleting":
		return leaving
	case "offline", "stopped", "shutting_down", "billing_suspension":
		return down
	}
	return up
}

// started reports whether the instance has been booted.
func (n *Node) started() bool {
	return stateOf(n.Status) == up && n.Status != "provisioning" && n.Status != "busy"
}
