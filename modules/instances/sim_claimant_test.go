package instances

import (
	"fmt"
	"slices"
	"time"
)

// simClaimant is a claimant as a controller is for it: it asks until it has an
// instance, keeps that for a while, and gives it back until it is gone.
type simClaimant struct {
	*sim
	plan      simLife
	name, uid string
	before    *simClaimant
	// alive: it exists. served: it was told its instance, id.
	alive, served, releasing bool
	id                       int
	since                    time.Time
	forgot                   bool
	// lasting is the last answer that only waiting does not change.
	lasting Kind
}

func (c *simClaimant) claimant() Claimant { return Claimant{Name: c.name, UID: c.uid} }

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
				c.alive = false
			}
		})
	}
	c.ask()
}

func (c *simClaimant) spec() Spec {
	s := Spec{Claimant: c.claimant(), Plan: "plan", Region: "region", Image: "image"}
	for n := range c.plan.disks {
		s.Storage.BootMB = 10_000
		s.Storage.Data = append(s.Storage.Data, Disk{Label: fmt.Sprintf("data%d", n), SizeMB: 1000})
	}
	return s
}

// ask calls Create, again and again.
func (c *simClaimant) ask() {
	if !c.alive || c.served {
		return
	}
	t, err := newCreateTask(&c.core.cfg, c.spec())
	if err != nil {
		c.violated("%v", err)
		return
	}
	life := c.life
	c.after(c.plan.patience+c.plan.again+time.Second, func() { // the process died, and with it the call
		if life != c.life {
			c.ask()
		}
	})
	c.call(t, c.plan.patience, func(a answer) {
		c.logf("%s/%s: %v, instance %d", c.name, c.uid, a.err, a.instance.ID)
		switch {
		case a.err != nil:
			c.lasting = KindOf(a.err)
			c.after(c.plan.again, c.ask)
		case c.plan.forgets && !c.forgot:
			c.forgot = true
			c.after(c.plan.again, c.ask)
		default:
			c.answered(a.instance)
		}
	})
}

func (c *simClaimant) answered(i Instance) {
	real := c.known(i.ID)
	switch {
	case real == nil || real.foreign:
		c.violated("%s was given %d, which is not of this cluster", c.name, i.ID)
		return
	case !c.alive:
		return
	}
	c.served, c.id = true, i.ID
	if c.plan.keeps > 0 {
		c.after(c.plan.keeps, func() { c.releasing = true; c.release() })
	}
}

// release calls Delete until the instance is proven gone.
func (c *simClaimant) release() {
	if !c.alive {
		return
	}
	life := c.life
	c.after(30*time.Second, func() {
		if life != c.life {
			c.release()
		}
	})
	t := &deleteTask{op: "delete", id: c.id, by: c.claimant().id(), reason: "released"}
	c.call(t, 20*time.Second, func(a answer) {
		c.logf("%s/%s releases %d: %v", c.name, c.uid, c.id, a.err)
		if KindOf(a.err) != KindNotFound {
			c.after(5*time.Second, c.release)
			return
		}
		if i := c.find(c.id); i != nil {
			c.violated("%d is reported as not found, and exists", c.id)
		}
		c.alive = false
	})
}

// edit is what a person does, or an end of the process.
func (s *sim) edit(step simStep) {
	own := slices.DeleteFunc(s.existing(), func(i *simInstance) bool {
		return i.foreign || s.now.Sub(i.born) < s.plan.lag+20*time.Second
	})
	switch step.kind {
	case stepDeath:
		s.logf("the process dies")
		s.process()
		return
	case stepBegin:
		s.logf("the process leads again")
		s.core.now = s.now
		s.core.begin()
		return
	case stepThief:
		c := s.claimants[step.pick%len(s.claimants)]
		label := Label("demo", c.name)
		if c.alive || slices.ContainsFunc(s.existing(), func(i *simInstance) bool { return i.Label == label }) {
			return
		}
		i := s.add(Instance{Label: label, Status: "running"}, true)
		s.logf("a person makes %s, %d", label, i.ID)
		s.after(3*time.Minute, func() { i.gone = true; s.record(i); s.logf("the person's %s is gone", label) })
		return
	}
	if len(own) == 0 {
		return
	}
	i := own[step.pick%len(own)]
	s.logf("a person edits %d: %d", i.ID, step.kind)
	switch step.kind {
	case stepRename:
		i.Label, i.renamed = fmt.Sprintf("renamed-%d", i.ID), true
	case stepStrip:
		if s.hasDeaths() || s.core.world.objects[i.ID] == nil { // what the process has not seen it cannot know
			return
		}
		i.Tags = nil
	case stepRemove:
		i.gone = true
	case stepOff:
		if i.Status == "running" {
			i.Status = "offline"
		}
	}
	s.record(i)
}

func (s *sim) hasDeaths() bool {
	return slices.ContainsFunc(s.plan.steps, func(step simStep) bool { return step.kind == stepDeath || step.kind == stepBegin })
}
