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
	Phase Phase
	// Home is the pool that it belongs to, 0 for none that is known, and Slot
	// the node ID under which that pool lists it.
	Home int
	Slot string
	// Detached is since when its pool has not listed it any more.
	Detached time.Time
	Claim    claim
	// Tagged is when the reading or write began that Tags come from; the zero
	// time for an instance that only a slot has named so far. They may show what happened
	// until answered, when its answer came.
	Tagged, answered time.Time
	// Arrived: this process saw it come, so no earlier one can have claimed it.
	Arrived bool
	// Vouched: the newest direct read of it, or own write to it, that was answered shows it.
	Vouched bool
	Trace
	Removal removal
}

// claim is the claim on an instance.
type claim struct {
	Who claims.ClaimID
	// At is when the node's phase began, since when this claimant was first seen here.
	At, Since time.Time
	// ClaimedAt holds the time in the instance's tag.
	ClaimedAt time.Time
	source    source
	// witnessed: the caller's own records have it, or no other one, however they lag. given:
	// its claimant got it as an answer of this process.
	witnessed, given bool
	// after is the time in the tag of another node with the claim, if that outranks this one.
	after time.Time
	// GivenUp: another node was chosen for the claimant since.
	GivenUp bool
	// Lacking: a reading since the write lacks the claim's tag.
	Lacking bool
	// Failed counts failed writes in a row that were the instance's fault, Err is
	// the last failure, and Retry the pause after it.
	Failed int
	Err    error
	Retry  backoff
}

// source is where a claim is known from.
type source int

const (
	// shown: a reading, or the caller's own records. rewritten: this process wrote the
	// tags of a claim that was there before. made: it made the claim.
	shown source = iota
	rewritten
	made
)

// Own reports whether this process made the claim.
func (h *claim) Own() bool { return h.source == made }

// Attested reports whether this process wrote the claim, or the caller's own records have
// it, or no other one, however they lag.
func (h *claim) Attested() bool { return h.source > shown || h.witnessed }

// Deliver notes that the claimant gets the node as an answer.
func (h *claim) Deliver() { h.given = true }

// Follow notes that the claim is to have a later time than the one on another node.
func (h *claim) Follow(at time.Time) { h.after = Latest(h.after, at) }

// Overtaken reports whether the claim has to be written again for that.
func (h *claim) Overtaken() bool { return !h.after.IsZero() && !h.ClaimedAt.After(h.after) }

// Dated returns the time that the claim is written again with.
func (h *claim) Dated(now time.Time) time.Time {
	if h.Overtaken() {
		return Latest(now, h.after.Add(time.Second))
	}
	return cmp.Or(h.ClaimedAt, now)
}

// free notes that the instance has no claimant, unless one was seen.
func (n *Node) free(now time.Time) {
	if n.become(Free) {
		n.Claim = claim{At: now, Failed: n.Claim.Failed, Err: n.Claim.Err, Retry: n.Claim.Retry}
	}
}

// writes notes that the claim is being written, or written again.
func (n *Node) writes(now time.Time) {
	next := Writing
	if n.Phase == Unsure {
		next = rewriting
	}
	n.become(next)
	n.Claim.At, n.Claim.Lacking = now, n.Claim.Lacking && !n.Claim.Since.IsZero()
}

// unwritten takes writes back.
func (n *Node) unwritten(now time.Time) {
	switch {
	case !n.Claim.Since.IsZero():
		n.become(Held)
	case n.Phase == rewriting:
		n.become(Unsure)
	case n.Phase == Writing:
		n.free(now)
	}
}

// Written reports whether a write of the claim is under way.
func (n *Node) Written() bool { return n.Phase == Writing || n.Phase == rewriting }

// DirectRead is the last direct read of an object.
type DirectRead struct {
	// Began and Ended are those of the last one that was answered, with the
	// object or with a 404; Tried is when the last attempt began.
	Began, Ended, Tried time.Time
	// Busy: one is under way. Shown: the last one showed the object. Agrees: the last one that
	// showed it contradicted nothing.
	Busy, Shown, Agrees bool
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

// Due is when the object may be read again, after a failure or a 404: an instance that others
// show and that a read does not find is not read all the time.
func (l *DirectRead) Due() time.Time {
	if l.Shown {
		return l.Retry.Until
	}
	return Latest(l.Retry.Until, l.Ended.Add(tuning.ReadAgain))
}

// outcome is the result of a direct read.
type outcome int

const (
	failed outcome = iota
	missing
	found
)

// end notes the end of a direct read.
func (l *DirectRead) end(d event.Done, first time.Duration, now time.Time) outcome {
	l.Busy = false
	if d.Cancelled {
		return failed
	}
	absent := claims.KindOf(d.Err) == claims.KindNotFound
	if l.Err = d.Err; d.Err != nil && !absent {
		l.Retry.fail(now, first, claims.RetryAfterOf(d.Err))
		return failed
	}
	l.Began, l.Ended, l.Err, l.Retry = d.Began, now, nil, backoff{}
	if l.Shown = !absent; absent {
		return missing
	}
	return found
}

// removal is this process's attempt to remove an instance.
type removal struct {
	Retry backoff
	// Listed: the pool still lists the instance, longer after the removal was accepted
	// than a reading may be out of date.
	Listed bool
	Busy   bool
	// Err is why the last attempt failed, and Failed when.
	Err    error
	Failed time.Time
}

// removalFailed notes an attempt to remove the node that was not answered with success.
func (n *Node) removalFailed(err error, now time.Time, first time.Duration) {
	n.Removal.Busy, n.Removal.Err, n.Removal.Failed = false, err, now
	n.Removal.Retry.fail(now, first, claims.RetryAfterOf(err))
	if claims.EffectOf(err) != claims.EffectNone {
		n.become(Condemned)
	}
}

// removalAccepted notes one that was.
func (n *Node) removalAccepted(at time.Time) {
	n.Removal, n.Removed = removal{}, at
	n.become(Condemned)
}

// Present reports whether the node holds one of its pool's slots.
func (n *Node) Present() bool {
	return n.Home != 0 && n.Detached.IsZero() && !n.Leaves()
}

// Leaves reports whether the node is about to go, as far as is known.
func (n *Node) Leaves() bool {
	return n.State == lkepool.Leaving || !n.Removed.IsZero() && !n.Removal.Listed
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

// Claimed reports whether the node has a claimant, also while its tags are being changed,
// and while it is being removed.
func (n *Node) Claimed() bool { return !n.Claim.Since.IsZero() }

// Stripped reports whether the tag of a claim was taken away.
func (n *Node) Stripped() bool { return n.Claimed() && n.Claim.Lacking }

// Holds reports whether the claimant has the node, and may be given it again.
func (n *Node) Holds(who claims.ClaimID) bool {
	return n.Claimed() && n.Claim.Who.Is(who) && n.State != lkepool.Leaving && n.Phase != Condemned
}

// removedAt is when the removal of the node was accepted, or that the platform
// reports; the zero time if neither is known.
func (n *Node) removedAt() time.Time {
	if n.State == lkepool.Leaving {
		return cmp.Or(n.Removed, n.Evidence.First)
	}
	return n.Removed
}

// leave takes the node out of its pool's slots.
func (n *Node) leave(now time.Time) { n.Detached, n.Slot, n.Removal.Listed = now, "", false }
