package belief

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// contradiction is what a reading of a pool says against what is known of it.
type contradiction struct {
	// shape: it has another count, or was edited. slots: it lacks a slot, or the instance
	// of one; unexplained: and no own removal explains that.
	shape, slots, unexplained bool
}

// contradiction compares a reading of a pool with what is known. Slots that are new are none.
func (e poolEvidence) contradiction(p *Pool, reading lkepool.Pool) (c contradiction) {
	for _, s := range p.KnownSlots {
		if !shows(reading.Slots, s.Slot) {
			n, known := e.Nodes.Get(s.InstanceID)
			c.slots = true
			c.unexplained = c.unexplained || !known || n.Removed.IsZero() || n.Removal.Listed
		}
	}
	c.shape = reading.Count != p.Count || reading.Autoscaled != p.Autoscaled || reading.InstanceType != p.InstanceType ||
		!slices.Equal(reading.Tags, p.Tags) || !reading.Template.Equal(p.Template)
	return c
}

// shows reports whether slots have one, with its instance if it has any.
func shows(slots []lkepool.Slot, s lkepool.Slot) bool {
	return slices.ContainsFunc(slots, func(other lkepool.Slot) bool {
		return other.NodeID == s.NodeID && (s.InstanceID == 0 || other.InstanceID == s.InstanceID)
	})
}
