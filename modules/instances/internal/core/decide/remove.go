package decide

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// remover removes instances, and reads one.
type remover struct {
	*reader
	tags    *tagger
	collect *collector
}

// delete removes an instance of this cluster.
func (t *turn) delete(n *known.Node, reason string) event.Step {
	return t.do(event.Effect{Op: event.OpDelete, ID: n.InstanceID, Reason: reason})
}

// resend reports whether the removal that was sent is to be sent again: it was
// not answered, or had no effect for a while.
func (t *turn) resend(n *known.Node) bool {
	return t.known.World.Condemned(n) && !n.BeingDeleted() && (n.Removal.Accepted.IsZero() || n.Removal.Resent(t.now()))
}

// next returns the next step of a call that removes an instance.
func (r *remover) next(call *callers.Call) event.Step {
	op, id := call.Ask.Kind.String(), call.Ask.ID
	n := r.node(id)
	if s := r.delay(call, n); !s.None() {
		return s
	}
	if n != nil && n.Removal.Seq > call.Seq {
		return event.End(event.Answer{Instance: r.known.World.View(n)})
	}
	// The removal follows a current reading.
	since := known.Latest(call.Began, r.now().Add(-tuning.ReadValid))
	if n != nil && r.known.World.Stripped(n) {
		since = known.Latest(since, r.known.World.Inherited(n), r.known.World.LooksAt(id))
	}
	gone, s := r.directly(id, since, call.Seq, "whose it is")
	switch {
	case !s.None():
		return s
	case gone:
		return event.Refuse(event.Fail(claims.KindNotFound, op, id, "it does not exist: 404s have proven it"))
	}
	if n = r.node(id); n == nil {
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it is no instance of cluster %s", r.known.Settings.Cluster))
	}
	return r.send(call, n)
}

func (r *remover) send(call *callers.Call, n *known.Node) event.Step {
	op, id, by := call.Ask.Kind.String(), call.Ask.ID, call.Ask.By
	evict := call.Ask.Kind == event.AskEvict
	switch {
	case r.known.World.Disputed(n):
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "its tags name another claimant, %s", r.known.Tags.ClaimIn(n.Tags).Value))
	case !by.None() && !n.Who.Is(by):
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it is of claimant %s (UID hash %q), not of %s (UID hash %q)",
			n.Who.Value, n.Who.UID, by.Value, by.UID))
	case evict && !r.collect.unneeded(n, call.Ask.Alive):
		call.Withdrawn = true
		return event.End(event.Answer{})
	case n.BeingDeleted(), !n.Removal.Accepted.IsZero() && r.now().Sub(n.Removal.Accepted) < tuning.RemovalResend:
		return event.End(event.Answer{Instance: r.known.World.View(n)})
	case r.known.World.Stripped(n):
		return r.tags.restore(n)
	case evict:
		return r.delete(n, "nothing needs it")
	}
	return r.delete(n, "its claimant released it")
}

// get returns the next step of a call that reads one instance.
func (r *remover) get(call *callers.Call) event.Step {
	id := call.Ask.ID
	gone, s := r.directly(id, call.Began, call.Seq, "a caller reads")
	if !s.None() {
		return s
	}
	n := r.node(id)
	switch {
	case gone:
		return event.Refuse(event.Fail(claims.KindNotFound, "get", id, "it does not exist: 404s have proven it"))
	case n == nil:
		return event.Refuse(event.Fail(claims.KindConflict, "get", id, "it is no instance of cluster %s", r.known.Settings.Cluster))
	}
	return event.End(event.Answer{Instance: r.known.World.View(n)})
}
