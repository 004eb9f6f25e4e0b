package instances

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// leave returns the error of a caller whose context ended, with the reason of the wait.
func (t *createTask) leave(c *core, cause error) answer {
	e := &claims.Error{Kind: claims.KindProvisioning, Op: "create", Effect: claims.EffectNone}
	lastFailure := t.cl.lastFailure
	text := t.waitsFor(c, e)
	switch {
	case claims.KindOf(lastFailure) == claims.KindRateLimited && c.now.Before(c.queue.blocked):
		e.Kind, e.RetryAfter = claims.KindRateLimited, c.queue.blocked.Sub(c.now)
	case !t.cl.ambiguous.IsZero() && lastFailure != nil:
		e.Kind, e.Effect = claims.KindOf(lastFailure), claims.EffectUnknown
		text += ", after: " + lastFailure.Error()
	}
	e.Err = fmt.Errorf("%s: %w", text, cause)
	return answer{err: e}
}

func (t *createTask) waitsFor(c *core, e *claims.Error) string {
	cl := t.cl
	own := c.world.has(cl.id)
	switch {
	case len(own) > 0:
		e.Object = claims.Object("instance", own[0].InstanceID)
		return c.progress(own[0])
	case cl.busy:
		return "its creation is under way"
	case c.world.list.began.IsZero():
		return "the instances of the cluster are being listed"
	case !cl.labelTaken.IsZero():
		return fmt.Sprintf("the label %s exists, and no list shows yet who has it", cl.label)
	case !cl.ambiguous.IsZero():
		return fmt.Sprintf("a creation had no answer, and %s is being looked for", cl.label)
	case c.cfg.Bounded() && c.world.list.began.Before(c.shownAt()):
		e.RetryAfter = max(0, c.shownAt().Sub(c.now))
		return fmt.Sprintf("the ceilings count all instances of the cluster, which lists show for certain in %s", e.RetryAfter.Round(time.Second))
	case cl.queued:
		at, of := c.queue.position(cl)
		text := fmt.Sprintf("position %d of %d", at, of)
		if slot := c.queue.slot(c.now); slot.After(c.now) {
			e.RetryAfter = c.slotOf(at, slot)
			text += fmt.Sprintf(", next slot in %s", slot.Sub(c.now).Round(time.Second))
		}
		return text
	}
	return "an instance that has its label is being looked at"
}

// slotOf estimates the wait of the claimant at a position.
func (c *core) slotOf(position int, next time.Time) time.Duration {
	windows := (position - 1) / c.queue.limit
	return next.Sub(c.now) + time.Duration(windows)*creationWindow
}

// progress describes what the instance still lacks.
func (c *core) progress(o *object) string {
	switch {
	case c.world.condemned(o):
		return "its former instance is being removed"
	case o.build.made() != "":
		return fmt.Sprintf("its disk %s is being made", o.build.made())
	case c.world.unfinished(o):
		return fmt.Sprintf("disks and boot are being prepared, the instance is %s", o.Status)
	}
	return "its instance is being looked at"
}
