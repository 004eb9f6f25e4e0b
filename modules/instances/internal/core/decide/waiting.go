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
func Leave(k known.View, c callers.View, call *callers.Call, cause error) event.Answer {
	ask := call.Ask()
	op, id := ask.Kind.String(), ask.ID
	switch ask.Kind {
	case event.AskCreate:
		t := &turn{known: k, callers: c, call: call, ask: ask}
		return event.Answer{Err: creator{builder{tagger{reader{t}}}}.overdue(cause)}
	case event.AskTags:
		return event.Answer{Err: &claims.Error{Kind: claims.KindUnavailable, Op: op, Object: claims.Object("instance", id), Err: cause}}
	case event.AskDelete, event.AskEvict:
		e := event.Fail(claims.KindUnavailable, op, id, "not done yet: %w", cause)
		if k.Busy(id) {
			e.Effect = claims.EffectUnknown
		}
		return event.Answer{Err: e}
	case event.AskGet:
		n, seen := k.Seen(id)
		if missing := seen && !n.Record().Missing.IsZero(); missing {
			return event.Answer{Err: event.Fail(claims.KindUnavailable, op, id,
				"a read was answered 404; the proof that the instance is gone is not complete: %w", cause)}
		}
	}
	return event.Answer{Err: event.Fail(claims.KindUnavailable, op, id, "no answer yet: %w", cause)}
}

func (t creator) overdue(cause error) error {
	p := t.known.Purchase(t.ask.Order.Who)
	e := &claims.Error{Kind: claims.KindProvisioning, Op: "create", Effect: claims.EffectNone}
	text := t.waitsFor(p, e)
	switch last := p.LastErr(); {
	case claims.KindOf(last) == claims.KindRateLimited && t.now().Before(t.known.Blocked()):
		e.Kind, e.RetryAfter = claims.KindRateLimited, t.known.Blocked().Sub(t.now())
	case !p.Ambiguous().IsZero() && last != nil:
		e.Kind, e.Effect = claims.KindOf(last), claims.EffectUnknown
		text += ", after: " + last.Error()
	}
	e.Err = fmt.Errorf("%s: %w", text, cause)
	return e
}

func (t creator) waitsFor(p *known.Purchase, e *claims.Error) string {
	own, list, shown := t.known.Has(p.Claimant()), t.known.List(), t.known.ShownAt()
	switch {
	case len(own) > 0:
		e.Object = claims.Object("instance", own[0].ID())
		return t.progress(own[0])
	case p.Busy():
		return "its creation is under way"
	case list.Began.IsZero():
		return "the instances of the cluster are being listed"
	case !p.LabelTaken().IsZero():
		return fmt.Sprintf("a Linode has the label %s, and no list shows that Linode yet", p.Label())
	case !p.Ambiguous().IsZero():
		return fmt.Sprintf("a creation had no answer, and the engine looks for a Linode with the label %s", p.Label())
	case t.known.Settings().Bounded() && list.Began.Before(shown):
		e.RetryAfter = max(0, shown.Sub(t.now()))
		return fmt.Sprintf("the ceilings count all instances of the cluster, and lists are complete in %s", e.RetryAfter.Round(time.Second))
	case t.callers.Queued(t.call.Who()):
		return t.queued(e)
	case list.Running:
		return "the instances of the cluster are being listed again"
	}
	return "the Linode with the label is being read"
}

func (t creator) queued(e *claims.Error) string {
	at, of := t.callers.Position(t.call.Who())
	text := fmt.Sprintf("position %d of %d in the queue for creations", at, of)
	if slot := t.known.Slot(); slot.After(t.now()) {
		e.RetryAfter = t.known.SlotOf(at, slot)
		text += fmt.Sprintf(", the next creation is sent in %s", slot.Sub(t.now()).Round(time.Second))
	}
	return text
}

// progress describes what the instance still lacks.
func (t creator) progress(n *known.Node) string {
	_, disk := t.known.Build(n).Making()
	switch {
	case t.known.Removing(n):
		return "its former instance is being removed"
	case disk != "":
		return fmt.Sprintf("its disk %s is being made", disk)
	case t.known.Unfinished(n):
		return fmt.Sprintf("disks and boot are being prepared, the instance is %s", n.Value().Status)
	}
	return "its instance is being read"
}
