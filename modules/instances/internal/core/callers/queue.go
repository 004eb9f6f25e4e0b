package callers

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Note is a change of the queue that a decision chooses: see [Callers.Apply].
type Note struct {
	who   claims.ClaimID
	joins bool
}

// Joins notes that a claimant needs a creation, and Leaves that it no longer needs a creation.
func Joins(who claims.ClaimID) Note  { return Note{who, true} }
func Leaves(who claims.ClaimID) Note { return Note{who, false} }

// Apply carries out what a decision noted.
func (c *Callers) Apply(notes []Note) {
	for _, n := range notes {
		if n.joins {
			c.join(n.who)
		} else {
			c.Leave(n.who)
		}
	}
}

// join appends a claimant to the queue, unless it has a position.
func (c *Callers) join(who claims.ClaimID) {
	if claimant, known := c.claimants.Get(who); known && !claimant.queued {
		claimant.queued = true
		c.queue = append(c.queue, claimant)
	}
}

// Leave ends the position of a claimant.
func (c *Callers) Leave(who claims.ClaimID) {
	if claimant, known := c.claimants.Get(who); known && claimant.queued {
		claimant.queued = false
		c.queue = slices.DeleteFunc(c.queue, func(other *Claimant) bool { return other == claimant })
	}
}

// Queued reports whether the claimant has a position.
func (v View) Queued(who *Claimant) bool { return who.queued }

// Turn returns the first claimant in the queue that has a caller and is ready for a creation, nil
// without such a claimant.
func (v View) Turn(ready func(claims.ClaimID) bool) *Claimant {
	for _, who := range v.c.queue {
		if who.waiting > 0 && ready(who.id) {
			return who
		}
	}
	return nil
}

// Position returns the claimant's position, 1 for the first, and the number waiting.
func (v View) Position(who *Claimant) (at, of int) {
	return slices.Index(v.c.queue, who) + 1, len(v.c.queue)
}

// Expire ends the positions of claimants whose callers left longer than PositionKept ago.
func (c *Callers) Expire(now time.Time) {
	for _, who := range slices.Clone(c.queue) {
		if who.waiting == 0 && now.Sub(who.left) > tuning.PositionKept {
			c.Leave(who.id)
		}
	}
}
