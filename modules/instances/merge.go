package instances

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// done is the end of an effect. It and what it calls are the only code that
// changes what is known of the platform.
func (c *core) done(r result) {
	c.seq++
	switch r.op {
	case opList:
		c.listed(r)
	case opFind:
		c.foundLabel(r)
	case opRead:
		c.readOne(r)
	case opCreate:
		c.created(r)
	default:
		c.changed(r)
	}
}

// stale reports a reading that was begun before this process began to lead:
// nothing is learned from it. Writes are facts in whichever term they were sent.
func (c *core) stale(r result) bool { return r.term != c.term }

func (c *core) listed(r result) {
	if c.stale(r) {
		return
	}
	c.survey.running = false
	if r.err != nil {
		c.survey.failed, c.survey.err = c.seq, r.err
		return
	}
	c.survey.began, c.world.unclaimed = r.began, nil
	for _, i := range r.instances {
		c.seenInList(i, r.began)
		if c.world.objects[i.InstanceID] == nil && !i.Foreign && c.cfg.own.ClaimIn(i.Tags).None() && slices.Contains(i.Tags, r.text) {
			c.world.unclaimed = append(c.world.unclaimed, i.Node)
		}
	}
	c.prune()
}

// seenInList takes from a list what is new. A list may lag, so it changes
// nothing of an instance that was read or written since.
func (c *core) seenInList(i Instance, began time.Time) {
	o := c.world.objects[i.InstanceID]
	if _, gone := c.world.gone[i.InstanceID]; gone || o == nil && !c.cfg.own.ours(i) {
		return
	}
	if o == nil {
		c.add(i, c.cfg.own.ClaimIn(i.Tags)).listed = began
		return
	}
	o.listed = latest(o.listed, began)
	if began.Sub(latest(o.read, o.made, o.tagged)) > listLag {
		o.Instance = i
		c.keepTags(o)
	}
}

// keepTags notes the tags of an instance that has its claimant's. Whether it is
// unfinished is not among them: only a current reading proves that.
func (c *core) keepTags(o *object) {
	if c.cfg.own.ours(o.Instance) && c.cfg.own.ClaimIn(o.Tags).Is(o.who) {
		o.whole = c.cfg.own.finished(o.Tags)
	}
}

func (c *core) add(i Instance, who claims.ClaimID) *object {
	o := &object{Instance: i, who: who, first: c.now}
	o.build.since = c.quiet()
	c.keepTags(o)
	c.world.objects[i.InstanceID] = o
	if l := c.looks[i.InstanceID]; l != nil && l.gone { // what was taken for a proof was none
		delete(c.looks, i.InstanceID)
	}
	return o
}

// foundLabel keeps who has a label. An instance that a person renamed is found by
// its claim.
func (c *core) foundLabel(r result) {
	cl := r.claim
	if c.stale(r) {
		return
	}
	cl.finding = false
	if r.err != nil {
		cl.failed, cl.err = c.seq, r.err
		return
	}
	cl.found, cl.blocker = r.began, 0
	cl.finds++
	for _, i := range r.instances {
		// The label was refused after this was proven gone: it is to be read again.
		if since, gone := c.world.gone[i.InstanceID]; gone && !cl.taken.After(since) {
			continue
		}
		delete(c.world.gone, i.InstanceID)
		c.seenInList(i, r.began)
		if o := c.world.objects[i.InstanceID]; i.Name == cl.label && (o == nil || !o.who.Is(cl.id)) {
			cl.blocker = i.InstanceID
		}
	}
}

func (c *core) readOne(r result) {
	l := c.looks[r.id]
	if c.stale(r) || l == nil {
		return
	}
	l.running = false
	switch {
	case l.gone: // a write proved that while this reading, which may be out of date, was under way
	case r.err == nil:
		l.began, l.instance, l.missing = r.began, r.instance, time.Time{}
		c.seen(r.instance, r.began)
	case claims.KindOf(r.err) == claims.KindNotFound:
		c.missed(r.id, r.began)
	default:
		l.failed, l.err = c.seq, r.err
	}
}

// seen takes over a direct reading, but for tags that were written since.
func (c *core) seen(i Instance, began time.Time) {
	o := c.world.objects[i.InstanceID]
	if o == nil {
		if c.cfg.own.ours(i) {
			c.add(i, c.cfg.own.ClaimIn(i.Tags)).read = began
		}
		return
	}
	if began.Before(o.read) {
		return
	}
	if began.Before(o.tagged.Add(c.cfg.SettleTime)) {
		i.Tags = o.Tags
	}
	o.Instance, o.read = i, began
	c.keepTags(o)
}

// missed is a direct reading that answered 404. Alone it proves nothing: it
// takes another one that began the settle time later, or a removal before it.
func (c *core) missed(id int, began time.Time) {
	l, o := c.looks[id], c.world.objects[id]
	if l == nil {
		l = &look{}
		c.looks[id] = l
	}
	switch {
	case o != nil && began.Before(o.made.Add(c.cfg.SettleTime)):
		l.hold = o.made.Add(c.cfg.SettleTime)
		return
	case o != nil && !o.accepted.IsZero() && !began.Before(o.accepted):
	case l.missing.IsZero():
		l.missing = began
		return
	case began.Sub(l.missing) < c.cfg.SettleTime:
		return
	}
	l.began, l.gone = began, true
	c.world.gone[id] = c.now
	delete(c.world.objects, id)
}

func (c *core) created(r result) {
	cl := r.claim
	cl.busy = false
	c.queue.done(c.now)
	if r.err == nil {
		o := c.world.objects[r.instance.InstanceID]
		if o == nil {
			o = c.add(r.instance, cl.id)
			o.build.since = time.Time{}
		}
		o.made = c.now
		cl.unsure, cl.taken, cl.trouble, cl.blocker = time.Time{}, time.Time{}, nil, 0
		c.queue.leave(cl)
		c.forget(cl)
		return
	}
	cl.trouble = r.err
	effect := claims.EffectOf(r.err)
	switch {
	case errors.Is(r.err, ErrLabelTaken), effect == claims.EffectApplied:
		cl.taken, cl.finds = c.now, 0
	case effect == claims.EffectUnknown:
		cl.unsure, cl.finds = c.now, 0
	case claims.KindOf(r.err) == claims.KindRateLimited:
		c.queue.block(c.now.Add(max(claims.RetryAfterOf(r.err), limitedPause)))
	default:
		cl.failed, cl.err = c.seq, r.err
		c.queue.leave(cl)
		c.keepRefusal(r)
	}
	c.forget(cl)
}

// changed is the end of a write to an instance, and of reading its parts.
func (c *core) changed(r result) {
	delete(c.busy, r.id)
	o := c.world.objects[r.id]
	switch {
	case o == nil, c.stale(r) && r.op.ofParts():
		return
	case claims.KindOf(r.err) == claims.KindNotFound && r.op == opDisk: // the disk, or the instance: their list answers which
		o.build.doubt(c.now)
		return
	case claims.KindOf(r.err) == claims.KindNotFound:
		c.missed(r.id, r.began)
		return
	case r.err != nil:
		o.failed, o.err = c.seq, r.err
		if r.op.write() && claims.EffectOf(r.err) == claims.EffectUnknown {
			o.build.doubt(c.now.Add(c.cfg.SettleTime))
		}
		return
	}
	switch r.op {
	case opDelete:
		o.accepted, o.removal = c.now, c.seq
	case opTag:
		o.Tags, o.tagged = slices.Clone(r.tags), c.now
		c.keepTags(o)
	default:
		o.build.learn(r, c.now)
	}
}

// forget drops a claim that nothing is known of and no caller waits for.
func (c *core) forget(cl *claim) {
	if cl.callers == 0 && !cl.busy && !cl.queued && cl.unsure.IsZero() && cl.taken.IsZero() && cl.blocker == 0 {
		delete(c.claims, cl.id)
	}
}

// prune drops what has no use any more.
func (c *core) prune() {
	maps.DeleteFunc(c.world.gone, func(_ int, since time.Time) bool { return c.now.Sub(since) > goneKept })
	maps.DeleteFunc(c.refused, func(_ string, r refusal) bool { return !c.now.Before(r.until) })
	maps.DeleteFunc(c.looks, func(_ int, l *look) bool {
		return !l.running && (c.now.Sub(l.used) > lookKept || l.gone && c.now.Sub(l.used) > goneKept)
	})
	c.queue.expire(c.now)
	for _, cl := range c.claims {
		if cl.callers == 0 && c.now.Sub(cl.left) > lookKept {
			cl.unsure, cl.taken, cl.blocker = time.Time{}, time.Time{}, 0
		}
		c.forget(cl)
	}
}
