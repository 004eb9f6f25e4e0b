package decide

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// restore writes the tags of a claim again to an instance that lost them. A write replaces all tags, so it needs a reading that shows
// the writes of the previous leader.
func (t tagger) restore(n *known.Node) event.Step {
	return t.write(n, t.known.Tags().ClaimTags(n.Claimant(), t.known.Restored(n)...), "its tags were removed")
}

// write replaces the tags, once no earlier write of tags can take effect after this write. Until then the instance is read at
// growing intervals.
func (t tagger) write(n *known.Node, tags []string, reason string) event.Step {
	if t.known.Aside(n, tags) {
		t.note(known.Looks(n.ID()))
		return event.Wait(t.known.NextLook(n))
	}
	return t.do(event.Effect{Op: event.OpTag, ID: n.ID(), Tags: tags, Reason: reason})
}

// set returns the next step of a call that changes tags.
func (t tagger) set() event.Step {
	op, id, by := t.ask.Kind.String(), t.ask.ID, t.ask.By
	n := t.known.Node(id)
	if s := t.delay(n); !s.None() {
		return s
	}
	since := t.known.SettledAt()
	if n != nil {
		since = t.known.Inherited(n)
	}
	since = known.Latest(t.call.Began(), t.now().Add(-tuning.ReadValid), since, t.known.LooksAt(id))
	if s := t.found(n, since, "find its tags"); !s.None() {
		return s
	}
	if t.known.Disputed(n) || !by.None() && !n.Claimant().Is(by) {
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it belongs to claimant %s", n.Claimant().Value))
	}
	tags := slices.DeleteFunc(t.known.Restored(n), func(tag string) bool { return slices.Contains(t.ask.Remove, tag) })
	tags = claims.Union(tags, t.ask.Add, t.known.Tags().ClaimTags(n.Claimant()))
	if slices.Equal(tags, n.Value().Tags) {
		return event.End(event.Answer{Instance: t.known.Describe(n)})
	}
	return t.write(n, tags, "tags of the caller")
}
