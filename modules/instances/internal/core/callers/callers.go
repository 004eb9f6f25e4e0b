// Package callers records the waiting calls, their claimants, and the positions of claimants in the queue for creations. It admits and
// dismisses calls, and forgets claimants whose callers do not come back. No other code changes these records. Package decide gets a [View]
// and calls. They export no field, so that a decision cannot change a record: it returns a [Note], and the core applies the note.
//
// The package imports event, byclaim and tuning, never known or decide. The caller of [View.Turn] says which claimants are
// ready for a creation.
package callers

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/byclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Callers has the calls that wait for an answer, and the claimants whose calls waited lately.
type Callers struct {
	claimants byclaim.Index[*Claimant]
	// queue contains the claimants that need a creation, in the order of their arrival.
	queue []*Claimant
}

// New returns Callers without a caller.
func New() *Callers { return &Callers{claimants: byclaim.Index[*Claimant]{}} }

// Claimant is the record of a claimant that waits for an instance, or waited lately.
type Claimant struct {
	id claims.ClaimID
	// waiting counts its calls; left is the time at which the last one ended.
	waiting int
	left    time.Time
	queued  bool
}

// Claimant returns the ID of the claimant.
func (c *Claimant) Claimant() claims.ClaimID { return c.id }

// Call is one caller that waits.
type Call struct {
	ask   event.Ask
	began time.Time
	// seq is the number of the call among calls and results.
	seq event.Seq
	// who is the claimant of AskCreate, nil for other calls.
	who *Claimant
}

// Ask is the caller's request, Began when it came, and Seq its number among calls and results.
func (c *Call) Ask() event.Ask   { return c.ask }
func (c *Call) Began() time.Time { return c.began }
func (c *Call) Seq() event.Seq   { return c.seq }

// Who is the claimant of AskCreate, nil for other calls.
func (c *Call) Who() *Claimant { return c.who }

// View has the questions that decisions ask. No question changes a record.
type View struct{ c *Callers }

// View returns the questions that decisions ask.
func (c *Callers) View() View { return View{c} }

// Admit records a call that begins.
func (c *Callers) Admit(ask event.Ask, now time.Time, seq event.Seq) *Call {
	call := &Call{ask: ask, began: now, seq: seq}
	if ask.Order != nil {
		who, known := c.claimants.Get(ask.Order.Who)
		if !known {
			who = &Claimant{id: ask.Order.Who}
			c.claimants.Add(who)
		}
		who.waiting++
		call.who = who
	}
	return call
}

// Dismiss records that a call ended.
func (c *Callers) Dismiss(call *Call, now time.Time) {
	if call.who != nil {
		call.who.waiting--
		call.who.left = now
	}
}

// Awaits reports whether a caller waits for the claimant's instance.
func (v View) Awaits(who claims.ClaimID) bool {
	return slices.ContainsFunc(v.c.claimants.Matching(who), func(c *Claimant) bool { return c.waiting > 0 })
}

// Needs reports whether a claimant has a caller or a position in the queue.
func (c *Callers) Needs(who claims.ClaimID) bool {
	claimant, known := c.claimants.Get(who)
	return known && (claimant.waiting > 0 || claimant.queued)
}

// Away reports whether no caller has waited for a claimant within ReadKept.
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
