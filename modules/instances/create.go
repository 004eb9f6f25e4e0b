package instances

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// createTask performs a call of Create.
type createTask struct {
	creation Creation
	// capacity and template are the keys of cached refusals: for the same capacity, and
	// for the same request without what belongs to the claimant.
	capacity, template string

	began time.Time
	seq   int
	cl    *claimState
}

func newCreateTask(cfg *settings, spec Spec) (*createTask, error) {
	const op = "create"
	if err := spec.check(op, &cfg.own); err != nil {
		return nil, err
	}
	data, err := spec.UserData.encode(op)
	if err != nil {
		return nil, err
	}
	who := cfg.own.ID(spec.Claimant)
	creation := Creation{
		Spec: spec, Label: Label(cfg.LabelPrefix, spec.Claimant.Name), UserData: data,
		Tags: cfg.own.claimTags(who, spec.Tags...), Off: len(spec.Storage.Data) > 0,
	}
	if creation.Off {
		creation.Tags = append(creation.Tags, cfg.own.unfinished)
	}
	t := &createTask{creation: creation, capacity: fmt.Sprint(spec.InstanceType, " ", spec.Region, " ", spec.PlacementGroup.ID)}
	shared := spec
	shared.Claimant, shared.UserData = claims.Claimant{}, UserData{}
	text, err := json.Marshal(shared)
	if err != nil {
		return nil, claims.Invalid(op, "Spec", "%w", err)
	}
	t.template = string(text)
	return t, nil
}

func (t *createTask) begin(c *core) {
	t.cl = c.claims.get(c.cfg.own.ID(t.creation.Claimant), t.creation.Label)
	t.cl.callers++
	t.began, t.seq = c.now, c.seq
}

func (t *createTask) ended(c *core) {
	t.cl.callers--
	t.cl.left = c.now
	c.forget(t.cl)
}

// next repeats try while a decision only leads to another one.
func (t *createTask) next(c *core) step {
	for range 8 {
		if s := t.try(c); !s.none() {
			return s
		}
	}
	return wait(c.now.Add(firstPoll))
}

func (t *createTask) try(c *core) step {
	if t.cl.busy {
		return wait(time.Time{})
	}
	// Instances are found whatever their label is, before one is created.
	if s := c.list(c.completeAt(), t.seq, "instances that exist"); !s.none() {
		return s
	}
	if own := c.world.has(t.cl.id); len(own) > 0 {
		return t.finish(c, own[0])
	}
	return t.make(c)
}

// make creates the instance, after it was resolved whether it exists.
func (t *createTask) make(c *core) step {
	cl := t.cl
	switch {
	case cl.failed > t.seq:
		return refuse(cl.err)
	case cl.labelOwner != 0:
		return t.inspectOwner(c)
	case !cl.ambiguous.IsZero() || !cl.labelTaken.IsZero():
		return t.resolve(c)
	}
	for _, key := range []string{t.capacity, t.template} {
		if r, ok := c.refused[key]; ok && c.now.Before(r.until) {
			c.queue.leave(cl)
			return refuse(r.err)
		}
	}
	if s := t.fit(c); !s.none() {
		return s
	}
	c.queue.join(cl)
	if !c.queue.turn(cl) {
		return wait(time.Time{})
	}
	if at := c.queue.slot(c.now); at.IsZero() || at.After(c.now) {
		return wait(at)
	}
	c.queue.send()
	cl.busy, cl.instanceType = true, t.creation.InstanceType
	return c.do(effect{op: opCreate, claim: cl, creation: t.creation, reason: "no instance of this claimant"})
}

// fit applies the ceilings. They count what exists until it is proven gone, and what
// may still be made; nothing is made until a list shows all instances of the process
// before.
func (t *createTask) fit(c *core) step {
	if !c.cfg.Bounded() {
		return step{}
	}
	since := c.shownAt()
	for _, cl := range c.claims.all() {
		if cl != t.cl && !c.now.Before(cl.lands.until) {
			since = latest(since, cl.lands.until)
		}
	}
	if s := c.list(since, t.seq, "instances that the ceilings count"); !s.none() {
		return s
	}
	types := []string{t.creation.InstanceType}
	if last := t.cl.lands; c.now.Before(last.until) && last.instanceType != types[0] {
		types = append(types, last.instanceType) // whichever of the two is made
	}
	owned := c.owned(t.cl)
	for _, instanceType := range types {
		if _, err := c.cfg.Fit("create", instanceType, 1, owned); err != nil {
			c.queue.leave(t.cl)
			return refuse(err)
		}
	}
	return step{}
}

// owned counts, by type, the instances that exist, are being created, or may still be
// made for other claimants.
func (c *core) owned(but *claimState) map[string]int {
	owned := map[string]int{}
	for _, cl := range c.claims.all() {
		if cl == but || len(c.world.has(cl.id)) > 0 {
			continue
		}
		if cl.busy {
			owned[cl.instanceType]++
		}
		if !c.landed(cl) && !(cl.busy && cl.instanceType == cl.lands.instanceType) {
			owned[cl.lands.instanceType]++
		}
	}
	for _, o := range c.world.objects {
		owned[o.InstanceType]++
	}
	return owned
}

// resolve searches for the instance with the label. A creation without an answer may
// have had its effect: if no list shows it, the next creation does, because the API
// then refuses the label.
func (t *createTask) resolve(c *core) step {
	cl := t.cl
	since := latest(cl.ambiguous, cl.labelTaken)
	switch {
	case cl.search.running:
		return wait(time.Time{})
	case cl.search.began.After(since) && cl.labelTaken.IsZero():
		cl.ambiguous = time.Time{}
		return step{}
	case cl.search.began.After(since) && c.now.Sub(cl.labelTaken) > findFor:
		cl.ambiguous, cl.labelTaken = time.Time{}, time.Time{}
		c.queue.leave(cl)
		return refuse(&claims.Error{
			Kind: claims.KindConflict, Op: "create", Field: "label", Effect: claims.EffectNone,
			Err: fmt.Errorf("the API refuses the label %s as taken, and lists no Linode that has it: it may be one that the token does not show",
				cl.label),
		})
	}
	if next := latest(since, cl.search.began).Add(growing(firstFind, longestFind, cl.search.inARow)); c.now.Before(next) {
		return wait(next)
	}
	cl.search.running = true
	return c.do(effect{op: opFind, claim: cl, text: cl.label, reason: "who has the label"})
}

// growing returns a pause that doubles up to a longest.
func growing(first, longest time.Duration, times int) time.Duration {
	return min(first<<min(times, 10), longest)
}

// inspectOwner reads the instance that has the label and is not the claimant's.
func (t *createTask) inspectOwner(c *core) step {
	cl := t.cl
	since := t.began.Add(-refusalHold)
	if o := c.world.objects[cl.labelOwner]; o != nil {
		since = latest(since, o.removal.accepted)
	}
	gone, s := c.readDirectly(cl.labelOwner, since, t.seq, "it has the label")
	if !s.none() {
		return s
	}
	cl.ambiguous, cl.labelTaken = time.Time{}, time.Time{}
	var other Instance
	if !gone {
		other = c.world.reads[cl.labelOwner].instance
	}
	if other.Name != cl.label {
		cl.labelOwner = 0
		return step{}
	}
	c.queue.leave(cl)
	owner := "is not of this cluster"
	if c.cfg.own.ours(other) {
		owner = fmt.Sprintf("is of claimant %s with another UID", c.cfg.own.ClaimIn(other.Tags).Value)
	}
	return refuse(&claims.Error{
		Kind: claims.KindConflict, Op: "create", Object: claims.Object("instance", other.InstanceID), Field: "label", Effect: claims.EffectNone,
		Err: fmt.Errorf("the Linode has the label %s and %s", cl.label, owner),
	})
}

// finish returns an instance that exists, or the next step that it lacks.
func (t *createTask) finish(c *core, o *object) step {
	c.queue.leave(t.cl)
	t.cl.ambiguous, t.cl.labelTaken = time.Time{}, time.Time{} // the owner of the label is known
	switch {
	case o.failed > t.seq:
		return refuse(o.err)
	case c.busy[o.InstanceID]:
		return wait(time.Time{})
	}
	unfinished := c.world.unfinished(o)
	building := unfinished || len(t.creation.Storage.Data) > 0 && !o.build.ran
	late := unfinished && !o.build.ran && c.now.Sub(o.first) > c.cfg.FinishTimeout
	if o.build.making != 0 && building && !late && !c.world.leaving(o) {
		return t.awaitDisk(c, o)
	}
	since := t.began
	if building || c.world.leaving(o) {
		since = latest(since, o.build.since)
	}
	if c.world.stripped(o) {
		since = latest(since, c.world.inherited(o))
	}
	if o.made.Before(since) {
		if gone, s := c.readDirectly(o.InstanceID, since, t.seq, "the claimant's instance"); gone || !s.none() {
			return s
		}
	}
	switch {
	case c.world.disputed(o):
		return refuse(fail(claims.KindConflict, "create", o.InstanceID, "its tags name another claimant, %s", c.cfg.own.ClaimIn(o.Tags).Value))
	case c.world.leaving(o):
		return t.afterRemoval(c, o)
	case c.world.stripped(o):
		return c.retag(o)
	case late:
		o.build.abandoned = true
		return c.remove(o, "not finished in time")
	case building:
		return t.buildUp(c, o)
	}
	return end(answer{instance: c.world.view(o)})
}

// afterRemoval repeats a removal without effect, and waits until the instance is proven
// gone.
func (t *createTask) afterRemoval(c *core, o *object) step {
	switch {
	case c.resendRemoval(o):
		return c.remove(o, "its removal had no effect")
	case o.build.abandoned:
		return refuse(fail(claims.KindUnavailable, "create", o.InstanceID,
			"disks and boot were not finished within %s; the instance is being removed",
			c.cfg.FinishTimeout))
	}
	return o.build.poll(c.now)
}

// keepRefusal caches a refusal for other requests of the same form.
func (c *core) keepRefusal(r result) {
	keep := refusal{err: r.err, until: c.now.Add(refusalHold)}
	t, err := newCreateTask(&c.cfg, r.creation.Spec)
	if err != nil {
		return
	}
	switch claims.KindOf(r.err) {
	case claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		c.refused[t.capacity] = keep
	case claims.KindInvalid, claims.KindForbidden:
		if e, ok := errors.AsType[*claims.Error](r.err); ok && e.Field != "label" && e.Field != "Spec.UserData" {
			c.refused[t.template] = keep
		}
	}
}
