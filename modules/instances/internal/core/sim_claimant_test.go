package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// simClaimant simulates a claimant and its controller: it calls Create until it has an
// instance, keeps that for a while, and calls Delete until it is gone.
type simClaimant struct {
	*sim
	plan      simLife
	name, uid string
	before    *simClaimant
	// alive reports that it exists, served that it got its instance, id.
	alive, served, releasing bool
	id                       int
	since, answeredAt        time.Time
	// servedIn is the term of leadership and the life in which it was served.
	servedIn [2]int
	forgot   bool
	// edits counts the changes of its tags.
	edits int
	// creates, releases and tries count the calls of each.
	creates, releases, tries int
	// died is the end of its existence.
	died time.Time
	// lasting is the last answer that only waiting does not change.
	lasting claims.Kind
}

func (c *simClaimant) claimant() claims.Claimant { return claims.Claimant{Name: c.name, UID: c.uid} }

func (c *simClaimant) begin() {
	if c.before != nil && (c.before.alive || c.before.since.IsZero()) {
		if c.now.Sub(c.began) < simChaos+10*time.Minute {
			c.after(5*time.Second, c.begin)
		}
		return
	}
	c.alive, c.since = true, c.now
	if c.plan.quits > 0 {
		c.after(c.plan.quits, func() {
			if !c.served {
				c.logf("%s/%s quits", c.name, c.uid)
				c.dies()
			}
		})
	}
	c.create()
}

func (c *simClaimant) order() *Order {
	who := simOwn.ID(c.claimant())
	o := &Order{Who: who, Label: simLabel(c.name), InstanceType: "plan", Tags: simOwn.ClaimTags(who)}
	if c.plan.large {
		o.InstanceType = "large"
	}
	for n := range c.plan.disks {
		o.Data = append(o.Data, fmt.Sprintf("data%d", n))
	}
	if len(o.Data) > 0 {
		o.Tags = append(o.Tags, simOwn.Unfinished)
	}
	o.Capacity, o.Form = o.InstanceType, fmt.Sprint(o.InstanceType, o.Data)
	return o
}

// simLabel returns the label of a claimant's instance.
func simLabel(name string) string { return "demo-" + name }

// create calls Create, again and again.
func (c *simClaimant) create() {
	if !c.alive || c.served {
		return
	}
	began := c.now
	c.survive(&c.creates, c.plan.timeout+c.plan.again+time.Second, c.create)
	c.call(Ask{Kind: AskCreate, Order: c.order()}, c.plan.timeout, func(a Answer) {
		c.logf("%s/%s: %s", c.name, c.uid, outcome(a))
		switch {
		case a.Err != nil:
			c.lasting = claims.KindOf(a.Err)
			c.checkConflict(a.Err)
			c.checkLost(a.Err, began)
			c.after(c.plan.again, c.create)
		case c.known(a.Instance.InstanceID).goneAt(began.Add(-c.sim.plan.stale)):
			c.violated("%s/%s was given %d, which was gone before the call", c.name, c.uid, a.Instance.InstanceID)
		case c.plan.forgets && !c.forgot:
			c.forgot = true
			c.after(c.plan.again, c.create)
		default:
			c.answered(a.Instance)
		}
	})
}

// survive makes a call again that ended with its process, unless it was made
// again already.
func (c *simClaimant) survive(calls *int, wait time.Duration, again func()) {
	*calls++
	life, latest := c.life, *calls
	c.after(wait, func() {
		if life != c.life && latest == *calls {
			again()
		}
	})
}

func (c *simClaimant) answered(i Instance) {
	if !c.alive {
		return
	}
	c.served, c.id, c.answeredAt, c.servedIn = true, i.InstanceID, c.now, [2]int{c.life, c.core.known.View().Term()}
	c.checkBooted()
	c.edit()
	if i := c.find(c.id); c.plan.given && i != nil {
		c.after(c.plan.keeps-simLookAge-simStaleMost-time.Second, func() {
			c.logf("a person %s %d", stepGive, i.InstanceID)
			c.give(i)
		})
	}
	if c.plan.keeps > 0 {
		c.after(c.plan.keeps, func() { c.releasing = true; c.release() })
	}
}

// aliveAt reports whether it existed at a time.
func (c *simClaimant) aliveAt(at time.Time) bool {
	return !c.since.IsZero() && !c.since.After(at) && (c.alive || c.died.After(at))
}

// noticeLoss ends a claimant whose instance is gone and is not listed, as core's
// garbage collection does.
func (c *simClaimant) noticeLoss(listed []Instance) {
	if !c.alive || !c.served || c.releasing || c.find(c.id) != nil {
		return
	}
	if !slices.ContainsFunc(listed, func(i Instance) bool { return i.InstanceID == c.id }) {
		c.releasing = true
		c.release()
	}
}

// release calls Delete until the instance is proven gone.
func (c *simClaimant) release() {
	if !c.alive {
		return
	}
	c.survive(&c.releases, 30*time.Second, c.release)
	c.call(Ask{Kind: AskDelete, ID: c.id, By: simOwn.ID(c.claimant())}, 20*time.Second, func(a Answer) {
		c.logf("%s/%s releases %d: %s", c.name, c.uid, c.id, outcome(a))
		if claims.KindOf(a.Err) != claims.KindNotFound {
			c.after(5*time.Second, c.release)
			return
		}
		c.dies()
	})
}

func (c *simClaimant) dies() { c.alive, c.died = false, c.now }

// userTag is the claimant's only own tag on its instance after this number of edits.
func (c *simClaimant) userTag(edits int) string { return fmt.Sprintf("%s-%d", c.uid, edits) }

// edit replaces its tag by the next one, one after another.
func (c *simClaimant) edit() {
	if !c.alive || c.releasing || c.edits == c.plan.edits {
		return
	}
	next := c.edits + 1
	c.survive(&c.tries, 30*time.Second, c.edit)
	ask := Ask{
		Kind: AskTags, ID: c.id, By: simOwn.ID(c.claimant()), Remove: []string{c.userTag(c.edits)}, Add: []string{c.userTag(next)},
	}
	c.call(ask, 20*time.Second, func(a Answer) {
		c.logf("%s/%s changes the tags of %d: %s", c.name, c.uid, c.id, outcome(a))
		switch {
		case claims.KindOf(a.Err) == claims.KindNotFound:
			return
		case a.Err != nil:
			c.after(5*time.Second, c.edit)
			return
		}
		c.edits = next
		c.after(time.Second, c.edit)
	})
}

// checkConflict: a label is a conflict only if something else has had it.
func (c *simClaimant) checkConflict(err error) {
	label := simLabel(c.name)
	if claims.KindOf(err) == claims.KindConflict && !slices.ContainsFunc(c.instances, func(i *simInstance) bool {
		return i.was(c.began, func(v Instance) bool { return v.Name == label }) && (i.foreign || claimOf(i) != simOwn.ID(c.claimant()))
	}) && !slices.ContainsFunc(c.instances, func(i *simInstance) bool { return i.history[0].value.Name == label && !i.given.IsZero() }) {
		c.violated("%s/%s is refused for a conflict with its own instance: %v", c.name, c.uid, err)
	}
}

// checkLost checks that a caller that still waits gets no error of a lost answer, but
// the outcome of its creation.
func (c *simClaimant) checkLost(err error, began time.Time) {
	if e, ok := errors.AsType[*claims.Error](err); ok && e.Op == string(OpCreate) && e.Effect == claims.EffectUnknown &&
		c.now.Sub(began) < c.plan.timeout {
		c.violated("%s/%s gets a lost answer while it waits: %v", c.name, c.uid, err)
	}
}

// happens performs an edit by a user, or ends the process.
func (s *sim) happens(step simStep) {
	own := slices.DeleteFunc(s.existing(), func(i *simInstance) bool {
		early := s.now.Sub(i.born) < s.plan.lag+20*time.Second
		return i.foreign || early && (step.kind != stepStrip || !s.plan.harsh)
	})
	switch step.kind {
	case stepDeath:
		s.logf("%s", step.kind)
		s.process(step.pick%2 == 1 && s.quiet())
		return
	case stepBegin:
		s.logf("%s", step.kind)
		after := claims.MayStillWrite
		if step.pick%2 == 1 && s.quiet() {
			after = claims.Ended
		}
		s.core.Begin(after, s.now)
		s.proven.begin()
		return
	case stepThief:
		c := s.claimants[step.pick%len(s.claimants)]
		label := simLabel(c.name)
		if c.alive || slices.ContainsFunc(s.existing(), func(i *simInstance) bool { return i.Name == label }) {
			return
		}
		i := s.add(Instance{Node: claims.Node{Name: label, Status: "running"}}, true)
		s.logf("a person makes %s, %d", label, i.InstanceID)
		s.after(3*time.Minute, func() { i.gone = true; s.record(i); s.logf("the person's %s is gone", label) })
		return
	}
	if len(own) == 0 {
		return
	}
	i := own[step.pick%len(own)]
	s.logf("a person %s %d", step.kind, i.InstanceID)
	switch step.kind {
	case stepRename:
		// The label alone prevents a twin from a creation that is still on its way, and of
		// an instance that no reading can have shown to the process: one whose creation had
		// no answer, one of the process before that lists lag behind, and one that a wrong
		// list left out.
		hidden := i.unanswered || i.leftOut == s.life+1 || s.now.Sub(i.born) < s.plan.lag+simVisible
		if s.now.Before(s.late[i.Name]) || hidden && !s.proven.shown[i.InstanceID] {
			return
		}
		i.Name, i.renamed = fmt.Sprintf("renamed-%d", i.InstanceID), true
	case stepStrip:
		if s.takesOver() || s.core.known.View().Node(i.InstanceID) == nil { // the process restores only tags that it read
			return
		}
		i.Tags, i.stripped = nil, true
	case stepRemove:
		i.gone = true
	case stepGive:
		s.give(i)
	case stepOff:
		if i.Status == "running" {
			i.Status, i.off = "offline", true
		}
	}
	s.record(i)
}

// takesOver reports whether a process begins to lead after another one, or again.
func (s *sim) takesOver() bool {
	return s.hasDeath() || slices.ContainsFunc(s.plan.steps, func(step simStep) bool { return step.kind == stepBegin })
}

// quiet reports whether no write is under way or may still land.
func (s *sim) quiet() bool { return len(s.writing) == 0 && s.unlanded == 0 }

// give makes an instance another claimant's, by its tags, for two minutes.
func (s *sim) give(i *simInstance) {
	if i.gone || s.takesOver() || s.core.known.View().Node(i.InstanceID) == nil || simOwn.IsUnfinished(i.Tags) || i.stripped {
		return
	}
	before := i.Tags
	i.Tags = simOwn.ClaimTags(claims.ClaimID{Value: "another"})
	i.given, i.stripped = s.now, true
	s.record(i)
	s.after(2*time.Minute, func() {
		if !i.gone {
			i.Tags = before
			s.record(i)
			s.logf("a person gives %d back", i.InstanceID)
		}
	})
}
