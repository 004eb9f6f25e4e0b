package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListDisks iterates over the disks of a Linode.
func (c *Client) ListDisks(ctx context.Context, linodeID int) iter.Seq2[api.InstanceDisk, error] {
	if err := positive(api.OpListInstanceDisks, "linodeId", linodeID); err != nil {
		return failing[api.InstanceDisk](err)
	}
	return iterate(ctx, c, api.OpListInstanceDisks, Filter{}, func(e api.InstanceDisk) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListInstanceDisksRequest(c.server, linodeID, &api.ListInstanceDisksParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetDisk returns one disk of a Linode.
func (c *Client) GetDisk(ctx context.Context, linodeID int, diskID int) (*api.InstanceDisk, error) {
	if err := positive(api.OpGetInstanceDisk, "linodeId", linodeID, "diskId", diskID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceDisk](ctx, c, api.OpGetInstanceDisk)(api.NewGetInstanceDiskRequest(c.server, linodeID, diskID))
}

// CreateDisk adds a disk to a Linode.
func (c *Client) CreateDisk(ctx context.Context, linodeID int, disk api.InstanceDiskCreate) (*api.InstanceDisk, error) {
	if err := positive(api.OpCreateInstanceDisk, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceDisk](ctx, c, api.OpCreateInstanceDisk)(api.NewCreateInstanceDiskRequest(c.server, linodeID, disk))
}

// DeleteDisk deletes a disk of a Linode.
func (c *Client) DeleteDisk(ctx context.Context, linodeID int, diskID int) error {
	if err := positive(api.OpDeleteInstanceDisk, "linodeId", linodeID, "diskId", diskID); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteInstanceDisk)(api.NewDeleteInstanceDiskRequest(c.server, linodeID, diskID))
}

// ListConfigs iterates over the configurations that a Linode can start with.
func (c *Client) ListConfigs(ctx context.Context, linodeID int) iter.Seq2[api.InstanceConfig, error] {
	if err := positive(api.OpListInstanceConfigs, "linodeId", linodeID); err != nil {
		return failing[api.InstanceConfig](err)
	}
	return iterate(ctx, c, api.OpListInstanceConfigs, Filter{}, func(e api.InstanceConfig) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListInstanceConfigsRequest(c.server, linodeID, &api.ListInstanceConfigsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetConfig returns one configuration of a Linode.
func (c *Client) GetConfig(ctx context.Context, linodeID int, configID int) (*api.InstanceConfig, error) {
	if err := positive(api.OpGetInstanceConfig, "linodeId", linodeID, "configId", configID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceConfig](ctx, c, api.OpGetInstanceConfig)(api.NewGetInstanceConfigRequest(c.server, linodeID, configID))
}

// CreateConfig adds a configuration to a Linode.
func (c *Client) CreateConfig(ctx context.Context, linodeID int, config api.InstanceConfigCreate) (*api.InstanceConfig, error) {
	if err := positive(api.OpCreateInstanceConfig, "linodeId", linodeID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceConfig](ctx, c, api.OpCreateInstanceConfig)(api.NewCreateInstanceConfigRequest(c.server, linodeID, config))
}

// UpdateConfig changes what is set in update.
func (c *Client) UpdateConfig(ctx context.Context, linodeID int, configID int, update api.InstanceConfigUpdate) (*api.InstanceConfig, error) {
	if err := positive(api.OpUpdateInstanceConfig, "linodeId", linodeID, "configId", configID); err != nil {
		return nil, err
	}
	return fetch[api.InstanceConfig](ctx, c, api.OpUpdateInstanceConfig)(api.NewUpdateInstanceConfigRequest(c.server, linodeID, configID, update))
}

// DeleteConfig deletes a configuration of a Linode.
func (c *Client) DeleteConfig(ctx context.Context, linodeID int, configID int) error {
	if err := positive(api.OpDeleteInstanceConfig, "linodeId", linodeID, "configId", configID); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteInstanceConfig)(api.NewDeleteInstanceConfigRequest(c.server, linodeID, configID))
}
