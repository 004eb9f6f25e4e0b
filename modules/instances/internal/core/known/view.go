package known

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// View has the questions that decisions ask. No question changes a record.
type View struct {
	Objects
	Times
	Requests
}

// The questions: about instances, about times and lists, about requests and creations.
type (
	Objects  struct{ k *Known }
	Times    struct{ k *Known }
	Requests struct{ k *Known }
)

// Node returns an instance of this cluster, nil if none is known.
func (v Objects) Node(id int) *Node { return v.k.node(id) }

// Nodes returns the instances of this cluster in the order of their IDs.
func (v Objects) Nodes() []*Node {
	all := slices.SortedFunc(maps.Values(v.k.nodes), func(a, b *Node) int { return cmp.Compare(a.ID(), b.ID()) })
	return slices.DeleteFunc(all, func(n *Node) bool { return !n.ours() })
}

// Seen returns the record of an instance of any owner that readings showed or lack, false for none.
func (v Objects) Seen(id int) (*Node, bool) {
	n, known := v.k.nodes[id]
	return n, known
}

// Gone reports whether an instance is proven gone, and returns the time of the proof.
func (v Objects) Gone(id int) (since time.Time, gone bool) {
	if n := v.k.nodes[id]; n != nil {
		since = n.rec.Gone
	}
	return since, !since.IsZero()
}

// Build returns the progress of an instance of this cluster.
func (v Objects) Build(n *Node) *Building { return v.k.builds[n.ID()] }

// Has returns the instances of a claimant. The instance in the caller's own records is first, then come finished instances, unfinished
// instances, and instances that are being removed.
func (v Objects) Has(who claims.ClaimID) []*Node {
	own := v.k.byClaim.Matching(who)
	if len(own) < 2 {
		return own
	}
	rank := func(n *Node) int {
		holder, held := v.Holder(n.ID())
		switch {
		case held && holder.Is(who):
			return 0
		case v.Removing(n):
			return 3
		case !v.Unfinished(n):
			return 1
		}
		return 2
	}
	slices.SortFunc(own, func(a, b *Node) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID(), b.ID())) })
	return own
}

// Holder returns the claimant of an instance according to the caller's own records.
func (v Objects) Holder(id int) (claims.ClaimID, bool) {
	claimant, held := v.k.settings.Records.Holder(id)
	return v.k.tags.ID(claimant), held
}

// Orphan returns the time from which no claimant has needed an instance. It returns the present time for an instance without such a record.
func (v Objects) Orphan(id int) time.Time {
	if since, known := v.k.orphans[id]; known {
		return since
	}
	return v.k.now
}

// Unclaimed returns the instances with the tag of the cluster and without a claim.
func (v Objects) Unclaimed() []claims.Node { return slices.Clone(v.k.list.unclaimed) }

// Existed returns a time at which an instance existed: when this process first knew it, or when this process began to lead. An instance
// that this process did not make was made by a process before it.
func (v Objects) Existed(id int) time.Time {
	if n := v.k.node(id); n != nil {
		return n.claim.first
	}
	return v.k.started
}

// Lacking reports whether the newest list lacks an instance that it has to show.
func (v Objects) Lacking(n *Node) bool {
	shown, began := v.k.list.shown[n.ID()], v.k.list.began
	return shown.Before(began) && began.Sub(Latest(n.rec.Shown, shown)) > v.k.settings.ListLag
}

// Stripped reports whether the tags of its claim were removed from an instance. Tags of another claimant are a conflict instead.
func (v Objects) Stripped(n *Node) bool {
	i := &n.rec.Value
	return !v.k.tags.Ours(*i) && !i.Foreign && v.k.tags.ClaimIn(i.Tags).None()
}

// Disputed reports whether the instance has tags of another claimant than its own, or belongs to another owner.
func (v Objects) Disputed(n *Node) bool {
	now := v.k.tags.ClaimIn(n.rec.Value.Tags)
	return n.rec.Value.Foreign || !now.None() && !now.Is(n.claim.who)
}

// Removing reports whether a removal was sent that was or may have been accepted. A removal of an earlier term without an answer counts
// for as long as it may take effect.
func (v Objects) Removing(n *Node) bool {
	u := v.k.unanswered[n.ID()]
	return !n.rec.Removing.IsZero() || u != nil && u.removal && v.k.now.Before(n.rec.Aside)
}

// Leaving reports whether the instance is being removed.
func (v Objects) Leaving(n *Node) bool { return v.Removing(n) || n.BeingDeleted() }

// Unfinished reports whether the instance still lacks disks, its configuration or its boot. The recorded mark counts also when a user has
// removed its tag.
func (v Objects) Unfinished(n *Node) bool {
	return v.Build(n).marked || v.k.tags.IsUnfinished(n.rec.Value.Tags)
}

// Inherited returns the time from which readings show every write of the previous leader to the instance, zero if this process made the
// instance.
func (v Objects) Inherited(n *Node) time.Time {
	if n.Made() {
		return time.Time{}
	}
	return v.k.settledAt()
}

// Restored returns the tags of an instance, and the tags that came with its claim if the claim was removed.
func (v Objects) Restored(n *Node) []string {
	tags := slices.Clone(n.rec.Value.Tags)
	if v.Stripped(n) {
		tags = claims.Union(tags, n.claim.tags)
	}
	switch {
	case v.Build(n).ran:
		return v.k.tags.Finished(tags)
	case v.Unfinished(n):
		return claims.Union(tags, []string{v.k.tags.Unfinished})
	}
	return tags
}

// Describe returns a copy of the instance for callers, with its health.
func (v Objects) Describe(n *Node) event.Instance {
	i := n.rec.Value
	i.Tags, i.IPv4 = slices.Clone(i.Tags), slices.Clone(i.IPv4)
	i.Claim = n.claim.who.Value
	switch {
	case v.Leaving(n):
		i.Health = claims.Deleting
	case v.Unfinished(n):
		i.Health = claims.Unfinished
	case i.Status != "running" && v.k.now.Sub(n.claim.first) > v.k.settings.BootTimeout:
		i.Health = claims.Stopped
	}
	return i
}
