package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// Node has the record of one instance: an instance of this cluster, or another instance that a caller asked about, which has no claim.
type Node struct {
	rec   record.Record[event.Instance]
	claim claim
	// again is when a second 404 was answered. Its request began the settle time after rec.Missing or later. again counts only if it is
	// after rec.Missing.
	again time.Time
}

// claim is the claim on an instance.
type claim struct {
	// who is the claimant. It stays, whatever tags are read later.
	who claims.ClaimID
	// tags were last seen or written together with the claim. The engine writes them again when a user removes the claim.
	tags []string
	// first is when this process learned of the instance, zero for an instance of another owner.
	first time.Time
}

// ID is the platform's ID of the instance.
func (n *Node) ID() int { return n.rec.Value.InstanceID }

// Value is the instance as it is known.
func (n *Node) Value() event.Instance { return n.rec.Value }

// Record is a copy of all that is known of the instance itself.
func (n *Node) Record() record.Record[event.Instance] { return n.rec }

// Claimant returns the claimant of the instance.
func (n *Node) Claimant() claims.ClaimID { return n.claim.who }

// First is when this process learned of the instance.
func (n *Node) First() time.Time { return n.claim.first }

// Made reports whether this process made the instance, and got the answer.
func (n *Node) Made() bool { return n.rec.Origin == record.Arrived }

// Missing reports whether a read was answered 404, and no answer has shown the instance since. twice: a second read, at least the settle
// time later, was answered 404, too. since is when the last of these 404s was answered.
func (n *Node) Missing() (missing, twice bool, since time.Time) {
	since = n.rec.Missing
	if twice = !since.IsZero() && n.again.After(since); twice {
		since = n.again
	}
	return !since.IsZero(), twice, since
}

// BeingDeleted reports whether the platform shows that the instance is being removed.
func (n *Node) BeingDeleted() bool { return stateOf(n.rec.Value.Status) == leaving }

// ours reports whether the instance is of this cluster, and not proven gone.
func (n *Node) ours() bool { return n != nil && !n.claim.first.IsZero() && n.rec.Gone.IsZero() }

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
	status := n.rec.Value.Status
	return stateOf(status) == up && status != "provisioning" && status != "busy"
}
