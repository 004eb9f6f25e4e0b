package linodesim

import (
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/fault"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// floors holds the world as it was when a rule with Stale was added: its reads
// show nothing older.
type floors struct {
	mu     sync.Mutex
	worlds map[fault.ID]floor
}

type floor struct {
	at    time.Time
	world *world.World
}

// seen gives the world that a request reads.
func (s *Sim) seen(d fault.Decision) *world.World {
	if d.Rule.Stale <= 0 {
		return s.world
	}
	at := s.clock.Now().Add(-d.Rule.Stale)
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	if f, ok := s.floors.worlds[d.ID]; ok && at.Before(f.at) {
		return f.world
	}
	return s.world.At(at)
}

// Fail puts a fault rule in force.
func (s *Sim) Fail(rule Rule) RuleID {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	id := s.faults.Add(rule)
	if rule.Stale > 0 {
		s.world.Remember(s.faults.Stale())
		if s.floors.worlds == nil {
			s.floors.worlds = map[fault.ID]floor{}
		}
		s.floors.worlds[id] = floor{at: s.clock.Now(), world: s.world.Freeze()}
	}
	return id
}

// Heal ends one rule.
func (s *Sim) Heal(id RuleID) {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	s.faults.Remove(id)
	delete(s.floors.worlds, id)
	s.world.Remember(s.faults.Stale())
}

// HealAll ends all rules, those of the profile included, and all conditions:
// capacity, account limit, maintenance, Linodes that do not boot or do not come.
func (s *Sim) HealAll() {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	s.faults.Clear()
	clear(s.floors.worlds)
	s.world.Remember(0)
	s.SetMaintenance(false)
	s.world.ClearConditions()
}

// Hits tells how many requests a rule in force has hit.
func (s *Sim) Hits(id RuleID) int { return s.faults.Hits(id) }

// SetMaintenance makes every request answer 503 with X-Maintenance-Mode.
func (s *Sim) SetMaintenance(on bool) {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.journal.maintenance = on
}

func (j *journal) inMaintenance() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.maintenance
}

// RefuseCapacity makes the platform out of a plan, in a region or everywhere.
func (s *Sim) RefuseCapacity(c NoCapacity) { s.world.RefuseCapacity(c) }

// RestoreCapacity ends all refusals of RefuseCapacity.
func (s *Sim) RestoreCapacity() { s.world.RestoreCapacity() }

// SetAccountLimit bounds the Linodes of the account; 0 = no bound.
func (s *Sim) SetAccountLimit(n int) { s.world.SetAccountLimit(n) }

// NeverBoot makes the next n Linodes of a pool (0 = any) stay offline for ever.
func (s *Sim) NeverBoot(poolID, n int) { s.world.NeverBoot(poolID, n) }

// StallNodes makes the next n nodes of a pool (0 = any) never get a Linode.
func (s *Sim) StallNodes(poolID, n int) { s.world.StallNodes(poolID, n) }

// RecycleNode makes LKE replace a node by itself.
func (s *Sim) RecycleNode(clusterID int, nodeID string) error {
	return s.world.RecycleNode(world.LKE, clusterID, nodeID)
}

// RecyclePool makes LKE replace a pool's nodes, one after another.
func (s *Sim) RecyclePool(clusterID, poolID int) error {
	return s.world.RecyclePool(world.LKE, clusterID, poolID)
}

// UpgradeCluster upgrades a cluster's control plane as its owner might by hand.
func (s *Sim) UpgradeCluster(clusterID int, version string) error {
	return s.world.UpgradeCluster(owner, clusterID, version)
}

// DeleteInstance deletes a Linode behind everybody's back.
func (s *Sim) DeleteInstance(id int) error { return s.world.DeleteInstance(owner, id) }

// EditInstanceTags replaces a Linode's tags as its owner might by hand.
func (s *Sim) EditInstanceTags(id int, tags []string) error {
	_, err := s.world.UpdateInstance(owner, id, world.InstanceUpdate{Tags: &tags})
	return err
}

// AddPool makes a pool as the cluster's owner might by hand.
func (s *Sim) AddPool(clusterID int, spec PoolSpec) (world.Pool, error) {
	return s.world.CreatePool(owner, clusterID, spec)
}

// EditPool changes a pool as its owner might by hand.
func (s *Sim) EditPool(clusterID, poolID int, edit PoolEdit) error {
	_, err := s.world.UpdatePool(owner, clusterID, poolID, edit)
	return err
}

// DeletePool deletes a pool as its owner might by hand.
func (s *Sim) DeletePool(clusterID, poolID int) error {
	return s.world.DeletePool(owner, clusterID, poolID)
}

// DeleteNode deletes a node as its owner might by hand.
func (s *Sim) DeleteNode(clusterID int, nodeID string) error {
	return s.world.DeleteNode(owner, clusterID, nodeID)
}
