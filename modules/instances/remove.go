package instances

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// remove deletes an instance of this cluster.
func (c *core) remove(o *object, reason string) step {
	return c.do(effect{op: opDelete, id: o.InstanceID, reason: reason})
}

// resendRemoval reports whether the removal that was sent is to be sent again: it was
// not answered, or had no effect for a while.
func (c *core) resendRemoval(o *object) bool {
	accepted := o.removal.accepted
	return c.world.condemned(o) && stateOf(o.Status) != leaving && (accepted.IsZero() || c.now.Sub(accepted) > removalResend)
}

// retag restores the tags of an instance that lost its claim's. A write replaces all
// tags, so it needs a reading that shows the writes of the process before.
func (c *core) retag(o *object) step {
	return c.writeTags(o, c.cfg.own.claimTags(o.who, c.world.restored(o)...), "its tags were removed")
}

// writeTags replaces the tags, once no other write of tags can take effect after this
// one. Until then the instance is read at growing intervals.
func (c *core) writeTags(o *object, tags []string, reason string) step {
	u := c.world.writes[o.InstanceID]
	if !c.world.frozen(o, tags) {
		if u != nil {
			u.repeated = true // from now on a reading does not show which of them it is of
		}
		return c.do(effect{op: opTag, id: o.InstanceID, tags: tags, reason: reason})
	}
	if !c.now.Before(u.look) {
		u.look = c.now.Add(growing(firstPoll, longestPoll, u.polls))
		u.polls++
		if u.until.Before(u.look) {
			u.look = u.until
		}
	}
	return wait(u.look)
}

// looksAt returns the time of the next reading of an instance whose tags may still
// change.
func (c *core) looksAt(id int) time.Time {
	if u := c.world.writes[id]; u != nil && u.tags != nil && c.now.Before(u.until) {
		return u.look
	}
	return time.Time{}
}

// deleteTask performs a call of Delete, or the removal of an orphan.
type deleteTask struct {
	op     string
	id     int
	by     claims.ClaimID
	reason string
	// confirm is called right before the removal, and false withdraws it; nil confirms.
	confirm func(c *core, o *object) bool

	began time.Time
	seq   int
	// withdrawn reports that confirm returned false.
	withdrawn bool
}

func (t *deleteTask) begin(c *core) { t.began, t.seq = c.now, c.seq }

func (t *deleteTask) ended(*core) {}

func (t *deleteTask) leave(c *core, cause error) answer {
	e := fail(claims.KindUnavailable, t.op, t.id, "not done yet: %w", cause)
	if c.busy[t.id] {
		e.Effect = claims.EffectUnknown
	}
	return answer{err: e}
}

func (t *deleteTask) next(c *core) step {
	o := c.world.objects[t.id]
	if o != nil {
		switch {
		case c.busy[t.id]:
			return wait(time.Time{})
		case o.failed > t.seq:
			return refuse(o.err)
		case o.removal.seq > t.seq:
			return end(answer{instance: c.world.view(o)})
		}
	}
	// The removal follows a current reading.
	since := latest(t.began, c.now.Add(-readValid))
	if o != nil && c.world.stripped(o) {
		since = latest(since, c.world.inherited(o), c.looksAt(t.id))
	}
	gone, s := c.readDirectly(t.id, since, t.seq, "whose it is")
	switch {
	case !s.none():
		return s
	case gone:
		return refuse(fail(claims.KindNotFound, t.op, t.id, "it does not exist: 404s have proven it"))
	}
	if o = c.world.objects[t.id]; o == nil {
		return refuse(fail(claims.KindConflict, t.op, t.id, "it is no instance of cluster %s", c.cfg.Cluster))
	}
	return t.send(c, o)
}

func (t *deleteTask) send(c *core, o *object) step {
	switch {
	case c.world.disputed(o):
		return refuse(fail(claims.KindConflict, t.op, t.id, "its tags name another claimant, %s", c.cfg.own.ClaimIn(o.Tags).Value))
	case !t.by.None() && !o.who.Is(t.by):
		return refuse(fail(claims.KindConflict, t.op, t.id, "it is of claimant %s (UID hash %q), not of %s (UID hash %q)", o.who.Value, o.who.UID,
			t.by.Value, t.by.UID))
	case t.confirm != nil && !t.confirm(c, o):
		t.withdrawn = true
		return end(answer{})
	case stateOf(o.Status) == leaving, !o.removal.accepted.IsZero() && c.now.Sub(o.removal.accepted) < removalResend:
		return end(answer{instance: c.world.view(o)})
	case c.world.stripped(o):
		return c.retag(o)
	}
	return c.remove(o, t.reason)
}

// getTask performs a call of Get.
type getTask struct {
	id    int
	began time.Time
	seq   int
}

func (t *getTask) begin(c *core) { t.began, t.seq = c.now, c.seq }

func (t *getTask) ended(*core) {}

func (t *getTask) leave(c *core, cause error) answer {
	if l := c.world.reads[t.id]; l != nil && l.absence.Begun() {
		return answer{err: fail(claims.KindUnavailable, "get", t.id, "a read answered 404, which is no proof yet: %w", cause)}
	}
	return answer{err: fail(claims.KindUnavailable, "get", t.id, "no answer yet: %w", cause)}
}

func (t *getTask) next(c *core) step {
	gone, s := c.readDirectly(t.id, t.began, t.seq, "a caller reads")
	if !s.none() {
		return s
	}
	o := c.world.objects[t.id]
	switch {
	case gone:
		return refuse(fail(claims.KindNotFound, "get", t.id, "it does not exist: 404s have proven it"))
	case o == nil:
		return refuse(fail(claims.KindConflict, "get", t.id, "it is no instance of cluster %s", c.cfg.Cluster))
	}
	return end(answer{instance: c.world.view(o)})
}

// tagsTask performs a call of SetTags.
type tagsTask struct {
	id          int
	by          claims.ClaimID
	remove, add []string
	began       time.Time
	seq         int
}

func (t *tagsTask) begin(c *core) { t.began, t.seq = c.now, c.seq }

func (t *tagsTask) ended(*core) {}

func (t *tagsTask) leave(_ *core, cause error) answer {
	return answer{err: &claims.Error{Kind: claims.KindUnavailable, Op: "set tags", Object: claims.Object("instance", t.id), Err: cause}}
}

func (t *tagsTask) next(c *core) step {
	const op = "set tags"
	if o := c.world.objects[t.id]; o != nil {
		switch {
		case c.busy[t.id]:
			return wait(time.Time{})
		case o.failed > t.seq:
			return refuse(o.err)
		}
	}
	since := c.settledAt(c.cfg.SettleTime)
	if o := c.world.objects[t.id]; o != nil {
		since = c.world.inherited(o)
	}
	gone, s := c.readDirectly(t.id, latest(t.began, c.now.Add(-readValid), since, c.looksAt(t.id)), t.seq, "which tags it has")
	o := c.world.objects[t.id]
	switch {
	case !s.none():
		return s
	case gone:
		return refuse(fail(claims.KindNotFound, op, t.id, "it does not exist: 404s have proven it"))
	case o == nil:
		return refuse(fail(claims.KindConflict, op, t.id, "it is no instance of cluster %s", c.cfg.Cluster))
	case c.world.disputed(o) || !t.by.None() && !o.who.Is(t.by):
		return refuse(fail(claims.KindConflict, op, t.id, "it is of claimant %s", o.who.Value))
	}
	tags := slices.DeleteFunc(c.world.restored(o), func(tag string) bool { return slices.Contains(t.remove, tag) })
	tags = claims.Union(tags, t.add, c.cfg.own.claimTags(o.who))
	if slices.Equal(tags, o.Tags) {
		return end(answer{instance: c.world.view(o)})
	}
	return c.writeTags(o, tags, "tags of the caller")
}
