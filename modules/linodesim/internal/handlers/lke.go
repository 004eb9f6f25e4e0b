package handlers

import (
	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listLKEClusters() (page[api.LKECluster], error) {
	return list(r, r.Seen.Clusters(), func(c world.Cluster) api.LKECluster { return cluster(c, r.Beta) })
}

func (r Request) getLKECluster(clusterID int) (api.LKECluster, error) {
	c, err := r.Seen.Cluster(clusterID)
	return cluster(c, r.Beta), err
}

func (r Request) listLKENodePools(clusterID int) (page[api.LKENodePool], error) {
	c, err := r.Seen.Cluster(clusterID)
	if err != nil {
		return page[api.LKENodePool]{}, err
	}
	if r.Live.Behaviour().IgnorePoolFilter {
		r.HTTP.Header.Del("X-Filter")
	}
	return list(r, c.Pools, func(p world.Pool) api.LKENodePool { return pool(p, r.Beta) })
}

func (r Request) getLKENodePool(clusterID int, poolID int) (api.LKENodePool, error) {
	p, err := r.Seen.Pool(clusterID, poolID)
	return pool(p, r.Beta), err
}

func (r Request) createLKENodePool(clusterID int, b *api.LKENodePoolCreate) (api.LKENodePool, error) {
	spec, err := poolCreate(*b)
	if err != nil {
		return api.LKENodePool{}, err
	}
	p, err := r.Live.CreatePool(r.Actor, clusterID, spec)
	return pool(p, r.Beta), err
}

func poolCreate(b api.LKENodePoolCreate) (world.PoolCreate, error) {
	a, err := autoscaler(b.Autoscaler, world.Autoscaler{Min: b.Count, Max: b.Count})
	return world.PoolCreate{
		Type: b.Type, Count: b.Count, Label: value(b.Label), Labels: value(b.Labels),
		Taints: taints(value(b.Taints)), Tags: value(b.Tags), Disks: disks(value(b.Disks)), Autoscaler: a,
		DiskEncryption: string(value(b.DiskEncryption)), FirewallID: b.FirewallID,
		K8sVersion: value(b.K8SVersion), UpdateStrategy: string(value(b.UpdateStrategy)), Isolation: (*world.Isolation)(b.Isolation),
	}, err
}

func (r Request) updateLKENodePool(clusterID int, poolID int, b *api.LKENodePoolUpdate) (api.LKENodePool, error) {
	before, err := r.Live.Pool(clusterID, poolID)
	if err != nil {
		return api.LKENodePool{}, err
	}
	a, err := autoscaler(b.Autoscaler, before.Autoscaler)
	if err != nil {
		return api.LKENodePool{}, err
	}
	change := world.PoolUpdate{
		Count: b.Count, Label: b.Label, Labels: b.Labels, Tags: b.Tags, Autoscaler: a,
		FirewallID: b.FirewallID, K8sVersion: b.K8SVersion, UpdateStrategy: (*string)(b.UpdateStrategy),
	}
	if b.Taints != nil {
		t := taints(*b.Taints)
		change.Taints = &t
	}
	p, err := r.Live.UpdatePool(r.Actor, clusterID, poolID, change)
	return pool(p, r.Beta), err
}

func (r Request) deleteLKENodePool(clusterID int, poolID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeletePool(r.Actor, clusterID, poolID)
}

func (r Request) getLKENode(clusterID int, nodeID string) (api.LKENode, error) {
	n, err := r.Seen.Node(clusterID, nodeID)
	return node(n, r.Beta), err
}

func (r Request) deleteLKENode(clusterID int, nodeID string) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteNode(r.Actor, clusterID, nodeID)
}

func (r Request) listLKETierVersions(tier string) (page[api.LKETierVersion], error) {
	versions := r.Seen.Catalog().Versions(string(tier))
	if versions == nil {
		return page[api.LKETierVersion]{}, notFound()
	}
	return list(r, versions, func(v string) api.LKETierVersion { return api.LKETierVersion{ID: v, Tier: api.LKETier(tier)} })
}

func (r Request) getLKETierVersion(tier string, version string) (api.LKETierVersion, error) {
	if !r.Seen.Catalog().HasVersion(string(tier), version) {
		return api.LKETierVersion{}, notFound()
	}
	return api.LKETierVersion{ID: version, Tier: api.LKETier(tier)}, nil
}

func cluster(c world.Cluster, beta bool) api.LKECluster {
	out := api.LKECluster{
		ID: c.ID, Label: c.Label, Region: c.Region, K8SVersion: c.K8sVersion, Status: "ready", Tags: nonNil(c.Tags),
		ControlPlane: api.LKEControlPlane{HighAvailability: c.HighAvailability},
		Created:      api.Time{Time: c.Created}, Updated: api.Time{Time: c.Updated},
	}
	out.AplEnabled = c.AppPlatform
	if beta {
		tier := api.LKETier(c.Tier)
		out.Tier, out.Locks = &tier, &[]api.ResourceLock{}
		enterpriseFields(&out, c)
	}
	return out
}

// Recorded Enterprise clusters had no network; it is shown when it was asked
// for. audit_logs_enabled came with answers of 2026.
func enterpriseFields(out *api.LKECluster, c world.Cluster) {
	if c.Tier == catalog.Enterprise {
		out.ControlPlane.AuditLogsEnabled = &c.AuditLogs
	}
	if c.StackType != "" {
		stack := api.LKEClusterStackType(c.StackType)
		out.StackType = &stack
	}
	if c.VPCID == 0 {
		return
	}
	out.VPCID, out.SubnetID = nullable.NewNullableWithValue(c.VPCID), nullable.NewNullNullable[int]()
	if c.SubnetID != 0 {
		out.SubnetID = nullable.NewNullableWithValue(c.SubnetID)
	}
}

func pool(p world.Pool, beta bool) api.LKENodePool {
	label := p.Label
	out := api.LKENodePool{
		ID: p.ID, Type: p.Type, Label: &label, Count: p.Count, Nodes: []api.LKENode{}, Disks: []api.LKEPoolDisk{},
		Autoscaler: api.LKEAutoscaler{Enabled: p.Autoscaler.Enabled, Min: p.Autoscaler.Min, Max: p.Autoscaler.Max},
		Labels:     p.Labels, Taints: []api.LKETaint{}, Tags: nonNil(p.Tags), DiskEncryption: api.DiskEncryption(p.DiskEncryption),
	}
	out.Isolation = (*api.LKEIsolation)(p.Isolation)
	for _, d := range p.Disks {
		out.Disks = append(out.Disks, api.LKEPoolDisk{Size: d.SizeMB, Type: api.LKEPoolDiskType(d.Type)})
	}
	for _, t := range p.Taints {
		out.Taints = append(out.Taints, api.LKETaint{Key: t.Key, Value: t.Value, Effect: api.LKETaintEffect(t.Effect)})
	}
	for _, n := range p.Nodes {
		if n.Listed {
			out.Nodes = append(out.Nodes, node(n, beta))
		}
	}
	if !beta {
		return out
	}
	out.Locks = &[]api.ResourceLock{}
	if p.Tier == catalog.Enterprise {
		strategy := api.LKEUpdateStrategy(p.UpdateStrategy)
		out.K8SVersion, out.UpdateStrategy = &p.K8sVersion, &strategy
		out.FirewallID = nullable.NewNullNullable[int]()
		if p.FirewallID != nil {
			out.FirewallID = nullable.NewNullableWithValue(*p.FirewallID)
		}
	}
	return out
}

func node(n world.Node, beta bool) api.LKENode {
	out := api.LKENode{ID: n.ID, Status: api.LKENodeStatus(n.Status)}
	if n.InstanceID != 0 {
		out.InstanceID = &n.InstanceID
	}
	if beta && n.Tier == catalog.Enterprise {
		out.PoolID = &n.PoolID
	}
	return out
}

// autoscaler fills what was left out from what is there. min and max go
// together.
func autoscaler(given *api.LKEAutoscalerUpdate, there world.Autoscaler) (*world.Autoscaler, error) {
	if given == nil {
		return nil, nil
	}
	if (given.Min == nil) != (given.Max == nil) {
		return nil, refusal("autoscaler", "min and max must be given together")
	}
	if given.Enabled != nil {
		there.Enabled = *given.Enabled
	}
	if given.Min != nil {
		there.Min, there.Max = *given.Min, *given.Max
	}
	return &there, nil
}

func taints(in []api.LKETaint) []world.Taint {
	out := make([]world.Taint, len(in))
	for i, t := range in {
		out[i] = world.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
	}
	return out
}

func disks(in []api.LKEPoolDisk) []world.Disk {
	out := make([]world.Disk, len(in))
	for i, d := range in {
		out[i] = world.Disk{SizeMB: d.Size, Type: string(d.Type)}
	}
	return out
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
