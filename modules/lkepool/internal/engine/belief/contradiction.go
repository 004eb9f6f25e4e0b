package belief

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// contradiction has the points in which a reading of a pool contradicts the known facts.
type contradiction struct {
	// shape: it has another count, or was edited. slots: it lacks a slot, or the instance
	// of one; unexplained: and no own removal explains that; lost: not even the slot is there.
	shape, slots, unexplained, lost bool
}

// contradiction compares a reading of a pool with the known facts. Slots that are new are none.
func (e poolEvidence) contradiction(p *Pool, reading lkepool.Pool) (c contradiction) {
	for _, s := range p.KnownSlots {
		if !shows(reading.Slots, s.Slot) {
			unexplained := !e.explained(s)
			c.slots = true
			c.unexplained = c.unexplained || unexplained
			c.lost = c.lost || unexplained && !shows(reading.Slots, lkepool.Slot{NodeID: s.NodeID})
		}
	}
	c.shape = reading.Count != p.Count || reading.Autoscaled != p.Autoscaled || reading.InstanceType != p.InstanceType ||
		!slices.Equal(reading.Tags, p.Tags) || !reading.Template.Equal(p.Template)
	return c
}

// noteCount notes the count that a reading shows. A direct read that may be older than
// what showed a higher one does not refute that: which of them holds is contested.
func (e poolEvidence) noteCount(p *Pool, count int, f absence.Fact) {
	switch m := &p.most; {
	case count > m.count, f.Direct && e.Settled(f.Began, m.answered):
		*m = shownCount{count, f.Answered}
	case count == m.count:
		m.answered = f.Answered
	case f.Direct:
		p.Contested = Latest(p.Contested, m.answered.Add(e.cfg.SettleTime))
	}
}

// shows reports whether slots have one, with its instance if it has any.
func shows(slots []lkepool.Slot, s lkepool.Slot) bool {
	return slices.ContainsFunc(slots, func(other lkepool.Slot) bool {
		return other.NodeID == s.NodeID && (s.InstanceID == 0 || other.InstanceID == s.InstanceID)
	})
}
