package instances

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// leave is the answer to a caller who goes away: what it waits for.
func (t *createTask) leave(c *core, cause error) answer {
	e := &claims.Error{Kind: claims.KindProvisioning, Op: "create", Effect: claims.EffectNone}
	trouble := t.cl.trouble
	text := t.waitsFor(c, e)
	switch {
	case claims.KindOf(trouble) == claims.KindRateLimited && c.now.Before(c.queue.blocked):
		e.Kind, e.RetryAfter = claims.KindRateLimited, c.queue.blocked.Sub(c.now)
	case !t.cl.unsure.IsZero() && trouble != nil:
		e.Kind, e.Effect = claims.KindOf(trouble), claims.EffectUnknown
		text += ", after: " + trouble.Error()
	}
	e.Err = fmt.Errorf("%s: %w", text, cause)
	return answer{err: e}
}

func (t *createTask) waitsFor(c *core, e *claims.Error) string {
	cl := t.cl
	own := c.has(cl.id)
	switch {
	case len(own) > 0:
		e.Object = claims.Object("instance", own[0].InstanceID)
		return c.progress(own[0])
	case cl.busy:
		return "its creation is under way"
	case c.survey.began.IsZero():
		return "the instances of the cluster are being listed"
	case !cl.taken.IsZero():
		return fmt.Sprintf("the label %s exists, and no list shows yet who has it", cl.label)
	case !cl.unsure.IsZero():
		return fmt.Sprintf("a creation had no answer, and %s is being looked for", cl.label)
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

// slotOf is roughly how long the claimant at a position waits: a hint.
func (c *core) slotOf(position int, next time.Time) time.Duration {
	windows := (position - 1) / c.queue.limit
	return next.Sub(c.now) + time.Duration(windows)*creationWindow
}

// waitsFor is what the instance still lacks, for people.
func (c *core) progress(o *object) string {
	switch {
	case !o.accepted.IsZero():
		return "its former instance is being removed"
	case o.build.made() != "":
		return fmt.Sprintf("its disk %s is being made", o.build.made())
	case c.cfg.own.isUnfinished(o.Tags):
		return fmt.Sprintf("disks and boot are being prepared, the instance is %s", o.Status)
	}
	return "its instance is being looked at"
}
