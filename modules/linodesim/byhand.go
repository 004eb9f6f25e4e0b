package linodesim

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// What the platform, or the owner of the account, does without a request of a
// client.

// HostMaintenance is work on the host of a Linode as the account's list shows
// it. Nothing happens to the Linode when its time comes.
type HostMaintenance struct {
	Type   string // such as reboot, cold_migration or live_migration
	Status string // pending, started or completed
	When   time.Time
	Reason string
}

// AnnounceMaintenance lists maintenance of a Linode's host in the account; nil
// cancels it.
func (s *Sim) AnnounceMaintenance(instanceID int, m *HostMaintenance) error {
	return at(s, owner, func(w *world.Moment) error {
		return w.Linodes().AnnounceMaintenance(instanceID, (*world.HostMaintenance)(m))
	})
}

// RecycleNode makes LKE replace a node by itself.
func (s *Sim) RecycleNode(clusterID int, nodeID string) error {
	return at(s, world.LKE, func(w *world.Moment) error { return w.Nodes().RecycleLKENode(clusterID, nodeID) })
}

// RecyclePool makes LKE replace a pool's nodes, one after another.
func (s *Sim) RecyclePool(clusterID, poolID int) error {
	return at(s, world.LKE, func(w *world.Moment) error { return w.Pools().RecycleLKENodePool(clusterID, poolID) })
}

// UpgradeCluster upgrades a cluster's control plane.
func (s *Sim) UpgradeCluster(clusterID int, version string) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.Clusters().UpdateLKECluster(clusterID, &api.LKEClusterUpdate{K8SVersion: &version})
		return err
	})
}

// DeleteInstance deletes a Linode without a request of a client, as a person
// does in the Cloud Manager.
func (s *Sim) DeleteInstance(id int) error {
	return at(s, owner, func(w *world.Moment) error { return w.Linodes().DeleteInstance(id) })
}

// EditInstanceTags replaces a Linode's tags.
func (s *Sim) EditInstanceTags(id int, tags []string) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.Linodes().UpdateInstance(id, &api.InstanceUpdate{Tags: &tags})
		return err
	})
}

// AddPool makes a pool.
func (s *Sim) AddPool(clusterID int, spec PoolSpec) (Pool, error) {
	w, end := s.world.Begin(world.Caller{Actor: owner})
	defer end()
	p, err := w.Pools().AddPool(clusterID, world.PoolCreate(spec))
	return poolInfo(p), err
}

// EditPool changes a pool.
func (s *Sim) EditPool(clusterID, poolID int, edit PoolEdit) error {
	return at(s, owner, func(w *world.Moment) error {
		_, err := w.Pools().UpdateLKENodePool(clusterID, poolID, &edit)
		return err
	})
}

// DeletePool deletes a pool.
func (s *Sim) DeletePool(clusterID, poolID int) error {
	return at(s, owner, func(w *world.Moment) error { return w.Pools().DeleteLKENodePool(clusterID, poolID) })
}

// DeleteNode deletes a node.
func (s *Sim) DeleteNode(clusterID int, nodeID string) error {
	return at(s, owner, func(w *world.Moment) error { return w.Nodes().DeleteLKENode(clusterID, nodeID) })
}
