package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// NoCapacity refuses new nodes of a plan in a region. An empty Type or Region
// means any. The API's real words for it are not known: Reason may give some.
type NoCapacity struct {
	Type, Region string
	Status       int    // 0 = 400
	Reason       string // "" = words of our own
}

// NoCapability takes a capability from a region: the platform does not offer it there.
type NoCapability struct{ Region, Capability string }

// floor is the world as it was when a rule with Stale was added: its reads show
// nothing older.
type floor struct {
	at    time.Time
	world *world.World
}

// past gives the world that a request reads which does not read the present one.
func (s *Sim) past(live *world.Moment, d decision) *world.World {
	if d.Rule.Stale <= 0 {
		return nil
	}
	then := s.clock.Now().Add(-d.Rule.Stale)
	if f, ok := s.floors[d.ID]; ok && then.Before(f.at) {
		return f.world
	}
	return live.History().At(then)
}

// Fail puts a fault rule in force.
func (s *Sim) Fail(rule Rule) RuleID {
	return at(s, owner, func(w *world.Moment) RuleID {
		id := s.faults.Add(rule)
		if rule.Stale > 0 {
			w.History().Remember(s.faults.Stale())
			s.floors[id] = floor{at: s.clock.Now(), world: w.History().Freeze()}
		}
		return id
	})
}

// Heal ends one rule.
func (s *Sim) Heal(id RuleID) {
	s.do(func(w *world.Moment) {
		s.faults.Remove(id)
		delete(s.floors, id)
		w.History().Remember(s.faults.Stale())
	})
}

// HealAll ends all faults: the rules, those of the profile included, and those of
// the platform, which are capacity, capabilities, account limit, maintenance, Linodes that do not boot or do not come.
func (s *Sim) HealAll() {
	s.SetMaintenance(false)
	s.do(func(w *world.Moment) {
		s.faults.Clear()
		clear(s.floors)
		w.History().Remember(0)
		w.Faults().Clear()
	})
}

// Hits returns how many requests a rule in force has hit.
func (s *Sim) Hits(id RuleID) int { return s.faults.Hits(id) }

// SetMaintenance makes every request answer 503 with X-Maintenance-Mode.
func (s *Sim) SetMaintenance(on bool) { s.maintenance.Store(on) }

// do is at for what has no result.
func (s *Sim) do(change func(*world.Moment)) {
	w, end := s.world.Begin(world.Caller{Actor: owner})
	defer end()
	change(w)
}

// RefuseCapacity makes the platform out of a plan, in a region or everywhere.
func (s *Sim) RefuseCapacity(c NoCapacity) {
	s.do(func(w *world.Moment) { w.Faults().RefuseCapacity(world.NoCapacity(c)) })
}

// RestoreCapacity ends all refusals of RefuseCapacity.
func (s *Sim) RestoreCapacity() { s.do(func(w *world.Moment) { w.Faults().RestoreCapacity() }) }

// WithdrawCapability makes a region lack a capability such as Metadata.
func (s *Sim) WithdrawCapability(c NoCapability) {
	s.do(func(w *world.Moment) { w.Faults().WithdrawCapability(world.NoCapability(c)) })
}

// RestoreCapabilities ends all effects of WithdrawCapability.
func (s *Sim) RestoreCapabilities() { s.do(func(w *world.Moment) { w.Faults().RestoreCapabilities() }) }

// SetAccountLimit bounds the Linodes of the account; 0 = no bound.
func (s *Sim) SetAccountLimit(n int) { s.do(func(w *world.Moment) { w.Faults().SetAccountLimit(n) }) }

// NeverBoot makes the next n Linodes of a pool (0 = any) stay offline for ever.
func (s *Sim) NeverBoot(poolID, n int) {
	s.do(func(w *world.Moment) { w.Faults().NeverBoot(poolID, n) })
}

// StallNodes makes the next n nodes of a pool (0 = any) never get a Linode.
func (s *Sim) StallNodes(poolID, n int) {
	s.do(func(w *world.Moment) { w.Faults().StallNodes(poolID, n) })
}
