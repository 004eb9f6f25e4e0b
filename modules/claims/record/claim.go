package record

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// Source is where a claim is known from. A higher source outranks a lower source: see [Claim.Outranks].
type Source int

const (
	// None: there is no claim.
	None Source = iota
	// Sent: this process sent the claim's tag, and no answer or reading has shown it.
	Sent
	// Tag: a reading showed the claim's tag.
	Tag
	// Stored: the claim is in the records of the caller.
	Stored
	// Own: the claim was written, or given to its claimant, by this process.
	Own
)

// Claim is the claim on one object.
type Claim struct {
	Claimant claims.ClaimID
	Source   Source
	Since    time.Time
}

// Held reports whether the object has a claimant. A claim that was only sent does not count yet.
func (c Claim) Held() bool { return c.Source > Sent }

// Of reports whether the claim belongs to this claimant, also if it was only sent.
func (c Claim) Of(who claims.ClaimID) bool { return c.Source > None && c.Claimant.Is(who) }

// Vouched reports whether more than a tag shows the claim. The engine then replaces a tag with another claim.
func (c Claim) Vouched() bool { return c.Source >= Stored }

// Outranks reports whether the claim is kept when another source names another claimant. Of two claims with equal sources the newer claim
// counts, so the claim is kept only against a lower source.
func (c Claim) Outranks(other Source) bool { return c.Source > other }
