package decide

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// tagger writes tags.
type tagger struct{ *reader }

// restore writes the tags of an instance that lost its claim's. A write replaces all
// tags, so it needs a reading that shows the writes of the process before.
func (t *tagger) restore(n *known.Node) event.Step {
	return t.write(n, t.known.Tags.ClaimTags(n.Who, t.known.World.Restored(n)...), "its tags were removed")
}

// write replaces the tags, once no other write of tags can take effect after this
// one. Until then the instance is read at growing intervals.
func (t *tagger) write(n *known.Node, tags []string, reason string) event.Step {
	others := t.known.World.Writes[n.InstanceID]
	if t.known.World.Frozen(n, tags) {
		return event.Wait(others.LookAgain(t.now()))
	}
	others.Repeat()
	return t.do(event.Effect{Op: event.OpTag, ID: n.InstanceID, Tags: tags, Reason: reason})
}

// set returns the next step of a call that changes tags.
func (t *tagger) set(call *callers.Call) event.Step {
	op, id, by := call.Ask.Kind.String(), call.Ask.ID, call.Ask.By
	if s := t.delay(call, t.node(id)); !s.None() {
		return s
	}
	since := t.known.SettledAt()
	if n := t.node(id); n != nil {
		since = t.known.World.Inherited(n)
	}
	since = known.Latest(call.Began, t.now().Add(-tuning.ReadValid), since, t.known.World.LooksAt(id))
	gone, s := t.directly(id, since, call.Seq, "which tags it has")
	n := t.node(id)
	switch {
	case !s.None():
		return s
	case gone:
		return event.Refuse(event.Fail(claims.KindNotFound, op, id, "it does not exist: 404s have proven it"))
	case n == nil:
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it is no instance of cluster %s", t.known.Settings.Cluster))
	case t.known.World.Disputed(n) || !by.None() && !n.Who.Is(by):
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it is of claimant %s", n.Who.Value))
	}
	tags := slices.DeleteFunc(t.known.World.Restored(n), func(tag string) bool { return slices.Contains(call.Ask.Remove, tag) })
	tags = claims.Union(tags, call.Ask.Add, t.known.Tags.ClaimTags(n.Who))
	if slices.Equal(tags, n.Tags) {
		return event.End(event.Answer{Instance: t.known.World.View(n)})
	}
	return t.write(n, tags, "tags of the caller")
}
