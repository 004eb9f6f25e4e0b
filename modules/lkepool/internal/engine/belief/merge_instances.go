package belief

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
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
		if end, gone := e.GoneNodes[reading.ID]; gone && listed(d.Began, end.at) {
			delete(e.GoneNodes, reading.ID) // the proof is refuted
		} else if gone {
			continue
		}
		if !reading.Foreign {
			e.seeInstance(reading, d.Began, false)
		}
	}
	for _, n := range slices.Clone(e.Nodes.Rows) {
		if seen[n.ID] || !d.Began.After(n.Last) {
			continue
		}
		n.Absence.Since = cmp.Or(n.Absence.Since, d.Began)
		e.lacked(n, d.Began)
	}
	e.pruneNodes(d.Began)
}

// mergeInstance applies a direct read of an instance.
func (e instanceEvidence) mergeInstance(d event.Done) {
	n, known := e.Nodes.Get(d.Action.InstanceID)
	if !known {
		return
	}
	n.Direct.end(d, e.cfg.RetryDelay, e.now)
	n.Direct.Agrees = false
	switch {
	case claims.KindOf(d.Err) == claims.KindNotFound:
		n.Absence.Since = cmp.Or(n.Absence.Since, d.Began)
		n.Absence.missing(d.Began, e.cfg.SettleTime)
		e.endIfProven(n)
	case d.Err == nil && d.Instance.Foreign:
		n.Instance, n.Home, n.Tagged = d.Instance, 0, d.Began
		e.Index.moved()
	case d.Err == nil:
		n.Direct.Agrees = true
		e.seeInstance(d.Instance, d.Began, true)
	}
}

// lacked notes a list of instances without the node. One that began less than the
// list lag after the node was first seen may be older than the node. A pool without
// it proves nothing: the instance outlives its slot.
func (e instanceEvidence) lacked(n *Node, began time.Time) {
	if listed(began, n.First) {
		n.Absence.lacks = Latest(n.Absence.lacks, began)
		e.endIfProven(n)
	}
}

// endIfProven forgets a node that is proven gone.
func (e instanceEvidence) endIfProven(n *Node) {
	if n.Absence.proven(n.removedAt()) {
		e.forgetNode(n)
	}
}

func (e instanceEvidence) meetNode(id int) *Node {
	n := &Node{First: e.now}
	n.ID = id
	e.Nodes.put(id, n)
	e.Index.moved()
	return n
}

func (e instanceEvidence) forgetNode(n *Node) {
	e.Nodes.drop(n.ID)
	e.Index.moved()
	e.GoneNodes[n.ID] = ended{removed: !n.Removal.Accepted.IsZero(), at: e.now}
	if p, ok := e.Pools.Get(n.Home); ok {
		if s := p.slot(n.Slot); s != nil && s.InstanceID == n.ID {
			s.InstanceID, s.Vacant, s.lost = 0, e.now, n.Removal.Accepted.IsZero()
		}
	}
}

// seeInstance applies what a reading or a write's answer shows of an instance.
func (e instanceEvidence) seeInstance(reading lkepool.Instance, began time.Time, direct bool) {
	n, known := e.Nodes.Get(reading.ID)
	who := e.Tags.ClaimIn(reading.Tags)
	if !known {
		n = e.meetNode(reading.ID)
		n.Arrived = !direct && listed(began, e.StartedAt)
	}
	outranked := n.Claim.wrote && !e.shows(began, n.Claim.At, direct)
	// Either reading may be the older one, and the tags of the platform or of a
	// person must not be lost by the next write.
	switch {
	case outranked:
		reading.Tags = claims.Union(n.Tags, slices.DeleteFunc(slices.Clone(reading.Tags), e.Tags.OfClaim))
	case !n.Tagged.IsZero() && !e.Settled(began, n.Tagged):
		reading.Tags = claims.Union(reading.Tags, slices.DeleteFunc(slices.Clone(n.Tags), e.Tags.OfClaim))
	}
	state := max(n.State, reading.State)
	if n.State != lkepool.Leaving {
		state = reading.State
	}
	n.Instance, n.State = reading, state
	n.Tagged, n.Last, n.Absence = Latest(n.Tagged, began), Latest(n.Last, began), absence{}
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
	case h.Written():
		// The write's own answer is to come.
	case who.None() && h.State == Unsure:
		h.Lacking = h.Lacking || e.shows(began, h.At, direct)
		if e.shows(began, h.At.Add(e.cfg.LateEffect), direct) {
			*h = h.freed(e.now)
		}
	case h.State == Held && !h.Who.Is(who):
		h.Stripped = h.Stripped || e.shows(began, h.At, direct)
	case h.State == Held:
		h.Stripped = h.Stripped && !direct
	case who.None():
	default:
		own := h.Own && h.Who.Is(who)
		*h = claimState{Who: who, State: Held, At: began, Since: e.now, ClaimedAt: h.ClaimedAt, Own: own, Failed: h.Failed}
		e.Index.claimed(n)
	}
}

// pruneNodes forgets, after a list of instances that began then, what nothing refers
// to any more: the world is as large as the cluster.
func (e instanceEvidence) pruneNodes(began time.Time) {
	maps.DeleteFunc(e.GoneNodes, func(_ int, end ended) bool { return began.Sub(Latest(end.at, end.shown)) > tuning.GoneMemory })
	for _, n := range slices.Clone(e.Nodes.Rows) {
		lacks := !n.Absence.lacks.IsZero() && !n.Direct.Busy
		switch removed := n.Removal.Accepted; {
		case lacks && n.Claim.State == Free && !e.Owned(n):
			e.Nodes.drop(n.ID) // of another owner
			e.Index.moved()
		case lacks && !removed.IsZero() && n.Absence.lacks.Sub(removed) > tuning.GoneMemory && n.Absence.lacks.Sub(n.Last) > tuning.GoneMemory:
			e.forgetNode(n)
		}
	}
	for value := range e.Index.ByClaim {
		e.NodesOf(value)
	}
}
