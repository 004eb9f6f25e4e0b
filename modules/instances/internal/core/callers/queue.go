package callers

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Join appends a claimant to the queue, unless it has a position.
func (c *Callers) Join(who *Claimant) {
	if !who.queued {
		who.queued = true
		c.queue = append(c.queue, who)
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
func (c *Callers) Queued(who *Claimant) bool { return who.queued }

// Turn returns the first claimant in the queue with a caller that is ready for a
// creation, nil for none.
func (c *Callers) Turn(ready func(claims.ClaimID) bool) *Claimant {
	for _, who := range c.queue {
		if who.waiting > 0 && ready(who.ID) {
			return who
		}
	}
	return nil
}

// Position returns the claimant's position, 1 for the first, and the number waiting.
func (c *Callers) Position(who *Claimant) (at, of int) {
	return slices.Index(c.queue, who) + 1, len(c.queue)
}

// Expire ends the positions of claimants whose callers left a while ago.
func (c *Callers) Expire(now time.Time) {
	for _, who := range slices.Clone(c.queue) {
		if who.waiting == 0 && now.Sub(who.left) > tuning.PositionKept {
			c.Leave(who.ID)
		}
	}
}
