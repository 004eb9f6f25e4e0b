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

// retag restores the tags of an instance that lost its claim's. A write replaces all
// tags, so it needs a reading begun after settledAt.
func (c *core) retag(o *object) step {
	tags := c.cfg.own.claimTags(o.who, c.restored(o)...)
	return c.do(effect{op: opTag, id: o.InstanceID, tags: tags, reason: "its tags were removed"})
}

// restored returns the tags of an instance, and with them those that it had with its
// claim if that was removed.
func (c *core) restored(o *object) []string {
	if c.stripped(o) {
		return claims.Union(o.Tags, o.claimedTags)
	}
	return slices.Clone(o.Tags)
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
		case o.removal > t.seq:
			return end(answer{instance: c.view(o)})
		}
	}
	// The removal follows a current reading.
	since := latest(t.began, c.now.Add(-readValid))
	if o != nil && c.stripped(o) {
		since = latest(since, c.settledAt())
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
	case c.disputed(o):
		return refuse(fail(claims.KindConflict, t.op, t.id, "its tags name another claimant, %s", c.cfg.own.ClaimIn(o.Tags).Value))
	case !t.by.None() && !o.who.Is(t.by):
		return refuse(fail(claims.KindConflict, t.op, t.id, "it is of claimant %s (UID hash %q), not of %s (UID hash %q)", o.who.Value, o.who.UID,
			t.by.Value, t.by.UID))
	case t.confirm != nil && !t.confirm(c, o):
		t.withdrawn = true
		return end(answer{})
	case stateOf(o.Status) == leaving, !o.accepted.IsZero() && c.now.Sub(o.accepted) < removalResend:
		return end(answer{instance: c.view(o)})
	case c.stripped(o):
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
	if l := c.directReads[t.id]; l != nil && !l.missing.IsZero() {
		return answer{err: fail(claims.KindUnavailable, "get", t.id, "one read answered 404, which is no proof yet: %w", cause)}
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
	return end(answer{instance: c.view(o)})
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
	gone, s := c.readDirectly(t.id, latest(t.began, c.now.Add(-readValid), c.settledAt()), t.seq, "which tags it has")
	o := c.world.objects[t.id]
	switch {
	case !s.none():
		return s
	case gone:
		return refuse(fail(claims.KindNotFound, op, t.id, "it does not exist: 404s have proven it"))
	case o == nil:
		return refuse(fail(claims.KindConflict, op, t.id, "it is no instance of cluster %s", c.cfg.Cluster))
	case c.disputed(o) || !t.by.None() && !o.who.Is(t.by):
		return refuse(fail(claims.KindConflict, op, t.id, "it is of claimant %s", o.who.Value))
	}
	tags := slices.DeleteFunc(c.restored(o), func(tag string) bool { return slices.Contains(t.remove, tag) })
	tags = claims.Union(tags, t.add, c.cfg.own.claimTags(o.who))
	if slices.Equal(tags, o.Tags) {
		return end(answer{instance: c.view(o)})
	}
	return c.do(effect{op: opTag, id: t.id, tags: tags, reason: "tags of the caller"})
}
