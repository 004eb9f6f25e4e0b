package decide

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// delete removes an instance of this cluster.
func (t *turn) delete(n *known.Node, reason string) event.Step {
	return t.do(event.Effect{Op: event.OpDelete, ID: n.ID(), Reason: reason})
}

// resend reports whether the removal that was sent is to be sent again: it was not answered, or had no effect within
// RemovalResend.
func (t *turn) resend(n *known.Node) bool {
	removed := n.Record().Removed
	return t.known.Removing(n) && !n.BeingDeleted() && (removed.IsZero() || t.now().Sub(removed) > tuning.RemovalResend)
}

// next returns the next step of a call that removes an instance.
func (t remover) next() event.Step {
	id := t.ask.ID
	n := t.known.Node(id)
	if s := t.delay(n); !s.None() {
		return s
	}
	// The removal follows a current reading.
	since := known.Latest(t.call.Began(), t.now().Add(-tuning.ReadValid))
	if n != nil {
		if n.Record().Removed.After(t.call.Began()) {
			return event.End(event.Answer{Instance: t.known.Describe(n)})
		}
		if t.known.Stripped(n) {
			since = known.Latest(since, t.known.Inherited(n), t.known.LooksAt(id))
		}
	}
	if s := t.found(n, since, "find its claimant"); !s.None() {
		return s
	}
	return t.send(n)
}

func (t remover) send(n *known.Node) event.Step {
	op, id, by := t.ask.Kind.String(), t.ask.ID, t.ask.By
	evict, removed := t.ask.Kind == event.AskEvict, n.Record().Removed
	switch who := n.Claimant(); {
	case t.known.Disputed(n):
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "its tags name another claimant, %s", t.claimIn(n.Value())))
	case !by.None() && !who.Is(by):
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it belongs to claimant %s (UID hash %q), not to %s (UID hash %q)",
			who.Value, who.UID, by.Value, by.UID))
	case evict && !(collector{t.reader}).unneeded(n, t.ask.Alive):
		return event.End(event.Answer{Withdrawn: true})
	case n.BeingDeleted(), !removed.IsZero() && t.now().Sub(removed) < tuning.RemovalResend:
		return event.End(event.Answer{Instance: t.known.Describe(n)})
	case t.known.Stripped(n):
		return t.restore(n)
	case evict:
		return t.delete(n, "no claimant needs it")
	}
	return t.delete(n, "its claimant released it")
}

// claimIn is the name of the claimant in an instance's tags.
func (t *turn) claimIn(i event.Instance) string { return t.known.Tags().ClaimIn(i.Tags).Value }

// get returns the next step of a call that reads one instance.
func (t remover) get() event.Step {
	id := t.ask.ID
	gone, s := t.directly(id, t.call.Began(), "a caller reads")
	if !s.None() {
		return s
	}
	n := t.known.Node(id)
	switch {
	case gone:
		return event.Refuse(event.Fail(claims.KindNotFound, "get", id, "it does not exist: reads were answered 404 and no list shows it"))
	case n == nil:
		return event.Refuse(event.Fail(claims.KindConflict, "get", id, "it does not belong to cluster %s", t.known.Settings().Cluster))
	}
	return event.End(event.Answer{Instance: t.known.Describe(n)})
}
