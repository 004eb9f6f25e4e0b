package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListInstances iterates over the account's Linodes. lke_cluster_id, type and status are no filters: narrow by label,
// tags or region, and compare the rest afterwards.
func (c *Client) ListInstances(ctx context.Context, filter Filter) iter.Seq2[api.Instance, error] {
	return iterate(ctx, c, api.OpListInstances, filter, func(e api.Instance) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListInstancesRequest(c.server, &api.ListInstancesParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetInstance returns one Linode.
func (c *Client) GetInstance(ctx context.Context, linodeID int) (*api.Instance, error) {
	if err := positive(api.OpGetInstance, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.Instance](ctx, c, api.OpGetInstance)(api.NewGetInstanceRequest(c.server, linodeID))
}

// UpdateInstance changes what is set in update; tags replace the whole list.
func (c *Client) UpdateInstance(ctx context.Context, linodeID int, update api.InstanceUpdate) (*api.Instance, error) {
	if err := positive(api.OpUpdateInstance, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.Instance](ctx, c, api.OpUpdateInstance)(api.NewUpdateInstanceRequest(c.server, linodeID, update))
}

// CreateInstance creates a Linode. After KindAmbiguous look for its label, which is unique on the account, before
// creating another.
func (c *Client) CreateInstance(ctx context.Context, instance api.InstanceCreate) (*api.Instance, error) {
	return fetch[api.Instance](ctx, c, api.OpCreateInstance)(api.NewCreateInstanceRequest(c.server, instance))
}

// DeleteInstance deletes a Linode with its disks. Not for nodes of LKE: delete the node. See the package's doc for what
// a 404 means.
func (c *Client) DeleteInstance(ctx context.Context, linodeID int) error {
	if err := positive(api.OpDeleteInstance, "linodeId", linodeID); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteInstance)(api.NewDeleteInstanceRequest(c.server, linodeID))
}

// BootInstance starts a Linode.
func (c *Client) BootInstance(ctx context.Context, linodeID int, boot api.InstanceBoot) error {
	if err := positive(api.OpBootInstance, "linodeId", linodeID); err != nil {
		return err
	}
	return send(ctx, c, api.OpBootInstance)(api.NewBootInstanceRequest(c.server, linodeID, boot))
}

// ShutdownInstance stops a Linode.
func (c *Client) ShutdownInstance(ctx context.Context, linodeID int) error {
	if err := positive(api.OpShutdownInstance, "linodeId", linodeID); err != nil {
		return err
	}
	return send(ctx, c, api.OpShutdownInstance)(api.NewShutdownInstanceRequest(c.server, linodeID))
}

// GetInstanceIPs returns the addresses of a Linode by kind.
func (c *Client) GetInstanceIPs(ctx context.Context, linodeID int) (*api.InstanceIPs, error) {
	if err := positive(api.OpGetInstanceIPs, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceIPs](ctx, c, api.OpGetInstanceIPs)(api.NewGetInstanceIPsRequest(c.server, linodeID))
}

// ListInterfaces returns all interfaces of a Linode of the interface generation linode; the API does not page them.
func (c *Client) ListInterfaces(ctx context.Context, linodeID int) (*api.InstanceInterfaceList, error) {
	if err := positive(api.OpListInstanceInterfaces, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceInterfaceList](ctx, c, api.OpListInstanceInterfaces)(api.NewListInstanceInterfacesRequest(c.server, linodeID))
}

// GetInterface returns one interface of a Linode of the interface generation linode.
func (c *Client) GetInterface(ctx context.Context, linodeID int, interfaceID int) (*api.InstanceInterface, error) {
	if err := positive(api.OpGetInstanceInterface, "linodeId", linodeID, "interfaceId", interfaceID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceInterface](ctx, c, api.OpGetInstanceInterface)(api.NewGetInstanceInterfaceRequest(c.server, linodeID, interfaceID))
}
