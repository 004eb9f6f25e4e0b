package linodesim

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// Owner makes and changes objects without a request of a client, as the owner of the
// account does in the Cloud Manager and as LKE does by itself. A Sim has the methods of
// Owner. A call is not a request: it meets no token, rate limit, rule or delay of a request,
// while new nodes take their time as always. The audit log names owner or lke as the actor.
// A change that the API would refuse, such as a change of an unknown object, is an error with
// the status and the text of the API.
type Owner struct{ world *world.World }

// AnnounceMaintenance lists maintenance of a Linode's host in the account; nil
// cancels it.
func (o *Owner) AnnounceMaintenance(instanceID int, m *HostMaintenance) error {
	return at(o.world, owner, func(w *world.Moment) error { return w.Linodes().AnnounceMaintenance(instanceID, m) })
}

// RecycleNode makes LKE replace a node by itself.
func (o *Owner) RecycleNode(clusterID int, nodeID string) error {
	return at(o.world, LKE, func(w *world.Moment) error { return w.Nodes().RecycleLKENode(clusterID, nodeID) })
}

// RecyclePool makes LKE replace a pool's nodes, one after another.
func (o *Owner) RecyclePool(clusterID, poolID int) error {
	return at(o.world, LKE, func(w *world.Moment) error { return w.Pools().RecycleLKENodePool(clusterID, poolID) })
}

// UpgradeCluster upgrades a cluster's control plane.
func (o *Owner) UpgradeCluster(clusterID int, version string) error {
	return at(o.world, owner, func(w *world.Moment) error {
		_, err := w.Clusters().UpdateLKECluster(clusterID, &api.LKEClusterUpdate{K8SVersion: &version})
		return err
	})
}

// DeleteInstance deletes a Linode without a request of a client, as a person
// does in the Cloud Manager.
func (o *Owner) DeleteInstance(id int) error {
	return at(o.world, owner, func(w *world.Moment) error { return w.Linodes().DeleteInstance(id) })
}

// EditInstanceTags replaces a Linode's tags.
func (o *Owner) EditInstanceTags(id int, tags []string) error {
	return at(o.world, owner, func(w *world.Moment) error {
		_, err := w.Linodes().UpdateInstance(id, &api.InstanceUpdate{Tags: &tags})
		return err
	})
}

// AddPool makes a pool.
func (o *Owner) AddPool(clusterID int, spec PoolSpec) (Pool, error) {
	w, end := o.world.Begin(world.Caller{Actor: owner})
	defer end()
	return w.Pools().AddPool(clusterID, spec)
}

// EditPool changes a pool.
func (o *Owner) EditPool(clusterID, poolID int, edit PoolEdit) error {
	return at(o.world, owner, func(w *world.Moment) error {
		_, err := w.Pools().UpdateLKENodePool(clusterID, poolID, &edit)
		return err
	})
}

// DeletePool deletes a pool.
func (o *Owner) DeletePool(clusterID, poolID int) error {
	return at(o.world, owner, func(w *world.Moment) error { return w.Pools().DeleteLKENodePool(clusterID, poolID) })
}

// DeleteNode deletes a node.
func (o *Owner) DeleteNode(clusterID int, nodeID string) error {
	return at(o.world, owner, func(w *world.Moment) error { return w.Nodes().DeleteLKENode(clusterID, nodeID) })
}

// AddCluster makes a cluster with its pools, as if the owner had made it in the Cloud
// Manager a long time ago: the lagging reads of a profile show it at once.
func (o *Owner) AddCluster(spec ClusterSpec) (ClusterInfo, error) {
	w, end := o.world.Begin(world.Caller{Actor: owner})
	defer end()
	defer w.History().Prepared()
	return w.Clusters().AddCluster(spec)
}

// AddFirewall makes a Cloud Firewall and gives its ID.
func (o *Owner) AddFirewall(spec FirewallSpec) int {
	return at(o.world, owner, func(w *world.Moment) int {
		defer w.History().Prepared()
		return w.Firewalls().AddFirewall(spec)
	})
}

// AddInstance makes a Linode that belongs to no cluster, and gives its ID.
func (o *Owner) AddInstance(spec InstanceSpec) (int, error) {
	w, end := o.world.Begin(world.Caller{Actor: owner})
	defer end()
	defer w.History().Prepared()
	return w.Linodes().AddInstance(spec)
}
