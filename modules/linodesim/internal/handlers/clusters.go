package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// CreateLKECluster answers POST /lke/clusters.
func (Server) CreateLKECluster(ctx context.Context, q server.CreateLKEClusterRequestObject) (server.CreateLKEClusterResponseObject, error) {
	r := of(ctx)
	b := q.Body
	spec := world.ClusterSpec{
		Label: b.Label, Region: b.Region, Tier: catalog.Standard, K8sVersion: b.K8SVersion, Tags: value(b.Tags),
		AppPlatform: value(b.AplEnabled), StackType: string(value(b.StackType)), VPCID: value(b.VPCID), SubnetID: value(b.SubnetID),
	}
	if b.Tier != nil {
		spec.Tier = string(*b.Tier)
	}
	if c := b.ControlPlane; c != nil {
		spec.HighAvailability, spec.AuditLogs = value(c.HighAvailability), value(c.AuditLogsEnabled)
	}
	for n, p := range b.NodePools {
		made, err := poolCreate(p)
		if err != nil {
			return nil, world.Prefixed(err, "node_pools", n)
		}
		spec.Pools = append(spec.Pools, made)
	}
	if spec.Region == "" {
		return nil, refusal("region", "region is not valid")
	}
	if spec.K8sVersion == "" {
		return nil, refusal("k8s_version", "k8s_version is not valid")
	}
	c, err := r.Live.CreateCluster(r.Actor, spec)
	if err != nil {
		return nil, err
	}
	return server.CreateLKECluster200JSONResponse{Body: cluster(c, r.Beta)}, nil
}

// DeleteLKECluster answers DELETE /lke/clusters/{clusterId}.
func (Server) DeleteLKECluster(ctx context.Context, q server.DeleteLKEClusterRequestObject) (server.DeleteLKEClusterResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteCluster(r.Actor, q.ClusterID)
	return server.DeleteLKECluster200JSONResponse{Body: api.Empty{}}, err
}

// ListLKEClusterAPIEndpoints answers GET /lke/clusters/{clusterId}/api-endpoints.
func (Server) ListLKEClusterAPIEndpoints(ctx context.Context, q server.ListLKEClusterAPIEndpointsRequestObject) (server.ListLKEClusterAPIEndpointsResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.Endpoints(q.ClusterID)
	if err != nil {
		return nil, err
	}
	l, err := list(r, found, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, func(string, string) any { return nil }, func(e string) api.LKEClusterAPIEndpoint { return api.LKEClusterAPIEndpoint{Endpoint: e} })
	return server.ListLKEClusterAPIEndpoints200JSONResponse{Body: api.LKEClusterAPIEndpointPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetLKEClusterKubeconfig answers GET /lke/clusters/{clusterId}/kubeconfig.
func (Server) GetLKEClusterKubeconfig(ctx context.Context, q server.GetLKEClusterKubeconfigRequestObject) (server.GetLKEClusterKubeconfigResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.Kubeconfig(q.ClusterID)
	if err != nil {
		return nil, err
	}
	return server.GetLKEClusterKubeconfig200JSONResponse{Body: api.LKEKubeconfig{Kubeconfig: found}}, nil
}

// RecycleLKENodePool answers POST /lke/clusters/{clusterId}/pools/{poolId}/recycle.
func (Server) RecycleLKENodePool(ctx context.Context, q server.RecycleLKENodePoolRequestObject) (server.RecycleLKENodePoolResponseObject, error) {
	r := of(ctx)
	err := r.Live.RecyclePool(r.Actor, q.ClusterID, q.PoolID)
	return server.RecycleLKENodePool200JSONResponse{Body: api.Empty{}}, err
}

// RecycleLKENode answers POST /lke/clusters/{clusterId}/nodes/{nodeId}/recycle.
func (Server) RecycleLKENode(ctx context.Context, q server.RecycleLKENodeRequestObject) (server.RecycleLKENodeResponseObject, error) {
	r := of(ctx)
	err := r.Live.RecycleNode(r.Actor, q.ClusterID, q.NodeID)
	return server.RecycleLKENode200JSONResponse{Body: api.Empty{}}, err
}

// ListLKEVersions answers GET /lke/versions.
func (Server) ListLKEVersions(ctx context.Context, q server.ListLKEVersionsRequestObject) (server.ListLKEVersionsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().Versions(catalog.Standard), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, versionField, func(v string) api.LKEVersion { return api.LKEVersion{ID: v} })
	return server.ListLKEVersions200JSONResponse{Body: api.LKEVersionPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetLKEVersion answers GET /lke/versions/{version}.
func (Server) GetLKEVersion(ctx context.Context, q server.GetLKEVersionRequestObject) (server.GetLKEVersionResponseObject, error) {
	if !of(ctx).Seen.Catalog().HasVersion(catalog.Standard, q.Version) {
		return nil, notFound()
	}
	return server.GetLKEVersion200JSONResponse{Body: api.LKEVersion{ID: q.Version}}, nil
}

// ListLKETypes answers GET /lke/types.
func (Server) ListLKETypes(ctx context.Context, q server.ListLKETypesRequestObject) (server.ListLKETypesResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().ControlPlanes, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, controlPlaneField, controlPlane)
	return server.ListLKETypes200JSONResponse{Body: api.LKETypePage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

func controlPlane(c catalog.ControlPlane) api.LKEType {
	return api.LKEType{
		ID: c.ID, Label: c.Label, Price: api.LKETypePrice{Hourly: c.Price.Hourly, Monthly: c.Price.Monthly}, RegionPrices: prices(c.RegionPrices),
	}
}
