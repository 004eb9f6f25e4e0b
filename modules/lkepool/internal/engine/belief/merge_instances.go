package belief

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// instanceEvidence applies readings of instances.
type instanceEvidence struct{ *Belief }

func (e instanceEvidence) mergeList(d event.Done) {
	if !e.InstanceList.end(d, e.cfg.RetryDelay, e.now) {
		return
	}
	seen := map[int]bool{}
	for _, reading := range d.Instances {
		seen[reading.ID] = true
		if t, absent := e.Absent.Nodes.Get(reading.ID); absent && !t.Evidence.Hear(e.listing(d, true), e.bounds(), t.Removed) {
			continue
		}
		if !reading.Foreign {
			e.seeInstance(reading, d.Began, false)
		}
	}
	for _, n := range slices.Clone(e.Nodes.Rows) {
		if !seen[n.ID] {
			e.lacked(n, e.listing(d, false))
		}
	}
	// What it shows for the first time was not seen to arrive.
	e.InstanceList.witnessed = e.InstanceList.witnessed || e.listed(d.Began, e.StartedAt)
	e.pruneNodes(d.Began)
}

// mergeInstance applies a direct read of an instance.
func (e instanceEvidence) mergeInstance(d event.Done) {
	n, known := e.Nodes.Get(d.Action.InstanceID)
	if !known {
		return
	}
	n.Direct.Agrees = false
	switch n.Direct.end(d, e.cfg.RetryDelay, e.now) {
	case missing:
		n.Vouched = false
		e.lacked(n, e.direct(d, false))
	case found:
		if d.Instance.Foreign {
			n.Instance, n.Home, n.Tagged, n.answered = d.Instance, 0, d.Began, e.now
			e.Index.moved()
			return
		}
		n.Direct.Agrees = true
		e.seeInstance(d.Instance, d.Began, true)
	}
}

// lacked follows a fact that lacks the node, and forgets it when it is proven gone. A
// pool without it proves nothing: the instance outlives its slot.
func (e instanceEvidence) lacked(n *Node, f absence.Fact) {
	if n.Evidence.Hear(f, e.bounds(), n.removedAt()); !n.Evidence.Ended.IsZero() {
		e.forgetNode(n)
	}
}

// meetNode records an instance that is new, or whose proof of being gone was refuted: one
// that was condemned stays so.
func (e instanceEvidence) meetNode(id int) *Node {
	n := &Node{Trace: Trace{Evidence: absence.Evidence{First: e.now}}}
	n.ID = id
	if t, back := e.Absent.Nodes.Get(id); back {
		n.Trace = *t
	}
	if !n.Removed.IsZero() {
		n.become(Condemned)
		n.Removal.Listed = true // it was shown longer after than a reading may be out of date
	}
	e.Absent.Nodes.drop(id)
	e.Nodes.put(id, n)
	e.Index.moved()
	return n
}

func (e instanceEvidence) forgetNode(n *Node) {
	n.become(gone)
	e.Nodes.drop(n.ID)
	e.Index.moved()
	t := n.Trace
	e.Absent.Nodes.put(n.ID, &t)
	if p, ok := e.Pools.Get(n.Home); ok {
		if s := p.slot(n.Slot); s != nil && s.InstanceID == n.ID {
			s.InstanceID, s.Vacant, s.lost = 0, e.now, n.Removed.IsZero()
		}
	}
}

// seeInstance applies what a reading or a write's answer shows of an instance.
func (e instanceEvidence) seeInstance(reading lkepool.Instance, began time.Time, direct bool) {
	n, known := e.Nodes.Get(reading.ID)
	who := e.Tags.ClaimIn(reading.Tags)
	if !known {
		n = e.meetNode(reading.ID)
		n.Arrived = !direct && e.InstanceList.witnessed && e.listed(began, e.StartedAt)
	}
	outranked := n.Claim.source > shown && !e.shows(began, n.Claim.At, direct)
	// Either reading may be the older one, and the tags of the platform or of a
	// person must not be lost by the next write.
	switch {
	case outranked:
		reading.Tags = claims.Union(n.Tags, slices.DeleteFunc(slices.Clone(reading.Tags), e.Tags.OfClaim))
	case !n.Tagged.IsZero() && !e.Settled(began, n.answered):
		reading.Tags = claims.Union(reading.Tags, slices.DeleteFunc(slices.Clone(n.Tags), e.Tags.OfClaim))
	}
	state := max(n.State, reading.State)
	if n.State != lkepool.Leaving {
		state = reading.State
	}
	n.Instance, n.State, n.Vouched = reading, state, n.Vouched || direct
	n.Tagged, n.answered = Latest(n.Tagged, began), e.now
	n.Evidence.Hear(absence.Fact{Began: began, Answered: e.now, Direct: direct, Shows: true}, e.bounds(), n.removedAt())
	if reading.PoolID != 0 && n.Slot == "" && n.Detached.IsZero() {
		if n.Home != reading.PoolID {
			e.Index.moved()
		}
		n.Home = reading.PoolID
	}
	e.mergeClaim(n, who, began, direct)
}

// mergeClaim applies the claim that a reading shows, or does not show.
func (e instanceEvidence) mergeClaim(n *Node, who claims.ClaimID, began time.Time, direct bool) {
	h := &n.Claim
	h.ClaimedAt = Latest(h.ClaimedAt, e.Tags.ClaimedAtOf(n.Tags))
	switch {
	case n.Written():
		// The write's own answer is to come.
	case who.None() && n.Phase == Unsure:
		h.Lacking = h.Lacking || e.shows(began, h.At, direct)
		if e.shows(began, h.At.Add(e.cfg.LateEffect), direct) {
			n.free(e.now)
		}
	case n.Claimed() && !h.Who.Is(who):
		h.Lacking = h.Lacking || e.shows(began, h.At, direct)
	case n.Claimed():
		h.Lacking = h.Lacking && !direct
	case who.None():
	default:
		n.become(Held)
		*h = claim{Who: who, At: began, Since: e.now, ClaimedAt: h.ClaimedAt, Failed: h.Failed, GivenUp: h.GivenUp && h.Who.Is(who)}
		e.Index.claimed(n)
	}
}

// pruneNodes forgets, after a list of instances that began then, what nothing refers
// to any more: the world is as large as the cluster.
func (e instanceEvidence) pruneNodes(began time.Time) {
	for _, id := range slices.Clone(e.Absent.Nodes.ids) {
		if t, _ := e.Absent.Nodes.Get(id); t.outdated(began, e.PoolList.Began) {
			e.Absent.Nodes.drop(id)
		}
	}
	for _, n := range slices.Clone(e.Nodes.Rows) {
		lacks := n.Evidence.Lacking()
		if lacks.IsZero() || n.Direct.Busy {
			continue
		}
		switch removed := n.Removed; {
		case n.Phase == Free && !e.Owned(n):
			e.Nodes.drop(n.ID) // of another owner
			e.Index.moved()
		case !removed.IsZero() && lacks.Sub(removed) > tuning.GoneMemory && lacks.Sub(n.Evidence.Last) > tuning.GoneMemory:
			e.forgetNode(n)
		}
	}
	for value := range e.Index.ByClaim {
		e.NodesOf(value)
	}
}
