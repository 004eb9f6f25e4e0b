package instances

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
)

// done applies the result of an effect. It and the methods it calls are the only code
// that changes the state of the platform in the core.
func (c *core) done(r result) {
	c.seq++
	switch r.op {
	case opList:
		c.world.listed(r)
	case opFind:
		c.labelSearched(r)
	case opRead:
		c.world.readOne(r)
	case opCreate:
		c.created(r)
	default:
		delete(c.busy, r.id)
		c.world.changed(r)
	}
	if c.now.Sub(c.pruned) >= pruneEvery {
		c.prune()
	}
}

// stale reports whether an effect began before this process began to lead. Such a
// reading is dropped; a write counts in whichever term it was sent.
func (l *lead) stale(r result) bool { return r.term != l.term }

func (w *world) listed(r result) {
	if w.stale(r) {
		return
	}
	w.list.running = false
	switch {
	case r.cancelled:
		return
	case r.err != nil:
		w.list.failed, w.list.err = w.seq, r.err
		return
	}
	w.list.began, w.unclaimed = r.began, nil
	shown := map[int]bool{}
	for _, i := range r.instances {
		shown[i.InstanceID] = true
		w.seenInList(i, r.began)
		if w.objects[i.InstanceID] == nil && !i.Foreign && w.cfg.own.ClaimIn(i.Tags).None() && slices.Contains(i.Tags, r.text) {
			w.unclaimed = append(w.unclaimed, i.Node)
		}
	}
	for id := range w.reads {
		if o := w.objects[id]; !shown[id] && (o == nil || !w.stripped(o)) {
			w.lacked(id, r.began)
		}
	}
}

// lacked applies a list without an instance. One that began less than the list lag
// after the instance existed may be older than that.
func (w *world) lacked(id int, began time.Time) {
	if l := w.reads[id]; l != nil && l.absence.Begun() && !began.Before(w.known(id).Add(listLag)) {
		l.absence.Lacked(began)
		w.endIfProven(id)
	}
}

// seenInList applies an entry of a list. A list may lag, so it adds instances and
// changes none that was read or written since.
func (w *world) seenInList(i Instance, began time.Time) {
	o := w.objects[i.InstanceID]
	if since, gone := w.gone[i.InstanceID]; gone {
		if began.Before(since.Add(listLag)) {
			return
		}
		delete(w.gone, i.InstanceID) // the proof was wrong
	}
	if o == nil && !w.cfg.own.ours(i) {
		return
	}
	if o == nil {
		w.add(i, w.cfg.own.ClaimIn(i.Tags)).listed = began
		return
	}
	o.listed = latest(o.listed, began)
	if began.Sub(latest(o.read, o.made, o.tagged)) > listLag {
		if l := w.reads[i.InstanceID]; l != nil && l.absence.Begun() && began.Sub(l.absence.Since()) > listLag {
			l.absence = absence.Proof{}
		}
		o.Instance = i
		w.keepTags(o)
	}
}

// keepTags records the tags of an instance that has its claim's, and whether it has the
// mark of unfinished ones, which ends with the boot. Without the claim nothing is
// known of the mark: a user removed both.
func (w *world) keepTags(o *object) {
	if started(o.Status) {
		o.build.ran = true
	}
	if !w.cfg.own.ours(o.Instance) || !w.cfg.own.ClaimIn(o.Tags).Is(o.who) {
		return
	}
	o.claimedTags, o.build.marked = w.cfg.own.finished(o.Tags), w.cfg.own.isUnfinished(o.Tags)
}

func (w *world) add(i Instance, who claims.ClaimID) *object {
	o := &object{Instance: i, who: who, first: w.now}
	o.build.since = w.settledAt(w.cfg.SettleTime)
	w.keepTags(o)
	w.objects[i.InstanceID] = o
	w.byClaim[who.Value] = append(w.byClaim[who.Value], o)
	return o
}

// end forgets an instance that is proven gone.
func (w *world) end(id int) {
	w.gone[id] = w.now
	delete(w.writes, id)
	delete(w.reads, id)
	o := w.objects[id]
	if o == nil {
		return
	}
	delete(w.objects, id)
	left := slices.DeleteFunc(w.byClaim[o.who.Value], func(other *object) bool { return other == o })
	if w.byClaim[o.who.Value] = left; len(left) == 0 {
		delete(w.byClaim, o.who.Value)
	}
}

func (w *world) endIfProven(id int) {
	var removed time.Time
	if o := w.objects[id]; o != nil {
		removed = o.removal.accepted
	}
	if l := w.reads[id]; l != nil && l.absence.Gone(removed) {
		w.end(id)
	}
}

// labelSearched records the owner of a label. An instance that a user renamed is found
// by its claim.
func (c *core) labelSearched(r result) {
	cl := r.claim
	if c.stale(r) {
		return
	}
	cl.search.running = false
	switch {
	case r.cancelled:
		return
	case r.err != nil:
		cl.failed, cl.err = c.seq, r.err
		return
	}
	cl.search.began, cl.labelOwner = r.began, 0
	cl.search.inARow++
	shown := map[int]bool{}
	for _, i := range r.instances {
		shown[i.InstanceID] = true
		// If the label was refused after the proof, the instance is read again.
		if since, gone := c.world.gone[i.InstanceID]; gone && !cl.labelTaken.After(since) {
			continue
		}
		delete(c.world.gone, i.InstanceID)
		c.world.seenInList(i, r.began)
		if o := c.world.objects[i.InstanceID]; i.Name == cl.label && (o == nil || !o.who.Is(cl.id)) {
			cl.labelOwner = i.InstanceID
		}
	}
	for _, o := range c.world.has(cl.id) {
		if !shown[o.InstanceID] {
			c.world.lacked(o.InstanceID, r.began)
		}
	}
}

func (w *world) readOne(r result) {
	l := w.reads[r.id]
	if w.stale(r) || l == nil {
		return
	}
	l.running = false
	switch {
	case r.cancelled:
	case r.err == nil:
		l.began, l.instance, l.absence, l.again = r.began, r.instance, absence.Proof{}, 0
		w.seen(r.instance, r.began)
	case claims.KindOf(r.err) == claims.KindNotFound:
		w.missed(r.id, r.began)
	default:
		l.failed, l.err = w.seq, r.err
	}
}

// seen applies a direct reading, except for tags that were written since. It resolves
// a write of tags without an answer if it shows them and began after that write, and if
// they were sent once.
func (w *world) seen(i Instance, began time.Time) {
	o := w.objects[i.InstanceID]
	if o == nil {
		if w.cfg.own.ours(i) {
			w.add(i, w.cfg.own.ClaimIn(i.Tags)).read = began
		}
		return
	}
	if began.Before(o.read) {
		return
	}
	if began.Before(o.tagged.Add(w.cfg.SettleTime)) {
		i.Tags = o.Tags
	}
	o.Instance, o.read = i, began
	w.keepTags(o)
	if u := w.writes[i.InstanceID]; u != nil && u.tags != nil && !u.repeated && slices.Equal(u.tags, i.Tags) &&
		!began.Before(u.sent.Add(w.cfg.SettleTime)) {
		u.tags, o.tagged = nil, w.now // readings that begin soon may be of before it
	}
}

// missed applies a request for the instance that answered 404; see package absence.
func (w *world) missed(id int, began time.Time) {
	l, o := w.reads[id], w.objects[id]
	if l == nil {
		l = &directRead{used: w.now}
		w.reads[id] = l
	}
	if o != nil && began.Before(o.made.Add(w.cfg.SettleTime)) {
		l.notBefore = o.made.Add(w.cfg.SettleTime)
		return
	}
	l.absence.Missed(began, w.now, w.cfg.SettleTime)
	w.endIfProven(id)
}

func (c *core) created(r result) {
	cl := r.claim
	cl.busy = false
	c.queue.done(c.now, !r.unsent)
	switch {
	case r.unsent: // it is decided again
		return
	case r.err == nil:
		o := c.world.objects[r.instance.InstanceID]
		if o == nil {
			o = c.world.add(r.instance, cl.id)
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
	if effect != claims.EffectNone {
		cl.lands.until, cl.lands.instanceType = c.now.Add(c.cfg.LateEffect+listLag), r.creation.InstanceType
	}
	switch {
	case errors.Is(r.err, ErrLabelTaken), effect == claims.EffectApplied:
		cl.labelTaken, cl.search.inARow = c.now, 0
	case effect == claims.EffectUnknown:
		cl.ambiguous, cl.search.inARow = c.now, 0
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
func (w *world) changed(r result) {
	if r.op.write() && r.err != nil && !r.unsent {
		w.unanswered(r)
	}
	o := w.objects[r.id]
	switch {
	case o == nil, r.unsent, r.cancelled, w.stale(r) && r.op.ofParts():
		return
	case claims.KindOf(r.err) == claims.KindNotFound && r.op == opDisk: // of the disk or of the instance: the list of disks distinguishes them
		o.build.invalidate(w.now)
		return
	case claims.KindOf(r.err) == claims.KindNotFound:
		w.missed(r.id, r.began)
		return
	case r.err != nil:
		o.failed, o.err = w.seq, r.err
		if r.op.write() && claims.EffectOf(r.err) == claims.EffectUnknown {
			o.build.invalidate(w.now.Add(w.cfg.SettleTime))
		}
		return
	}
	switch r.op {
	case opDelete:
		o.removal = removal{accepted: w.now, seq: w.seq}
	case opTag:
		o.Tags, o.tagged = slices.Clone(r.tags), w.now
		w.keepTags(o)
	default:
		o.build.learn(r, w.now)
	}
}

// unanswered records a failed write that may have had its effect, or may still have
// it. A removal that answered 404 may be a repetition by the client.
func (w *world) unanswered(r result) {
	missing := claims.KindOf(r.err) == claims.KindNotFound && r.op == opDelete
	if claims.EffectOf(r.err) == claims.EffectNone && !missing {
		return
	}
	u := w.writes[r.id]
	if u == nil {
		u = &unresolved{}
		w.writes[r.id] = u
	}
	until := w.now.Add(w.cfg.LateEffect + w.cfg.SettleTime)
	switch r.op {
	case opDelete:
		u.condemned, u.term = true, r.term
	case opTag:
		u.repeated = u.tags != nil && u.repeated
		u.tags, u.sent, u.polls = slices.Clone(r.tags), r.began, 0
	case opAddDisk:
		if u.disks == nil {
			u.disks = map[string]time.Time{}
		}
		u.disks[r.disk.Label] = until
	}
	u.until = latest(u.until, until)
}

// forget drops the state of a claim that has none and that no caller waits for.
func (c *core) forget(cl *claimState) {
	if cl.callers == 0 && !cl.busy && !cl.queued && !cl.resolving() && c.landed(cl) {
		c.claims.remove(cl)
	}
}

// landed reports whether no creation for the claimant can still take effect, or have
// taken effect without being counted.
func (c *core) landed(cl *claimState) bool {
	until := cl.lands.until
	return until.IsZero() || !c.now.Before(until) && (!c.cfg.Bounded() || !c.world.list.began.Before(until))
}

// prune drops expired state.
func (c *core) prune() {
	c.pruned = c.now
	w := &c.world
	maps.DeleteFunc(w.gone, func(_ int, since time.Time) bool { return c.now.Sub(since) > goneKept })
	maps.DeleteFunc(c.refused, func(_ string, r refusal) bool { return !c.now.Before(r.until) })
	maps.DeleteFunc(w.reads, func(_ int, l *directRead) bool { return !l.running && c.now.Sub(l.used) > readKept })
	maps.DeleteFunc(w.writes, func(id int, u *unresolved) bool {
		return !c.now.Before(u.until) && (!u.condemned || w.objects[id] == nil)
	})
	c.queue.expire(c.now)
	for _, cl := range c.claims.all() {
		if cl.callers == 0 && c.now.Sub(cl.left) > readKept {
			cl.ambiguous, cl.labelTaken, cl.labelOwner = time.Time{}, time.Time{}, 0
		}
		c.forget(cl)
	}
}
