package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/fault"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// floor is the world as it was when a rule with Stale was added: its reads show
// nothing older.
type floor struct {
	at    time.Time
	world *world.World
}

// past gives the world that a request reads which does not read the present one.
func (s *Sim) past(live *world.Moment, d fault.Decision) *world.World {
	if d.Rule.Stale <= 0 {
		return nil
	}
	then := s.clock.Now().Add(-d.Rule.Stale)
	if f, ok := s.floors[d.ID]; ok && then.Before(f.at) {
		return f.world
	}
	return live.At(then)
}

// Fail puts a fault rule in force.
func (s *Sim) Fail(rule Rule) RuleID {
	return at(s, owner, func(w *world.Moment) RuleID {
		id := s.faults.Add(rule)
		if rule.Stale > 0 {
			w.Remember(s.faults.Stale())
			s.floors[id] = floor{at: s.clock.Now(), world: w.Freeze()}
		}
		return id
	})
}

// Heal ends one rule.
func (s *Sim) Heal(id RuleID) {
	s.do(func(w *world.Moment) {
		s.faults.Remove(id)
		delete(s.floors, id)
		w.Remember(s.faults.Stale())
	})
}

// HealAll ends all rules, those of the profile included, and all conditions:
// capacity, capabilities, account limit, maintenance, Linodes that do not boot or do not come.
func (s *Sim) HealAll() {
	s.SetMaintenance(false)
	s.do(func(w *world.Moment) {
		s.faults.Clear()
		clear(s.floors)
		w.Remember(0)
		w.ClearConditions()
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
func (s *Sim) RefuseCapacity(c NoCapacity) { s.do(func(w *world.Moment) { w.RefuseCapacity(c) }) }

// RestoreCapacity ends all refusals of RefuseCapacity.
func (s *Sim) RestoreCapacity() { s.do((*world.Moment).RestoreCapacity) }

// WithdrawCapability makes a region lack a capability such as Metadata.
func (s *Sim) WithdrawCapability(c NoCapability) {
	s.do(func(w *world.Moment) { w.WithdrawCapability(c) })
}

// RestoreCapabilities ends all effects of WithdrawCapability.
func (s *Sim) RestoreCapabilities() { s.do((*world.Moment).RestoreCapabilities) }

// SetAccountLimit bounds the Linodes of the account; 0 = no bound.
func (s *Sim) SetAccountLimit(n int) { s.do(func(w *world.Moment) { w.SetAccountLimit(n) }) }

// NeverBoot makes the next n Linodes of a pool (0 = any) stay offline for ever.
func (s *Sim) NeverBoot(poolID, n int) { s.do(func(w *world.Moment) { w.NeverBoot(poolID, n) }) }

// StallNodes makes the next n nodes of a pool (0 = any) never get a Linode.
func (s *Sim) StallNodes(poolID, n int) { s.do(func(w *world.Moment) { w.StallNodes(poolID, n) }) }

// RecycleNode makes LKE replace a node by itself.
func (s *Sim) RecycleNode(clusterID int, nodeID string) error {
	return at(s, world.LKE, func(w *world.Moment) error { return w.RecycleLKENode(clusterID, nodeID) })
}

// RecyclePool makes LKE replace a pool's nodes, one after another.
func (s *Sim) RecyclePool(clusterID, poolID int) error {
	return at(s, world.LKE, func(w *world.Moment) error { return w.RecycleLKENodePool(clusterID, poolID) })
}

// What follows is what the owner of the account might do by hand, through the
// API with another token.

// UpgradeCluster upgrades a cluster's control plane.
func (s *Sim) UpgradeCluster(clusterID int, version string) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.UpdateLKECluster(clusterID, &api.LKEClusterUpdate{K8SVersion: &version})
		return err
	})
}

// DeleteInstance deletes a Linode without a request of a client, as a person
// does in the Cloud Manager.
func (s *Sim) DeleteInstance(id int) error {
	return at(s, owner, func(w *world.Moment) error { return w.DeleteInstance(id) })
}

// EditInstanceTags replaces a Linode's tags.
func (s *Sim) EditInstanceTags(id int, tags []string) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.UpdateInstance(id, &api.InstanceUpdate{Tags: &tags})
		return err
	})
}

// AddPool makes a pool.
func (s *Sim) AddPool(clusterID int, spec PoolSpec) (world.Pool, error) {
	w, end := s.world.Begin(world.Caller{Actor: owner})
	defer end()
	return w.AddPool(clusterID, spec)
}

// EditPool changes a pool.
func (s *Sim) EditPool(clusterID, poolID int, edit PoolEdit) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.UpdateLKENodePool(clusterID, poolID, &edit)
		return err
	})
}

// DeletePool deletes a pool.
func (s *Sim) DeletePool(clusterID, poolID int) error {
	return at(s, owner, func(w *world.Moment) error { return w.DeleteLKENodePool(clusterID, poolID) })
}

// DeleteNode deletes a node.
func (s *Sim) DeleteNode(clusterID int, nodeID string) error {
	return at(s, owner, func(w *world.Moment) error { return w.DeleteLKENode(clusterID, nodeID) })
}
