package belief

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// slot is the position of one node in a pool, as last seen.
type slot struct {
	lkepool.Slot
	// seen is when the newest reading was answered that shows it.
	seen time.Time
	// Vacant is since when it has been without an instance. lost: it had one,
	// and whether the platform replaces that is not known.
	Vacant time.Time
	lost   bool
	// uncounted: the pool's count does not stand for it, because what set the count lacks it.
	// direct: it was shown by more than lists, which may be old.
	uncounted, direct bool
}

// slot returns the pool's record of a node ID.
func (p *Pool) slot(nodeID string) *slot {
	at, ok := slices.BinarySearchFunc(p.KnownSlots, nodeID, func(s slot, id string) int { return strings.Compare(s.NodeID, id) })
	if !ok {
		return nil
	}
	return &p.KnownSlots[at]
}

// Shows reports whether a direct read of the pool, or the answer to a purchase, has shown the
// slot of a member: a list alone may be old.
func (p *Pool) Shows(n *Node) bool {
	s := p.slot(n.Slot)
	return s != nil && s.direct
}

// addSlot records a slot that is new. lost: its instance is gone already.
func (p *Pool) addSlot(nodeID string, now time.Time, lost bool) *slot {
	at, _ := slices.BinarySearchFunc(p.KnownSlots, nodeID, func(s slot, id string) int { return strings.Compare(s.NodeID, id) })
	p.KnownSlots = slices.Insert(p.KnownSlots, at, slot{Slot: lkepool.Slot{NodeID: nodeID}, Vacant: now, lost: lost})
	return &p.KnownSlots[at]
}

// Lost counts the slots whose instance is gone.
func (p *Pool) Lost() int {
	n := 0
	for _, s := range p.KnownSlots {
		if s.lost {
			n++
		}
	}
	return n
}

// count sets the pool's count to that of a reading, or of the answer to a write, which
// stands for the slots that this shows.
func (p *Pool) count(shown lkepool.Pool) {
	p.Count = shown.Count
	for i := range p.KnownSlots {
		s := &p.KnownSlots[i]
		s.uncounted = !shows(shown.Slots, lkepool.Slot{NodeID: s.NodeID})
	}
}

// uncount lowers the count by a slot that was removed, if it stands for that.
func (p *Pool) uncount(nodeID string) {
	if s := p.slot(nodeID); s != nil && !s.uncounted {
		p.Count, s.uncounted = max(0, p.Count-1), true
	}
}

// explained reports whether an own removal that was accepted explains that a slot, or its
// instance, is missing.
func (e poolEvidence) explained(s slot) bool {
	n, known := e.Nodes.Get(s.InstanceID)
	return known && !n.Removed.IsZero() && !n.Removal.Listed
}

// dropSlots takes away what a direct read lacks that began the settle time after the
// answer that showed it. What it lacks of younger readings stays, and is contested,
// unless an own removal explains it.
func (e poolEvidence) dropSlots(p *Pool, slots []lkepool.Slot, began time.Time) {
	for i := range p.KnownSlots {
		// An instance that left its slot, which is still there.
		s := &p.KnownSlots[i]
		if s.InstanceID == 0 || shows(slots, s.Slot) || !shows(slots, lkepool.Slot{NodeID: s.NodeID}) || !e.Settled(began, s.seen) {
			continue
		}
		if n, known := e.Nodes.Get(s.InstanceID); known {
			n.leave(e.now)
		}
		s.InstanceID, s.Vacant, s.lost = 0, e.now, true
	}
	p.Contested = time.Time{}
	p.KnownSlots = slices.DeleteFunc(p.KnownSlots, func(s slot) bool {
		switch {
		case shows(slots, s.Slot):
			return false
		case !e.Settled(began, s.seen) && !e.explained(s):
			p.Contested = Latest(p.Contested, s.seen.Add(e.cfg.SettleTime))
			return false
		}
		if n, known := e.Nodes.Get(s.InstanceID); known && n.Slot == s.NodeID {
			n.leave(e.now)
		}
		return true
	})
}

// known returns those of the slots that the pool is known to have.
func (p *Pool) known(slots []lkepool.Slot) []lkepool.Slot {
	return slices.DeleteFunc(slices.Clone(slots), func(s lkepool.Slot) bool { return p.slot(s.NodeID) == nil })
}

// addSlots applies what a reading of a pool shows. Slots that are new, or whose
// instance is new, were seen to arrive if the pool had been witnessed before,
// except where a pool lists its nodes late.
func (e poolEvidence) addSlots(p *Pool, slots []lkepool.Slot, began time.Time, direct bool) {
	for _, reading := range slots {
		if n, known := e.Nodes.Get(reading.InstanceID); known && !direct && n.Home == p.ID && !n.Detached.IsZero() &&
			!e.listed(began, n.Detached) {
			continue // the list may be older than the direct read that lacked the slot
		}
		t, gone := e.Absent.Nodes.Get(reading.InstanceID)
		lost := gone && t.Removed.IsZero()
		if gone {
			t.name(began)
			reading.InstanceID = 0
		}
		s := p.slot(reading.NodeID)
		switch {
		case s != nil:
		case gone && !direct:
			// Either the slot is gone as well, and the list is older than that, or
			// it is a new one. A direct read decides.
			p.Look = p.Look || lost
			continue
		default:
			// A slot whose instance came and died before its pool listed it has had
			// its instance, too.
			s = p.addSlot(reading.NodeID, e.now, lost)
		}
		e.mergeSlot(p, s, reading.InstanceID, began, direct)
	}
}

// mergeSlot applies what a reading shows in a slot: no instance, or this one. What
// contradicts the instance that is known there is left to dropSlots.
func (e poolEvidence) mergeSlot(p *Pool, s *slot, id int, began time.Time, direct bool) {
	if s.InstanceID != 0 && s.InstanceID != id {
		return
	}
	s.seen, s.direct = e.now, s.direct || direct
	if id == 0 {
		return
	}
	s.Vacant = time.Time{}
	n, known := e.Nodes.Get(id)
	if !known {
		n = instanceEvidence(e).meetNode(id)
		n.Arrived = p.witnessed && !e.limits.NodesLag && (direct || e.listed(began, e.StartedAt))
	}
	if !n.Removed.IsZero() && !n.Removal.Listed && (!direct || !e.Settled(began, n.Removed)) {
		return
	}
	s.InstanceID, s.lost = id, false
	if n.Home != p.ID {
		e.Index.moved()
	}
	n.Home, n.Slot, n.Detached = p.ID, s.NodeID, time.Time{}
	n.Removal.Listed = !n.Removed.IsZero()
}
