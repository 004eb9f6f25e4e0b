package belief

import (
	"cmp"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Node is one instance.
type Node struct {
	lkepool.Instance
	// Home is the pool that it belongs to, 0 for none that is known, and Slot
	// the node ID under which that pool lists it.
	Home int
	Slot string
	// Detached is since when its pool has not listed it any more.
	Detached time.Time
	Claim    claimState
	// Tagged is when the reading or write began that Tags come from; the zero
	// time for an instance that only a slot has named so far.
	Tagged time.Time
	// Arrived: this process saw it come, so no earlier one can have claimed it.
	Arrived bool
	// First and last are when it was first seen, and when the newest reading
	// began that showed it.
	First, Last time.Time
	Absence     absence
	Direct      DirectRead
	Removal     removal
}

// claimState is the claim on an instance.
type claimState struct {
	Who   claims.ClaimID
	State ClaimPhase
	// At is when the state began, since when this claimant was first seen here.
	At, Since time.Time
	// ClaimedAt holds the time in the instance's tag.
	ClaimedAt time.Time
	// Own: this process made the claim. wrote: it wrote the tags, which may have
	// been claimed before. Stripped: a reading lacks the claim's tag.
	// witnessed: it was looked up in the caller's own records.
	Own, wrote, Stripped, witnessed bool
	// given: its claimant got it as an answer of this process.
	given bool
	// Lacking: a reading since the write that was not answered lacks the claim.
	Lacking bool
	// Failed counts failed writes in a row that were the instance's fault, Err is
	// the last failure, and Retry the pause after it.
	Failed int
	Err    error
	Retry  backoff
}

// freed is the claimState of an instance that has no claimant any more.
func (h claimState) freed(now time.Time) claimState {
	return claimState{At: now, Failed: h.Failed, Err: h.Err, Retry: h.Retry}
}

// Written reports whether a write of the claim is under way.
func (h claimState) Written() bool { return h.State == Writing || h.State == rewriting }

// Deliver notes that the claimant gets the node as an answer.
func (h *claimState) Deliver() { h.given = true }

// begin notes that the claim is being written, or written again.
func (h *claimState) begin(now time.Time) {
	next := Writing
	if h.State == Unsure {
		next = rewriting
	}
	h.State, h.At, h.Lacking = next, now, false
}

// ClaimPhase is how far a claim is.
type ClaimPhase int

// The phases of a claim, in the order in which it goes through them.
const (
	// Free: no claimant is known.
	Free ClaimPhase = iota
	// Reserved: chosen for a claimant, nothing is written yet.
	Reserved
	// Writing: the write is under way. rewriting: so it is, and an earlier one has
	// failed with an effect that is not known.
	Writing
	rewriting
	// Unsure: the write failed, and its effect is not known.
	Unsure
	// Held: a write's answer or a reading showed the claim.
	Held
)

// absence records when readings lacked an object.
type absence struct {
	// Since is when the first list without it began, Proof when the first
	// direct read began that answered 404, and Second when one did that began the
	// settle time after it.
	Since, Proof, Second time.Time
	// lacks is when the newest reading of what contains the object began that
	// lacks it, and cannot be older than the object.
	lacks time.Time
}

// proven reports whether the object is gone: two direct 404s the settle time apart
// and a later reading of what contains it, or an accepted removal and either a second
// 404 or such a reading.
func (a absence) proven(removed time.Time) bool {
	twice, lacks := !a.Second.IsZero(), !a.lacks.IsZero() && !a.Proof.IsZero()
	if !removed.IsZero() {
		return twice || lacks && !a.lacks.Before(removed)
	}
	return twice && lacks && !a.lacks.Before(a.Second)
}

// missing notes a direct read that was answered 404.
func (a *absence) missing(began time.Time, settle time.Duration) {
	switch {
	case a.Proof.IsZero():
		a.Proof = began
	case settled(began, a.Proof, settle):
		a.Second = cmp.Or(a.Second, began)
	}
}

// DirectRead is the last direct read of an object.
type DirectRead struct {
	// Began and Ended are those of the last one that was answered, with the
	// object or with a 404; Tried is when the last attempt began.
	Began, Ended, Tried time.Time
	// Busy: one is under way. Want: a list contradicts what is known.
	Busy, Want bool
	// Agrees: it contradicted nothing.
	Agrees bool
	// Err is why the newest attempt failed; nil for one that was answered.
	Err   error
	Retry backoff
}

// start notes that the object is being read.
func (l *DirectRead) start(now time.Time) { l.Busy, l.Tried = true, now }

// Failing reports whether reads of the object fail again and again, and not
// because requests are limited.
func (l *DirectRead) Failing() bool {
	return l.Retry.Failed >= tuning.MarkAttempts && claims.KindOf(l.Err) != claims.KindRateLimited
}

// end applies what is the same for every direct read.
func (l *DirectRead) end(d event.Done, first time.Duration, now time.Time) {
	l.Busy = false
	if d.Cancelled {
		return
	}
	if l.Err = d.Err; d.Err != nil && claims.KindOf(d.Err) != claims.KindNotFound {
		l.Retry.fail(now, first, claims.RetryAfterOf(d.Err))
		return
	}
	l.Began, l.Ended, l.Want, l.Err, l.Retry = d.Began, now, false, nil, backoff{}
}

// removal is this process's attempt to remove an instance.
type removal struct {
	// Condemned: a removal was sent that the platform may have carried out, or may
	// still carry out. That never ends, and the instance is not handed out again.
	Condemned bool
	Retry     backoff
	// Accepted is when the platform accepted it. Listed: it still shows the
	// instance, longer after that than a reading may be out of date.
	Accepted time.Time
	Listed   bool
	Busy     bool
	// Err is why the last attempt failed, and Failed when.
	Err    error
	Failed time.Time
}

// failedWith notes an attempt that was not answered with success.
func (r *removal) failedWith(err error, effect bool, now time.Time, first time.Duration) {
	r.Err, r.Failed, r.Condemned = err, now, r.Condemned || effect
	r.Retry.fail(now, first, claims.RetryAfterOf(err))
}

// Present reports whether the node holds one of its pool's slots.
func (n *Node) Present() bool {
	return n.Home != 0 && n.Detached.IsZero() && !n.Leaves()
}

// Leaves reports whether the node is about to go, as far as is known.
func (n *Node) Leaves() bool {
	return n.State == lkepool.Leaving || !n.Removal.Accepted.IsZero() && !n.Removal.Listed
}

// HomeOrNone is the pool of a node that may be unknown.
func (n *Node) HomeOrNone() int {
	if n == nil {
		return 0
	}
	return n.Home
}

// Known reports whether enough is known of the node to say who has it.
func (n *Node) Known() bool { return !n.Tagged.IsZero() || n.Arrived }

// Claimed reports whether the node has a claimant, also while its tags are
// being changed.
func (n *Node) Claimed() bool {
	return n.Claim.State == Held || n.Claim.State == Writing && !n.Claim.Since.IsZero()
}

// Holds reports whether the claimant has the node, and may be given it again.
func (n *Node) Holds(who claims.ClaimID) bool {
	return n.Claimed() && n.Claim.Who.Is(who) && n.State != lkepool.Leaving && !n.Removal.Condemned
}

// removedAt is when the removal of the node was accepted, or that the platform
// reports; the zero time if neither is known.
func (n *Node) removedAt() time.Time {
	if n.State == lkepool.Leaving {
		return cmp.Or(n.Removal.Accepted, n.First)
	}
	return n.Removal.Accepted
}

// ended is an instance that was proven gone. removed: by this process.
type ended struct {
	removed bool
	// at is when that was proven, shown when the newest reading of a pool began that
	// still lists it.
	at, shown time.Time
}
