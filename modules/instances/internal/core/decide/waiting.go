package decide

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/callers"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// Leave returns the error of a caller whose context ended, with the reason of the wait.
func (d *Decider) Leave(call *callers.Call, cause error) event.Answer {
	op, id := call.Ask.Kind.String(), call.Ask.ID
	switch call.Ask.Kind {
	case event.AskCreate:
		return event.Answer{Err: d.create.overdue(call, cause)}
	case event.AskTags:
		return event.Answer{Err: &claims.Error{Kind: claims.KindUnavailable, Op: op, Object: claims.Object("instance", id), Err: cause}}
	case event.AskDelete, event.AskEvict:
		e := event.Fail(claims.KindUnavailable, op, id, "not done yet: %w", cause)
		if d.turn.known.Busy[id] {
			e.Effect = claims.EffectUnknown
		}
		return event.Answer{Err: e}
	case event.AskGet:
		if l := d.turn.known.World.Reads[id]; l != nil && l.Absence.Begun() {
			return event.Answer{Err: event.Fail(claims.KindUnavailable, op, id, "a read answered 404, which is no proof yet: %w", cause)}
		}
	}
	return event.Answer{Err: event.Fail(claims.KindUnavailable, op, id, "no answer yet: %w", cause)}
}

func (c *creator) overdue(call *callers.Call, cause error) error {
	p := c.known.Purchases.Of(call.Ask.Order.Who, call.Ask.Order.Label)
	e := &claims.Error{Kind: claims.KindProvisioning, Op: "create", Effect: claims.EffectNone}
	text := c.waitsFor(call, p, e)
	switch {
	case claims.KindOf(p.LastFailure) == claims.KindRateLimited && c.now().Before(c.known.Pace.Blocked):
		e.Kind, e.RetryAfter = claims.KindRateLimited, c.known.Pace.Blocked.Sub(c.now())
	case !p.Ambiguous.IsZero() && p.LastFailure != nil:
		e.Kind, e.Effect = claims.KindOf(p.LastFailure), claims.EffectUnknown
		text += ", after: " + p.LastFailure.Error()
	}
	e.Err = fmt.Errorf("%s: %w", text, cause)
	return e
}

func (c *creator) waitsFor(call *callers.Call, p *known.Purchase, e *claims.Error) string {
	own := c.known.World.Has(p.Who)
	switch {
	case len(own) > 0:
		e.Object = claims.Object("instance", own[0].InstanceID)
		return c.progress(own[0])
	case p.Busy:
		return "its creation is under way"
	case c.known.World.List.Began.IsZero():
		return "the instances of the cluster are being listed"
	case !p.LabelTaken.IsZero():
		return fmt.Sprintf("the label %s exists, and no list shows yet who has it", p.Label)
	case !p.Ambiguous.IsZero():
		return fmt.Sprintf("a creation had no answer, and %s is being looked for", p.Label)
	case c.known.Settings.Bounded() && c.known.World.List.Began.Before(c.known.ShownAt()):
		e.RetryAfter = max(0, c.known.ShownAt().Sub(c.now()))
		return fmt.Sprintf("the ceilings count all instances of the cluster, and lists are complete in %s", e.RetryAfter.Round(time.Second))
	case c.callers.Queued(call.Who):
		return c.queued(call, e)
	case c.known.World.List.Running:
		return "the instances of the cluster are being listed again"
	}
	return "an instance that has its label is being looked at"
}

func (c *creator) queued(call *callers.Call, e *claims.Error) string {
	at, of := c.callers.Position(call.Who)
	text := fmt.Sprintf("position %d of %d", at, of)
	c.callers.Expire(c.now())
	if slot := c.known.Pace.Slot(c.now()); slot.After(c.now()) {
		e.RetryAfter = c.known.Pace.SlotOf(at, slot, c.now())
		text += fmt.Sprintf(", next slot in %s", slot.Sub(c.now()).Round(time.Second))
	}
	return text
}

// progress describes what the instance still lacks.
func (c *creator) progress(n *known.Node) string {
	switch {
	case c.known.World.Condemned(n):
		return "its former instance is being removed"
	case n.Build.Made() != "":
		return fmt.Sprintf("its disk %s is being made", n.Build.Made())
	case c.known.World.Unfinished(n):
		return fmt.Sprintf("disks and boot are being prepared, the instance is %s", n.Status)
	}
	return "its instance is being looked at"
}
