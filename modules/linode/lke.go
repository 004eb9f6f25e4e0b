package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListClusters iterates over the account's LKE clusters. Filters by tag were reported to be unreliable here.
func (c *Client) ListClusters(ctx context.Context, filter Filter) iter.Seq2[api.LKECluster, error] {
	return iterate(ctx, c, api.OpListLKEClusters, filter, func(e api.LKECluster) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKEClustersRequest(c.server, &api.ListLKEClustersParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetCluster returns one cluster.
func (c *Client) GetCluster(ctx context.Context, clusterID int) (*api.LKECluster, error) {
	if err := positive(api.OpGetLKECluster, "clusterId", clusterID); err != nil {
		return nil, err
	}
	return fetch[api.LKECluster](ctx, c, api.OpGetLKECluster)(api.NewGetLKEClusterRequest(c.server, clusterID))
}

// ListPools iterates over a cluster's node pools with their nodes. Whether the server honours a filter here is unknown:
// compare afterwards as well.
func (c *Client) ListPools(ctx context.Context, clusterID int, filter Filter) iter.Seq2[api.LKENodePool, error] {
	if err := positive(api.OpListLKENodePools, "clusterId", clusterID); err != nil {
		return failing[api.LKENodePool](err)
	}
	return iterate(ctx, c, api.OpListLKENodePools, filter, func(e api.LKENodePool) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKENodePoolsRequest(c.server, clusterID, &api.ListLKENodePoolsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetPool returns one node pool with its nodes.
func (c *Client) GetPool(ctx context.Context, clusterID, poolID int) (*api.LKENodePool, error) {
	if err := positive(api.OpGetLKENodePool, "clusterId", clusterID, "poolId", poolID); err != nil {
		return nil, err
	}
	return fetch[api.LKENodePool](ctx, c, api.OpGetLKENodePool)(api.NewGetLKENodePoolRequest(c.server, clusterID, poolID))
}

// CreatePool creates a node pool. There is no idempotency token: after KindAmbiguous look for the pool, by tags of your
// own, before creating another.
func (c *Client) CreatePool(ctx context.Context, clusterID int, pool api.LKENodePoolCreate) (*api.LKENodePool, error) {
	if err := positive(api.OpCreateLKENodePool, "clusterId", clusterID); err != nil {
		return nil, err
	}
	return fetch[api.LKENodePool](ctx, c, api.OpCreateLKENodePool)(api.NewCreateLKENodePoolRequest(c.server, clusterID, pool))
}

// UpdatePool changes what is set in update. A repeated attempt writes the same values again: there is no precondition,
// the last writer wins.
func (c *Client) UpdatePool(ctx context.Context, clusterID, poolID int, update api.LKENodePoolUpdate) (*api.LKENodePool, error) {
	if err := positive(api.OpUpdateLKENodePool, "clusterId", clusterID, "poolId", poolID); err != nil {
		return nil, err
	}
	return fetch[api.LKENodePool](ctx, c, api.OpUpdateLKENodePool)(api.NewUpdateLKENodePoolRequest(c.server, clusterID, poolID, update))
}

// DeletePool deletes a node pool and all its Linodes, without draining. See the package's doc for what a 404 means.
func (c *Client) DeletePool(ctx context.Context, clusterID, poolID int) error {
	if err := positive(api.OpDeleteLKENodePool, "clusterId", clusterID, "poolId", poolID); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteLKENodePool)(api.NewDeleteLKENodePoolRequest(c.server, clusterID, poolID))
}

// GetNode returns one node of a cluster; its pool is in PoolID on Enterprise and the part of its ID before the dash.
func (c *Client) GetNode(ctx context.Context, clusterID int, nodeID string) (*api.LKENode, error) {
	if err := positive(api.OpGetLKENode, "clusterId", clusterID); err != nil {
		return nil, err
	}
	if err := segment(api.OpGetLKENode, "nodeId", nodeID); err != nil {
		return nil, err
	}
	return fetch[api.LKENode](ctx, c, api.OpGetLKENode)(api.NewGetLKENodeRequest(c.server, clusterID, nodeID))
}

// DeleteNode removes a node and its Linode, without draining, and lowers the pool's count by one. What happens to the
// only node of a pool is unknown: delete the pool instead. See the package's doc for what a 404 means.
func (c *Client) DeleteNode(ctx context.Context, clusterID int, nodeID string) error {
	if err := positive(api.OpDeleteLKENode, "clusterId", clusterID); err != nil {
		return err
	}
	if err := segment(api.OpDeleteLKENode, "nodeId", nodeID); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteLKENode)(api.NewDeleteLKENodeRequest(c.server, clusterID, nodeID))
}

// RecyclePool replaces all nodes of a pool, one after another. After KindAmbiguous it may have begun; a second one
// replaces them once more.
func (c *Client) RecyclePool(ctx context.Context, clusterID int, poolID int) error {
	if err := positive(api.OpRecycleLKENodePool, "clusterId", clusterID, "poolId", poolID); err != nil {
		return err
	}
	return send(ctx, c, api.OpRecycleLKENodePool)(api.NewRecycleLKENodePoolRequest(c.server, clusterID, poolID))
}

// RecycleNode replaces a node: its Linode is deleted and a new one made, and the pool keeps its count.
func (c *Client) RecycleNode(ctx context.Context, clusterID int, nodeID string) error {
	if err := positive(api.OpRecycleLKENode, "clusterId", clusterID); err != nil {
		return err
	}
	if err := segment(api.OpRecycleLKENode, "nodeId", nodeID); err != nil {
		return err
	}
	return send(ctx, c, api.OpRecycleLKENode)(api.NewRecycleLKENodeRequest(c.server, clusterID, nodeID))
}

// ListAPIEndpoints iterates over the addresses of a cluster's API server. KindUnavailable while the cluster is young.
func (c *Client) ListAPIEndpoints(ctx context.Context, clusterID int) iter.Seq2[api.LKEClusterAPIEndpoint, error] {
	if err := positive(api.OpListLKEClusterAPIEndpoints, "clusterId", clusterID); err != nil {
		return failing[api.LKEClusterAPIEndpoint](err)
	}
	return iterate(ctx, c, api.OpListLKEClusterAPIEndpoints, Filter{}, func(e api.LKEClusterAPIEndpoint) string { return e.Endpoint },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKEClusterAPIEndpointsRequest(c.server, clusterID, &api.ListLKEClusterAPIEndpointsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetKubeconfig returns the kubeconfig of a cluster: a secret. KindUnavailable while the cluster is young.
func (c *Client) GetKubeconfig(ctx context.Context, clusterID int) (*api.LKEKubeconfig, error) {
	if err := positive(api.OpGetLKEClusterKubeconfig, "clusterId", clusterID); err != nil {
		return nil, err
	}
	return fetch[api.LKEKubeconfig](ctx, c, api.OpGetLKEClusterKubeconfig)(api.NewGetLKEClusterKubeconfigRequest(c.server, clusterID))
}
