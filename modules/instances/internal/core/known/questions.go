package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Now is the time, Term the term of leadership, and Started when that term began.
func (v Times) Now() time.Time     { return v.k.now }
func (v Times) Term() int          { return v.k.term }
func (v Times) Started() time.Time { return v.k.started }

// Settings are the settings of the engine, and Tags the tags of instances.
func (v Times) Settings() tuning.Settings { return v.k.settings }
func (v Times) Tags() tagging.Tags        { return v.k.tags }

// SettledAt returns the time from which direct readings show every write of the previous leader.
func (v Times) SettledAt() time.Time { return v.k.settledAt() }

// ShownAt returns the time from which lists show every instance made by the previous leader.
func (v Times) ShownAt() time.Time { return v.k.shownAt() }

// CompleteAt returns the earliest beginning of a list that must show every instance made by the previous leader. At first this list
// shows instances of requests that took effect at once; after ShownAt a list also has to show instances that were made late. CompleteAt
// is zero while no such list is possible: until then labels and the list of FreshAt prevent a second instance.
func (v Times) CompleteAt() time.Time {
	for _, at := range []time.Time{v.k.shownAt(), v.k.started.Add(v.k.settings.SettleTime + v.k.settings.ListLag)} {
		if !v.k.now.Before(at) {
			return at
		}
	}
	return time.Time{}
}

// FreshAt returns the earliest beginning of the list that a creation needs while no list can be complete, and otherwise zero. A later
// list shows more instances of the previous leader, also instances that a user renamed, whose labels prevent nothing.
func (v Times) FreshAt() time.Time {
	if !v.CompleteAt().IsZero() {
		return time.Time{}
	}
	return v.k.now.Add(-tuning.FirstLists)
}

// List is the record of the lists of the cluster's instances.
func (v Times) List() Listing {
	l := &v.k.list
	return Listing{Running: l.running, Began: l.began, Failed: l.seq, Err: l.err}
}

// Slot returns the time from which the next creation may be sent, the zero time for after the next answer.
func (v Times) Slot() time.Time { return v.k.pace.slot(v.k.now) }

// SlotOf estimates the wait of the claimant at a position, with the next slot known.
func (v Times) SlotOf(position int, next time.Time) time.Duration {
	windows := (position - 1) / v.k.pace.limit
	return next.Sub(v.k.now) + time.Duration(windows)*tuning.CreationWindow
}

// Blocked is the time until which no creation is sent, after a 429.
func (v Times) Blocked() time.Time { return v.k.pace.blocked }

// Reading is the record of the direct readings of an instance.
func (v Requests) Reading(id int) Reading {
	r := v.k.reads[id]
	if r == nil {
		return Reading{}
	}
	return Reading{Running: r.running, Failed: r.seq, Err: r.err, NotBefore: r.notBefore, Tried: r.tried, Repeats: r.repeats}
}

// Busy reports whether a write to an instance, or a reading of its parts, is under way.
func (v Requests) Busy(id int) bool { return v.k.busy[id] }

// FailedSince returns the last error of such a request after a call began, nil for none.
func (v Requests) FailedSince(id int, call event.Seq) error { return v.k.failed[id].since(call) }

// Aside reports whether tags may not be written yet, because other tags without an answer may still take effect after them.
func (v Requests) Aside(n *Node, tags []string) bool {
	u := v.k.unanswered[n.ID()]
	return u != nil && u.tags != nil && v.k.now.Before(n.rec.Aside) && !slices.Equal(u.tags, tags)
}

// NextLook returns when an instance whose tags may still change is read next.
func (v Requests) NextLook(n *Node) time.Time {
	return v.k.unanswered[n.ID()].nextLook(n.rec.Aside, v.k.now)
}

// LooksAt returns the time of the next reading of an instance whose tags may still change, zero if they cannot.
func (v Requests) LooksAt(id int) time.Time {
	if u := v.k.unanswered[id]; u != nil && u.tags != nil && v.k.now.Before(v.k.nodes[id].rec.Aside) {
		return u.look
	}
	return time.Time{}
}

// Comes returns the time until which a request without an answer may still make a disk with the label. The request is not repeated
// before that time, because labels of disks are not unique.
func (v Requests) Comes(n *Node, label string) time.Time {
	if u := v.k.unanswered[n.ID()]; u != nil {
		return u.disks[label]
	}
	return time.Time{}
}

// Purchase returns the record of the creations for a claimant, an empty one if it has none.
func (v Requests) Purchase(who claims.ClaimID) *Purchase {
	if p, known := v.k.purchases.Get(who); known {
		return p
	}
	return &Purchase{who: who}
}

// UnderWay reports whether a creation for the claimant is under way.
func (v Requests) UnderWay(who claims.ClaimID) bool {
	return slices.ContainsFunc(v.k.purchases.Matching(who), func(p *Purchase) bool { return p.busy })
}

// Refusal returns the refusal with a key, nil for none.
func (v Requests) Refusal(key string) error {
	if refused, ok := v.k.refusals[key]; ok && v.k.now.Before(refused.until) {
		return refused.err
	}
	return nil
}

// OwnerShownAt returns the time from which lists show the instance with a refused label: the instance that had the label when it was
// refused, or an instance of a later creation without an answer.
func (v Requests) OwnerShownAt(p *Purchase) time.Time {
	return Latest(p.labelTaken.Add(v.k.settings.ListLag), p.lands.until, v.k.shownAt())
}

// Owned counts instances by type: the instances that exist, and the instances of other claimants that are being or may still be
// created.
func (v Requests) Owned(but *Purchase) map[string]int {
	owned := map[string]int{}
	for _, p := range v.k.purchases.All() {
		if p == but || len(v.k.byClaim.Matching(p.who)) > 0 {
			continue
		}
		if p.busy {
			owned[p.instanceType]++
		}
		if v.k.unlanded(p) && (!p.busy || p.instanceType != p.lands.instanceType) {
			owned[p.lands.instanceType]++
		}
	}
	for _, n := range v.k.nodes {
		if n.ours() {
			owned[n.rec.Value.InstanceType]++
		}
	}
	return owned
}

// CountedAt returns the time from which lists show all instances that ceilings count, including instances of the previous leader and of
// creations without an answer for other claimants.
func (v Requests) CountedAt(but *Purchase) time.Time {
	since := v.k.shownAt()
	for _, p := range v.k.purchases.All() {
		if p != but && !v.k.now.Before(p.lands.until) {
			since = Latest(since, p.lands.until)
		}
	}
	return since
}
