package instances

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// done applies the result of an effect. It and the methods it calls are the only code
// that changes the state of the platform in the core.
func (c *core) done(r result) {
	c.seq++
	switch r.op {
	case opList:
		c.listed(r)
	case opFind:
		c.labelSearched(r)
	case opRead:
		c.readOne(r)
	case opCreate:
		c.created(r)
	default:
		c.changed(r)
	}
}

// stale reports whether an effect began before this process began to lead. Such a
// reading is dropped; a write counts in whichever term it was sent.
func (c *core) stale(r result) bool { return r.term != c.term }

func (c *core) listed(r result) {
	if c.stale(r) {
		return
	}
	c.listing.running = false
	if r.err != nil {
		c.listing.failed, c.listing.err = c.seq, r.err
		return
	}
	c.listing.began, c.world.unclaimed = r.began, nil
	for _, i := range r.instances {
		c.seenInList(i, r.began)
		if c.world.objects[i.InstanceID] == nil && !i.Foreign && c.cfg.own.ClaimIn(i.Tags).None() && slices.Contains(i.Tags, r.text) {
			c.world.unclaimed = append(c.world.unclaimed, i.Node)
		}
	}
	c.prune()
}

// seenInList applies an entry of a list. A list may lag, so it adds instances and
// changes none that was read or written since.
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

// keepTags records the tags of an instance that has its claim's. The unfinished tag is
// not among them: only a current reading proves that state.
func (c *core) keepTags(o *object) {
	if c.cfg.own.ours(o.Instance) && c.cfg.own.ClaimIn(o.Tags).Is(o.who) {
		o.claimedTags = c.cfg.own.finished(o.Tags)
	}
}

func (c *core) add(i Instance, who claims.ClaimID) *object {
	o := &object{Instance: i, who: who, first: c.now}
	o.build.since = c.settledAt()
	c.keepTags(o)
	c.world.objects[i.InstanceID] = o
	if l := c.directReads[i.InstanceID]; l != nil && l.gone { // the proof was wrong
		delete(c.directReads, i.InstanceID)
	}
	return o
}

// labelSearched records the owner of a label. An instance that a user renamed is found
// by its claim.
func (c *core) labelSearched(r result) {
	cl := r.claim
	if c.stale(r) {
		return
	}
	cl.searching = false
	if r.err != nil {
		cl.failed, cl.err = c.seq, r.err
		return
	}
	cl.searched, cl.labelOwner = r.began, 0
	cl.searches++
	for _, i := range r.instances {
		// If the label was refused after the proof, the instance is read again.
		if since, gone := c.world.gone[i.InstanceID]; gone && !cl.labelTaken.After(since) {
			continue
		}
		delete(c.world.gone, i.InstanceID)
		c.seenInList(i, r.began)
		if o := c.world.objects[i.InstanceID]; i.Name == cl.label && (o == nil || !o.who.Is(cl.id)) {
			cl.labelOwner = i.InstanceID
		}
	}
}

func (c *core) readOne(r result) {
	l := c.directReads[r.id]
	if c.stale(r) || l == nil {
		return
	}
	l.running = false
	switch {
	case l.gone: // a write proved it during this reading, which may be out of date
	case r.err == nil:
		l.began, l.instance, l.missing = r.began, r.instance, time.Time{}
		c.seen(r.instance, r.began)
	case claims.KindOf(r.err) == claims.KindNotFound:
		c.missed(r.id, r.began)
	default:
		l.failed, l.err = c.seq, r.err
	}
}

// seen applies a direct reading, except for tags that were written since.
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

// missed applies a direct reading that answered 404. It proves nothing alone: the
// proof is another one begun SettleTime later, or an accepted removal before it.
func (c *core) missed(id int, began time.Time) {
	l, o := c.directReads[id], c.world.objects[id]
	if l == nil {
		l = &directRead{}
		c.directReads[id] = l
	}
	switch {
	case o != nil && began.Before(o.made.Add(c.cfg.SettleTime)):
		l.notBefore = o.made.Add(c.cfg.SettleTime)
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
		cl.ambiguous, cl.labelTaken, cl.lastFailure, cl.labelOwner = time.Time{}, time.Time{}, nil, 0
		c.queue.leave(cl)
		c.forget(cl)
		return
	}
	cl.lastFailure = r.err
	effect := claims.EffectOf(r.err)
	switch {
	case errors.Is(r.err, ErrLabelTaken), effect == claims.EffectApplied:
		cl.labelTaken, cl.searches = c.now, 0
	case effect == claims.EffectUnknown:
		cl.ambiguous, cl.searches = c.now, 0
	case claims.KindOf(r.err) == claims.KindRateLimited:
		c.queue.block(c.now.Add(max(claims.RetryAfterOf(r.err), limitedPause)))
	default:
		cl.failed, cl.err = c.seq, r.err
		c.queue.leave(cl)
		c.keepRefusal(r)
	}
	c.forget(cl)
}

// changed applies the end of a write to an instance, or of a reading of its parts.
func (c *core) changed(r result) {
	delete(c.busy, r.id)
	o := c.world.objects[r.id]
	switch {
	case o == nil, c.stale(r) && r.op.ofParts():
		return
	case claims.KindOf(r.err) == claims.KindNotFound && r.op == opDisk: // of the disk or of the instance: the list of disks distinguishes them
		o.build.invalidate(c.now)
		return
	case claims.KindOf(r.err) == claims.KindNotFound:
		c.missed(r.id, r.began)
		return
	case r.err != nil:
		o.failed, o.err = c.seq, r.err
		if r.op.write() && claims.EffectOf(r.err) == claims.EffectUnknown {
			o.build.invalidate(c.now.Add(c.cfg.SettleTime))
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

// forget drops the state of a claim that has none and that no caller waits for.
func (c *core) forget(cl *claimState) {
	if cl.callers == 0 && !cl.busy && !cl.queued && cl.ambiguous.IsZero() && cl.labelTaken.IsZero() && cl.labelOwner == 0 {
		delete(c.claims, cl.id)
	}
}

// prune drops expired state.
func (c *core) prune() {
	maps.DeleteFunc(c.world.gone, func(_ int, since time.Time) bool { return c.now.Sub(since) > goneKept })
	maps.DeleteFunc(c.refused, func(_ string, r refusal) bool { return !c.now.Before(r.until) })
	maps.DeleteFunc(c.directReads, func(_ int, l *directRead) bool {
		return !l.running && (c.now.Sub(l.used) > readKept || l.gone && c.now.Sub(l.used) > goneKept)
	})
	c.queue.expire(c.now)
	for _, cl := range c.claims {
		if cl.callers == 0 && c.now.Sub(cl.left) > readKept {
			cl.ambiguous, cl.labelTaken, cl.labelOwner = time.Time{}, time.Time{}, 0
		}
		c.forget(cl)
	}
}
