// Package callers records the waiting calls, their claimants, and the positions of
// claimants in the queue for creations. It admits and dismisses calls, and forgets
// claimants whose callers do not come back.
//
// The package reads requests and the time that it is given, and writes only its own
// records. [Callers.Turn] gets the record of the platform as an argument. Package decide
// chooses every step and answer of a call. It changes one field here: a [Call] notes that
// a removal was withdrawn, because this ends with the call. The package imports event,
// byclaim and tuning, never known or decide.
package callers

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Callers are the calls that wait for an answer, and the claimants that did lately.
type Callers struct {
	claimants byclaim.Index[*Claimant]
	// queue contains the claimants that need a creation, in the order of their arrival.
	queue []*Claimant
}

// New has no callers yet.
func New() *Callers { return &Callers{claimants: byclaim.Index[*Claimant]{}} }

// Claimant is the record of a claimant that waits for an instance, or waited lately.
type Claimant struct {
	ID claims.ClaimID
	// waiting counts its calls; left is the time at which the last one ended.
	waiting int
	left    time.Time
	queued  bool
}

// Claimant returns who it is.
func (c *Claimant) Claimant() claims.ClaimID { return c.ID }

// Call is one caller that waits.
type Call struct {
	Ask   event.Ask
	Began time.Time
	// Seq numbers it among calls and results.
	Seq int
	// Who is the claimant of AskCreate, nil for other calls.
	Who *Claimant
	// Withdrawn reports that an instance was needed when it was to be removed.
	Withdrawn bool
}

// Admit records a call that begins.
func (c *Callers) Admit(ask event.Ask, now time.Time, seq int) *Call {
	call := &Call{Ask: ask, Began: now, Seq: seq}
	if ask.Order != nil {
		who, known := c.claimants.Get(ask.Order.Who)
		if !known {
			who = &Claimant{ID: ask.Order.Who}
			c.claimants.Add(who)
		}
		who.waiting++
		call.Who = who
	}
	return call
}

// Dismiss records that a call ended.
func (c *Callers) Dismiss(call *Call, now time.Time) {
	if call.Who != nil {
		call.Who.waiting--
		call.Who.left = now
	}
}

// Awaits reports whether a caller waits for the claimant's instance.
func (c *Callers) Awaits(who claims.ClaimID) bool {
	return slices.ContainsFunc(c.claimants.Matching(who), func(c *Claimant) bool { return c.waiting > 0 })
}

// Needs reports whether a claimant has a caller or a position in the queue.
func (c *Callers) Needs(who claims.ClaimID) bool {
	claimant, known := c.claimants.Get(who)
	return known && (claimant.waiting > 0 || claimant.queued)
}

// Away reports whether no caller has waited for a claimant lately.
func (c *Callers) Away(who claims.ClaimID, now time.Time) bool {
	claimant, known := c.claimants.Get(who)
	return !known || claimant.waiting == 0 && now.Sub(claimant.left) > tuning.ReadKept
}

// Forget drops the record of a claimant.
func (c *Callers) Forget(who claims.ClaimID) {
	if claimant, known := c.claimants.Get(who); known {
		c.claimants.Remove(claimant)
	}
}

// Known returns all claimants, in no order.
func (c *Callers) Known() []*Claimant { return c.claimants.All() }
