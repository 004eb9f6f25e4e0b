package linodesim

import "github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"

// The model's objects are its own; importers see copies of the types of this
// package.

func stateOf(s world.State) State {
	return State{At: s.At, Clusters: each(s.Clusters, clusterInfo), Instances: each(s.Instances, instanceInfo)}
}

func clusterInfo(c world.Cluster) ClusterInfo {
	return ClusterInfo{
		ID: c.ID, Label: c.Label, Region: c.Region, Tier: c.Tier, K8sVersion: c.K8sVersion, Tags: c.Tags, Lifecycle: Lifecycle(c.Lifecycle),
		ControlPlane: ControlPlane(c.ControlPlane), ClusterNetwork: ClusterNetwork(c.ClusterNetwork), Pools: each(c.Pools, poolInfo),
	}
}

func poolInfo(p world.Pool) Pool {
	return Pool{
		ID: p.ID, ClusterID: p.ClusterID, Tier: p.Tier, Type: p.Type, Label: p.Label, Count: p.Count, Autoscaler: p.Autoscaler,
		PoolTemplate: PoolTemplate(p.PoolTemplate), PoolVersion: PoolVersion(p.PoolVersion), CreatedBy: p.CreatedBy, Created: p.Created,
		Nodes: each(p.Nodes, func(n world.Node) Node { return Node(n) }),
	}
}

func instanceInfo(i world.Instance) Instance {
	return Instance{
		ID: i.ID, Label: i.Label, Type: i.Type, Region: i.Region, Status: i.Status, Image: i.Image, Tags: i.Tags, Group: i.Group,
		Lifecycle: Lifecycle(i.Lifecycle), Worker: Worker(i.Worker),
		Placement: Placement{
			HostUUID: i.HostUUID, PlacementGroup: i.PlacementGroup, MaintenancePolicy: i.MaintenancePolicy,
			Maintenance: (*HostMaintenance)(i.Maintenance),
		},
		Network: Network(i.Network), Settings: Settings(i.Settings),
		Guest: Guest{Console: i.Console, BootFault: i.BootFault, HasUserData: i.HasUserData},
	}
}

func each[T, A any](all []T, of func(T) A) []A {
	out := make([]A, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}
