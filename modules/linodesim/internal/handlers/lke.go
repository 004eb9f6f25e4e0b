package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListLKEClusters answers GET /lke/clusters.
func (Server) ListLKEClusters(ctx context.Context, q server.ListLKEClustersRequestObject) (server.ListLKEClustersResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Clusters(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, clusterField,
		func(c world.Cluster) api.LKECluster { return cluster(c, r.Beta) })
	return server.ListLKEClusters200JSONResponse{Body: api.LKEClusterPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetLKECluster answers GET /lke/clusters/{clusterId}.
func (Server) GetLKECluster(ctx context.Context, q server.GetLKEClusterRequestObject) (server.GetLKEClusterResponseObject, error) {
	r := of(ctx)
	c, err := r.Seen.Cluster(q.ClusterID)
	return server.GetLKECluster200JSONResponse{Body: cluster(c, r.Beta)}, err
}

// ListLKENodePools answers GET /lke/clusters/{clusterId}/pools.
func (Server) ListLKENodePools(ctx context.Context, q server.ListLKENodePoolsRequestObject) (server.ListLKENodePoolsResponseObject, error) {
	r := of(ctx)
	c, err := r.Seen.Cluster(q.ClusterID)
	if err != nil {
		return nil, err
	}
	p := paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}
	if r.Live.Behaviour().IgnorePoolFilter {
		p.filter = nil
	}
	l, err := list(r, c.Pools, p, poolField, func(p world.Pool) api.LKENodePool { return pool(p, c.Tier, r.Beta) })
	return server.ListLKENodePools200JSONResponse{Body: api.LKENodePoolPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetLKENodePool answers GET /lke/clusters/{clusterId}/pools/{poolId}.
func (Server) GetLKENodePool(ctx context.Context, q server.GetLKENodePoolRequestObject) (server.GetLKENodePoolResponseObject, error) {
	r := of(ctx)
	p, err := r.Seen.Pool(q.ClusterID, q.PoolID)
	if err != nil {
		return nil, err
	}
	c, err := r.Seen.Cluster(q.ClusterID)
	return server.GetLKENodePool200JSONResponse{Body: pool(p, c.Tier, r.Beta)}, err
}

// CreateLKENodePool answers POST /lke/clusters/{clusterId}/pools.
func (Server) CreateLKENodePool(ctx context.Context, q server.CreateLKENodePoolRequestObject) (server.CreateLKENodePoolResponseObject, error) {
	r := of(ctx)
	spec, err := poolCreate(*q.Body)
	if err != nil {
		return nil, err
	}
	p, err := r.Live.CreatePool(r.Actor, q.ClusterID, spec)
	if err != nil {
		return nil, err
	}
	c, err := r.Live.Cluster(q.ClusterID)
	return server.CreateLKENodePool200JSONResponse{Body: pool(p, c.Tier, r.Beta)}, err
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

// UpdateLKENodePool answers PUT /lke/clusters/{clusterId}/pools/{poolId}.
func (Server) UpdateLKENodePool(ctx context.Context, q server.UpdateLKENodePoolRequestObject) (server.UpdateLKENodePoolResponseObject, error) {
	r := of(ctx)
	before, err := r.Live.Pool(q.ClusterID, q.PoolID)
	if err != nil {
		return nil, err
	}
	a, err := autoscaler(q.Body.Autoscaler, before.Autoscaler)
	if err != nil {
		return nil, err
	}
	change := world.PoolUpdate{
		Count: q.Body.Count, Label: q.Body.Label, Labels: q.Body.Labels, Tags: q.Body.Tags, Autoscaler: a,
		FirewallID: q.Body.FirewallID, K8sVersion: q.Body.K8SVersion, UpdateStrategy: (*string)(q.Body.UpdateStrategy),
	}
	if q.Body.Taints != nil {
		t := taints(*q.Body.Taints)
		change.Taints = &t
	}
	p, err := r.Live.UpdatePool(r.Actor, q.ClusterID, q.PoolID, change)
	if err != nil {
		return nil, err
	}
	c, err := r.Live.Cluster(q.ClusterID)
	return server.UpdateLKENodePool200JSONResponse{Body: pool(p, c.Tier, r.Beta)}, err
}

// DeleteLKENodePool answers DELETE /lke/clusters/{clusterId}/pools/{poolId}.
func (Server) DeleteLKENodePool(ctx context.Context, q server.DeleteLKENodePoolRequestObject) (server.DeleteLKENodePoolResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeletePool(r.Actor, q.ClusterID, q.PoolID)
	return server.DeleteLKENodePool200JSONResponse{Body: api.Empty{}}, err
}

// GetLKENode answers GET /lke/clusters/{clusterId}/nodes/{nodeId}.
func (Server) GetLKENode(ctx context.Context, q server.GetLKENodeRequestObject) (server.GetLKENodeResponseObject, error) {
	r := of(ctx)
	n, err := r.Seen.Node(q.ClusterID, q.NodeID)
	if err != nil {
		return nil, err
	}
	c, err := r.Seen.Cluster(q.ClusterID)
	return server.GetLKENode200JSONResponse{Body: node(n, c.Tier, r.Beta)}, err
}

// DeleteLKENode answers DELETE /lke/clusters/{clusterId}/nodes/{nodeId}.
func (Server) DeleteLKENode(ctx context.Context, q server.DeleteLKENodeRequestObject) (server.DeleteLKENodeResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteNode(r.Actor, q.ClusterID, q.NodeID)
	return server.DeleteLKENode200JSONResponse{Body: api.Empty{}}, err
}

// ListLKETierVersions answers GET /lke/tiers/{tier}/versions.
func (Server) ListLKETierVersions(ctx context.Context, q server.ListLKETierVersionsRequestObject) (server.ListLKETierVersionsResponseObject, error) {
	r := of(ctx)
	versions := r.Seen.Catalog().Versions(string(q.Tier))
	if versions == nil {
		return nil, notFound()
	}
	l, err := list(r, versions, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, versionField,
		func(v string) api.LKETierVersion { return api.LKETierVersion{ID: v, Tier: q.Tier} })
	return server.ListLKETierVersions200JSONResponse{Body: api.LKETierVersionPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetLKETierVersion answers GET /lke/tiers/{tier}/versions/{version}.
func (Server) GetLKETierVersion(ctx context.Context, q server.GetLKETierVersionRequestObject) (server.GetLKETierVersionResponseObject, error) {
	if !of(ctx).Seen.Catalog().HasVersion(string(q.Tier), q.Version) {
		return nil, notFound()
	}
	return server.GetLKETierVersion200JSONResponse{Body: api.LKETierVersion{ID: q.Version, Tier: q.Tier}}, nil
}

func cluster(c world.Cluster, beta bool) api.LKECluster {
	out := api.LKECluster{
		ID: c.ID, Label: c.Label, Region: c.Region, K8SVersion: c.K8sVersion, Status: "ready", Tags: strings(c.Tags),
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

// Recorded Enterprise clusters had none of these; they are shown when they
// were asked for.
func enterpriseFields(out *api.LKECluster, c world.Cluster) {
	if c.AuditLogs {
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

func pool(p world.Pool, tier string, beta bool) api.LKENodePool {
	label := p.Label
	out := api.LKENodePool{
		ID: p.ID, Type: p.Type, Label: &label, Count: p.Count, Nodes: []api.LKENode{}, Disks: []api.LKEPoolDisk{},
		Autoscaler: api.LKEAutoscaler{Enabled: p.Autoscaler.Enabled, Min: p.Autoscaler.Min, Max: p.Autoscaler.Max},
		Labels:     p.Labels, Taints: []api.LKETaint{}, Tags: strings(p.Tags), DiskEncryption: api.DiskEncryption(p.DiskEncryption),
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
			out.Nodes = append(out.Nodes, node(n, tier, beta))
		}
	}
	if !beta {
		return out
	}
	out.Locks = &[]api.ResourceLock{}
	if tier == catalog.Enterprise {
		strategy := api.LKEUpdateStrategy(p.UpdateStrategy)
		out.K8SVersion, out.UpdateStrategy = &p.K8sVersion, &strategy
		out.FirewallID = nullable.NewNullNullable[int]()
		if p.FirewallID != nil {
			out.FirewallID = nullable.NewNullableWithValue(*p.FirewallID)
		}
	}
	return out
}

func node(n world.Node, tier string, beta bool) api.LKENode {
	out := api.LKENode{ID: n.ID, Status: api.LKENodeStatus(n.Status)}
	if n.InstanceID != 0 {
		out.InstanceID = &n.InstanceID
	}
	if beta && tier == catalog.Enterprise {
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

func strings(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
