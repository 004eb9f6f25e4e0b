package known

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// World contains the latest known state of the cluster's instances.
type World struct {
	*Terms
	Nodes   map[int]*Node
	ByClaim byclaim.Index[*Node]
	// Gone maps instances that are proven gone to the time of the proof.
	Gone  map[int]time.Time
	Reads map[int]*Read
	List  Listing
	// Unclaimed contains instances with the tag of the cluster and without a claim.
	Unclaimed []claims.Node
	// Writes contains the writes that may still take effect, by instance. They outlive
	// a Begin.
	Writes map[int]*Write
}

func newWorld(t *Terms, writes map[int]*Write) World {
	return World{
		Terms: t, Nodes: map[int]*Node{}, ByClaim: byclaim.Index[*Node]{}, Gone: map[int]time.Time{},
		Reads: map[int]*Read{}, Writes: writes,
	}
}

// Sorted returns the instances in the order of their IDs.
func (w *World) Sorted() []*Node {
	return slices.SortedFunc(maps.Values(w.Nodes), func(a, b *Node) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
}

// Has returns the instances of a claimant. The one in the caller's own records is
// first, then finished ones, then instances that are not being removed.
func (w *World) Has(who claims.ClaimID) []*Node {
	own := w.ByClaim.Matching(who)
	if len(own) < 2 {
		return own
	}
	rank := func(n *Node) int {
		holder, held := w.Holder(n.InstanceID)
		switch {
		case held && holder.Is(who):
			return 0
		case w.Condemned(n):
			return 3
		case !w.Unfinished(n):
			return 1
		}
		return 2
	}
	slices.SortFunc(own, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return own
}

// Holder returns the claimant of an instance according to the caller's own records.
func (w *World) Holder(id int) (claims.ClaimID, bool) {
	claimant, held := w.Settings.Records.Holder(id)
	return w.Tags.ID(claimant), held
}

// Stripped reports whether the tags that make the instance its claimant's were
// removed. Tags of another claimant are a conflict instead.
func (w *World) Stripped(n *Node) bool {
	return !w.Tags.Ours(n.Instance) && !n.Foreign && w.Tags.ClaimIn(n.Tags).None()
}

// Disputed reports whether the instance has tags of another claimant than its own.
func (w *World) Disputed(n *Node) bool {
	now := w.Tags.ClaimIn(n.Tags)
	return n.Foreign || !now.None() && !now.Is(n.Who)
}

// Condemned reports whether a removal was sent that was accepted, or that may have
// been. A removal of an earlier term without an answer counts for as long as it may take
// effect.
func (w *World) Condemned(n *Node) bool {
	if !n.Removal.Accepted.IsZero() {
		return true
	}
	u := w.Writes[n.InstanceID]
	return u != nil && u.condemned && (u.term == w.Term || w.Now.Before(u.Until))
}

// Leaving reports whether the instance is being removed.
func (w *World) Leaving(n *Node) bool { return w.Condemned(n) || n.BeingDeleted() }

// Unfinished reports whether the instance still lacks disks, its configuration or its
// boot. The mark counts also when a user has removed it.
func (w *World) Unfinished(n *Node) bool { return n.Build.Marked || w.Tags.IsUnfinished(n.Tags) }

// Inherited returns the time from which readings show every write to the instance of
// the process that led before, zero if this process made it.
func (w *World) Inherited(n *Node) time.Time {
	if !n.Made.IsZero() {
		return time.Time{}
	}
	return w.SettledAt()
}

// Restored returns the tags of an instance, and the tags that came with its claim
// if the claim was removed.
func (w *World) Restored(n *Node) []string {
	tags := slices.Clone(n.Tags)
	if w.Stripped(n) {
		tags = claims.Union(tags, n.claimedTags)
	}
	switch {
	case n.Build.Ran:
		return w.Tags.Finished(tags)
	case w.Unfinished(n):
		return claims.Union(tags, []string{w.Tags.Unfinished})
	}
	return tags
}

// View returns a copy of the instance for callers, with its health.
func (w *World) View(n *Node) event.Instance {
	i := n.Instance
	i.Tags, i.IPv4 = slices.Clone(i.Tags), slices.Clone(i.IPv4)
	i.Claim = n.Who.Value
	switch {
	case w.Leaving(n):
		i.Health = claims.Deleting
	case w.Unfinished(n):
		i.Health = claims.Unfinished
	case i.Status != "running" && w.Now.Sub(n.First) > w.Settings.BootTimeout:
		i.Health = claims.Stopped
	}
	return i
}
