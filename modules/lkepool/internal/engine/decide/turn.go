package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/belief"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// turn is one event's turn: the known facts, who waits, and the choices so far.
type turn struct {
	cfg     lkepool.Config
	limits  lkepool.Limits
	known   *belief.Belief
	callers *callers.Callers
	now     time.Time
	actions []event.Action
	// wakeAt is when the next turn has to be at the latest.
	wakeAt time.Time
}

// at schedules a tick at the given time.
func (t *turn) at(when time.Time) {
	if when.After(t.now) && (t.wakeAt.IsZero() || when.Before(t.wakeAt)) {
		t.wakeAt = when
	}
}

// ready reports whether a time has come, and otherwise schedules a tick at it.
func (t *turn) ready(when time.Time) bool {
	if t.now.Before(when) {
		t.at(when)
		return false
	}
	return true
}

// do chooses an action, and lets belief note it at once: the next choice counts
// with it.
func (t *turn) do(a event.Action) {
	switch a.Op {
	case event.OpScale, event.OpDrop:
		a.NotAfter = t.now.Add(tuning.CountValid)
	case event.OpCreate, event.OpRemove:
		a.NotAfter = t.now.Add(tuning.SendWithin)
	case event.OpMark:
		a.NotAfter = t.now.Add(tuning.ClaimWithin)
	}
	t.known.Start(a)
	t.actions = append(t.actions, a)
}

// deliver answers all callers that wait for the claim. What was chosen for it is free
// again.
func (t *turn) deliver(claim *callers.Claim, node lkepool.Node, err error) {
	t.actions = append(t.actions, t.callers.Deliver(claim, event.Answer{Node: node, Err: err}, t.now)...)
	t.known.Unreserve(claim.ID)
}

// refuse answers claimants with an error.
func (t *turn) refuse(claims []*callers.Claim, err error) {
	for _, claim := range claims {
		t.deliver(claim, lkepool.Node{}, err)
	}
}

// settling reports whether writes of an earlier process may still be invisible.
func (t *turn) settling() bool { return !t.ready(t.known.StartedAt.Add(t.cfg.SettleTime)) }

// lateShown is from when on direct reads show all that the process before wrote: the last
// of its writes may take effect right before LateUntil.
func (t *turn) lateShown() time.Time { return t.known.LateUntil.Add(t.cfg.SettleTime) }

// inherited reports whether a pool may have changes by the process before that reads do
// not show yet, so that this one neither grows nor drops it, nor hands out its nodes.
func (t *turn) inherited(p *belief.Pool) bool { return p.Made.IsZero() && !t.ready(t.lateShown()) }

// recordsLag reports whether the caller's own records may come to name a claimant of the
// process before.
func (t *turn) recordsLag() bool {
	return t.cfg.Records != nil && !t.ready(t.known.StartedAt.Add(tuning.RecordLag))
}

// unrecorded reports whether they may for a node of the pool of which no reading shows a claim.
func (t *turn) unrecorded(p *belief.Pool, n *belief.Node) bool {
	return p.Made.IsZero() && !n.Arrived && t.recordsLag()
}

// named reports whether the caller's own records name the claimant for a node.
func (t *turn) named(n *belief.Node, who claims.ClaimID) bool {
	if t.cfg.Records == nil {
		return false
	}
	holder, ok := t.cfg.Records.Holder(n.ID)
	return ok && t.known.Tags.ID(holder).Is(who)
}

// lately reports whether the last direct read showed the object, and is still "right before":
// a list that refutes a wrong 404 may be old. What waited for lateShown does not rest on a read
// from before that.
func (t *turn) lately(l belief.DirectRead) bool {
	shown := t.lateShown()
	return l.Shown && t.now.Sub(l.Ended) <= tuning.ReadValid && (t.now.Before(shown) || !l.Began.Before(shown))
}

// seenLately reports whether such a read agrees with the known facts.
func (t *turn) seenLately(l belief.DirectRead) bool { return l.Agrees && t.lately(l) }

// preferred returns the node of a claimant, nil if it has none, from its claims alone.
func (t *turn) preferred(who claims.ClaimID) *belief.Node {
	return t.known.Holder(who, t.callers.KeyOf(who))
}

// holder returns the node of a claimant, nil if it has none. Of several it is the
// one that the caller's own records name.
func (t *turn) holder(who claims.ClaimID) *belief.Node {
	best := t.preferred(who)
	if best == nil || t.cfg.Records == nil {
		return best
	}
	for _, n := range t.known.NodesOf(who.Value) {
		if n != best && n.Holds(who) && t.known.Owned(n) && t.named(n, who) {
			return n
		}
	}
	return best
}

// wanted reports whether claimants wait for a node of the pool's key.
func (t *turn) wanted(p *belief.Pool) bool {
	return t.callers.Wants(p.KeyHash())
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
