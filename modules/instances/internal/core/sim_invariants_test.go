package core

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
)

// Constants of the invariants. They are separate from the engine's constants, because the invariants judge those constants.
const (
	// simLookAge is how old the reading before a removal may be, simStaleMost by how much
	// it may be out of date.
	simLookAge, simStaleMost = 2 * time.Second, 4 * time.Second
	// simWindow is the time in which the API allows a number of creations.
	simWindow = 15 * time.Second
	// simVisible is for how long lists have shown an instance that a person renames,
	// unless the process has seen it.
	simVisible = 20 * time.Second
)

// guard checks a request before it is sent.
func (s *sim) guard(e Effect) {
	if !e.Op.Write() {
		return
	}
	if s.proven.writing[e.ID] {
		s.violated("%s of %d while another write to it is under way", e.Op, e.ID)
	}
	s.proven.writing[e.ID] = e.ID != 0
	if e.Op == OpCreate {
		s.guardCreation(e)
		return
	}
	i := s.known(e.ID)
	if i == nil || i.foreign {
		s.violated("%s of %d, which is not of this cluster", e.Op, e.ID)
		return
	}
	switch read := s.proven.read[e.ID]; {
	case e.Op == OpDelete:
		s.guardRemoval(e, i)
	case (e.Op == OpAddDisk || e.Op == OpAttach) && read.Before(s.proven.added[e.ID]):
		s.violated("%s of %d without a reading of it since the disk before", e.Op, e.ID)
	}
}

// guardRemoval: an instance is removed only for its claimant, or when the claimant has been gone for the orphan time, and only after a
// reading that shows its owner.
func (s *sim) guardRemoval(e Effect, i *simInstance) {
	if s.now.Sub(s.proven.read[e.ID]) > simLookAge {
		s.violated("instance %d is removed (%s), and was last read at %.2f s", e.ID, e.Reason, s.proven.read[e.ID].Sub(s.began).Seconds())
	}
	unfinished := simOwn.IsUnfinished(i.Tags) && s.now.Sub(i.born) > 9*time.Minute
	for _, c := range s.claimants {
		if claimOf(i) != simOwn.ID(c.claimant()) || c.served && c.id != e.ID {
			continue // it was given another instance, which a person removed, and a late creation made this one
		}
		switch {
		case c.alive && !c.releasing && !unfinished:
			s.violated("instance %d of %s is removed (%s), which needs it", e.ID, c.name, e.Reason)
		case e.Reason == "no claimant needs it" && !c.alive && s.now.Sub(c.died) < s.plan.orphanTTL:
			s.violated("instance %d is collected %s after the end of %s", e.ID, s.now.Sub(c.died), c.name)
		}
	}
}

// guardCreation checks the pace: no window has more creations than are allowed.
func (s *sim) guardCreation(e Effect) {
	if e.Order.Label == "" || !slices.Contains(e.Order.Tags, simOwn.Cluster) || simOwn.ClaimIn(e.Order.Tags).None() {
		s.violated("a creation without label, cluster or claim: %+v", *e.Order)
	}
	if s.now.Before(s.proven.held) {
		s.violated("a creation in the pause after a 429")
	}
	s.sent = append(s.sent, s.now)
	if n := len(s.sent); n > s.plan.creations && !s.hasDeath() && s.now.Sub(s.sent[n-1-s.plan.creations]) < simWindow {
		s.violated("%d creations within 15 s", s.plan.creations+1)
	}
}

// hasDeath reports whether a process of the schedule dies.
func (s *sim) hasDeath() bool {
	return slices.ContainsFunc(s.plan.steps, func(step simStep) bool { return step.kind == stepDeath }) ||
		slices.ContainsFunc(s.plan.fates, func(f simFate) bool { return f.kind == faultDeath })
}

// claimOf is whose claim an instance was made with.
func claimOf(i *simInstance) claims.ClaimID { return simOwn.ClaimIn(i.history[0].value.Tags) }

// check is called after every change at the platform: no claimant has two
// instances at the same time.
func (s *sim) check(changed *simInstance) {
	if changed.foreign || changed.gone {
		return
	}
	who := claimOf(changed)
	for _, other := range s.existing() {
		if other != changed && !other.foreign && claimOf(other) == who {
			s.violated("claimant %s has the instances %d and %d", who.Value, other.InstanceID, changed.InstanceID)
		}
	}
}

// atRest checks the end: every claimant has its instance, every instance its
// claimant, and what happened was bounded.
func (s *sim) atRest() {
	for _, c := range s.claimants {
		switch {
		case c.alive && !c.served && c.beyondCeilings():
		case c.alive && !c.served:
			s.violated("claimant %s/%s was never served: %s", c.name, c.uid, c.lasting)
		case c.alive && c.releasing:
			s.violated("claimant %s/%s does not get rid of %d", c.name, c.uid, c.id)
		}
	}
	for _, i := range s.existing() {
		if i.foreign {
			continue
		}
		if simOwn.IsUnfinished(i.Tags) {
			s.violated("instance %d is not finished", i.InstanceID)
		}
		if !simOwn.Ours(i.Instance) || simOwn.ClaimIn(i.Tags) != claimOf(i) {
			s.violated("instance %d lacks tags that make it its claimant's: %v", i.InstanceID, i.Tags)
		}
		s.checkDisks(i)
		s.checkUserTags(i)
		if !slices.ContainsFunc(s.claimants, func(c *simClaimant) bool { return c.alive && c.id == i.InstanceID }) {
			s.violated("instance %d of %s is left behind", i.InstanceID, claimOf(i).Value)
		}
	}
	// A sweep is a list, and a claimant's calls are few: the rest of the budget is
	// for faults, which may repeat any of them. An attempt that fails is three requests.
	budget := 150 + 120*len(s.claimants)
	for _, f := range s.plan.fates {
		budget += 3 * max(0, f.times-20)
	}
	if s.plan.harsh {
		budget += 150 + 40*len(s.claimants)
	}
	if s.requests > budget {
		s.violated("%d requests, %d are plenty", s.requests, budget)
	}
}

// checkDisks: each disk exists and is attached once.
func (s *sim) checkDisks(i *simInstance) {
	at := slices.IndexFunc(s.claimants, func(c *simClaimant) bool { return c.id == i.InstanceID })
	if at < 0 || s.claimants[at].plan.disks == 0 || i.Status != "running" {
		return
	}
	if want := 2 + s.claimants[at].plan.disks; len(i.disks) != want || len(i.config.Devices) != want {
		s.violated("instance %d has disks %v and devices %v, want %d", i.InstanceID, i.disks, i.config.Devices, want)
	}
}

// checkUserTags: no write of tags undid another.
func (s *sim) checkUserTags(i *simInstance) {
	at := slices.IndexFunc(s.claimants, func(c *simClaimant) bool { return c.id == i.InstanceID })
	if at < 0 || i.stripped {
		return
	}
	c := s.claimants[at]
	for n := range c.edits + 1 {
		if want := n == c.edits && n > 0; slices.Contains(i.Tags, c.userTag(n)) != want {
			s.violated("instance %d after %d edits has the tags %v", i.InstanceID, c.edits, i.Tags)
		}
	}
}

// checkSlots: while a creation may be sent, no caller waits for its turn behind
// a claimant that sends none.
func (s *sim) checkSlots() {
	s.core.callers.Expire(s.now)
	view := s.core.known.View()
	list := view.List()
	if at := view.Slot(); at.IsZero() || at.After(s.now) || list.Began.IsZero() {
		return
	}
	if list.Began.Before(known.Latest(view.CompleteAt(), view.FreshAt())) {
		return
	}
	if s.settings.Bounded() && (list.Running || list.Began.Before(view.ShownAt())) {
		return
	}
	ready := func(who claims.ClaimID) bool {
		p := view.Purchase(who)
		return !p.Busy() && !p.Resolving()
	}
	if who := s.core.callers.View().Turn(ready); who != nil {
		s.violated("%s waits for its turn while a slot is free", who.Claimant().Value)
	}
}

// simPrices are the hourly prices of the plans.
func simPrices(instanceType string) (float64, bool) {
	price, known := map[string]float64{"plan": 1, "large": 2}[instanceType]
	return price, known
}

func (s *simSchedule) ceilings() claims.Ceilings {
	return claims.Ceilings{MaxNodes: s.maxNodes, MaxHourlyPrice: s.maxPrice, HourlyPrice: simPrices}
}

// costs returns the number and the hourly price of the cluster's instances.
func (s *sim) costs() (nodes int, price float64) {
	for _, i := range s.existing() {
		if !i.foreign {
			each, _ := simPrices(i.InstanceType)
			nodes, price = nodes+1, price+each
		}
	}
	return nodes, price
}

// checkCeilings: no instance is made beyond the ceilings, however late its creation takes effect. The only exception is an instance that
// a wrong list left out and that no answer has shown to the process.
func (s *sim) checkCeilings() {
	nodes, price := s.costs()
	for _, i := range s.existing() {
		if i.leftOut == s.life+1 && !i.foreign && !s.proven.shown[i.InstanceID] {
			each, _ := simPrices(i.InstanceType)
			nodes, price = nodes-1, price-each
		}
	}
	if s.plan.maxNodes > 0 && nodes > s.plan.maxNodes || s.plan.maxPrice > 0 && price > s.plan.maxPrice {
		s.violated("ceiling: %d instances at %g by the hour, with %d and %g allowed", nodes, price, s.plan.maxNodes, s.plan.maxPrice)
	}
}

// beyondCeilings reports whether the ceilings leave no room for the claimant.
func (c *simClaimant) beyondCeilings() bool {
	nodes, price := c.costs()
	own, _ := simPrices(c.order().InstanceType)
	return c.sim.plan.maxNodes > 0 && nodes >= c.sim.plan.maxNodes || c.sim.plan.maxPrice > 0 && price+own > c.sim.plan.maxPrice
}

// checkLoss: no removal, whenever it lands, takes the instance of a claimant that was
// given it.
func (s *sim) checkLoss(e Effect, sent time.Time) {
	if i := s.find(e.ID); i != nil && simOwn.ClaimIn(i.Tags).Value == "another" && sent.Sub(i.given) > simLookAge+simStaleMost {
		s.violated("lost: the removal of %d (%s), which is another claimant's", e.ID, e.Reason)
	}
	for _, c := range s.claimants {
		if c.id == e.ID && c.alive && c.served && !c.releasing && s.find(e.ID) != nil {
			s.violated("lost: the removal of %d (%s) lands after it was given to %s", e.ID, e.Reason, c.name)
		}
	}
}

// checkListed: a list shows what was returned to a claimant in this lead.
func (c *simClaimant) checkListed(listed []Instance) {
	i := c.find(c.id)
	if !c.alive || !c.served || i == nil || c.servedIn != [2]int{c.life, c.core.known.View().Term()} || c.releasing {
		return
	}
	if !slices.ContainsFunc(listed, func(i Instance) bool { return i.InstanceID == c.id }) {
		c.violated("hidden: the list lacks %d of %s", c.id, c.name)
	}
}

// checkBooted: an instance with data disks is returned when it has been started.
func (c *simClaimant) checkBooted() {
	i := c.known(c.id)
	if c.plan.disks > 0 && !i.was(c.began, func(v Instance) bool { return v.Status == "running" || v.Status == "booting" }) {
		c.violated("off: %s is given %d, which was never started", c.name, c.id)
	}
}
