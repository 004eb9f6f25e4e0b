package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListInstanceConfigs answers GET /linode/instances/{linodeId}/configs.
func (Server) ListInstanceConfigs(ctx context.Context, q server.ListInstanceConfigsRequestObject) (server.ListInstanceConfigsResponseObject, error) {
	r := of(ctx)
	configs, err := r.Seen.Configs(q.LinodeID)
	if err != nil {
		return nil, err
	}
	l, err := list(r, configs, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, func(world.LinodeConfig, string) any { return nil }, config)
	return server.ListInstanceConfigs200JSONResponse{Body: api.InstanceConfigPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetInstanceConfig answers GET /linode/instances/{linodeId}/configs/{configId}.
func (Server) GetInstanceConfig(ctx context.Context, q server.GetInstanceConfigRequestObject) (server.GetInstanceConfigResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.LinodeConfig(q.LinodeID, q.ConfigID)
	if err != nil {
		return nil, err
	}
	return server.GetInstanceConfig200JSONResponse{Body: config(found)}, nil
}

// CreateInstanceConfig answers POST /linode/instances/{linodeId}/configs.
func (Server) CreateInstanceConfig(ctx context.Context, q server.CreateInstanceConfigRequestObject) (server.CreateInstanceConfigResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.CreateConfig(r.Actor, q.LinodeID, world.ConfigEdit{
		Label: &q.Body.Label, Kernel: q.Body.Kernel, Comments: q.Body.Comments, MemoryLimit: q.Body.MemoryLimit, RunLevel: (*string)(q.Body.RunLevel),
		VirtMode: (*string)(q.Body.VirtMode), RootDevice: q.Body.RootDevice, Initrd: q.Body.Initrd, Devices: devices(&q.Body.Devices),
		Helpers: helpers(q.Body.Helpers), Interfaces: interfaces(q.Body.Interfaces),
	})
	if err != nil {
		return nil, err
	}
	return server.CreateInstanceConfig200JSONResponse{Body: config(found)}, nil
}

// UpdateInstanceConfig answers PUT /linode/instances/{linodeId}/configs/{configId}.
func (Server) UpdateInstanceConfig(ctx context.Context, q server.UpdateInstanceConfigRequestObject) (server.UpdateInstanceConfigResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.UpdateConfig(r.Actor, q.LinodeID, q.ConfigID, world.ConfigEdit{
		Label: q.Body.Label, Kernel: q.Body.Kernel, Comments: q.Body.Comments, MemoryLimit: q.Body.MemoryLimit, RunLevel: (*string)(q.Body.RunLevel),
		VirtMode: (*string)(q.Body.VirtMode), RootDevice: q.Body.RootDevice, Initrd: q.Body.Initrd, Devices: devices(q.Body.Devices),
		Helpers: helpers(q.Body.Helpers), Interfaces: interfaces(q.Body.Interfaces),
	})
	if err != nil {
		return nil, err
	}
	return server.UpdateInstanceConfig200JSONResponse{Body: config(found)}, nil
}

// DeleteInstanceConfig answers DELETE /linode/instances/{linodeId}/configs/{configId}.
func (Server) DeleteInstanceConfig(ctx context.Context, q server.DeleteInstanceConfigRequestObject) (server.DeleteInstanceConfigResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteConfig(r.Actor, q.LinodeID, q.ConfigID)
	return server.DeleteInstanceConfig200JSONResponse{Body: api.Empty{}}, err
}

func devices(given *api.InstanceConfigDevicesCreate) *map[string]world.Device {
	if given == nil {
		return nil
	}
	out := map[string]world.Device{}
	for name, d := range *given {
		if made := (world.Device{DiskID: value(d.DiskID), VolumeID: value(d.VolumeID)}); made != (world.Device{}) {
			out[name] = made
		}
	}
	return &out
}

func helpers(given *api.InstanceConfigHelpers) *world.Helpers {
	if given == nil {
		return nil
	}
	return &world.Helpers{
		Updatedb: given.UpdatedbDisabled, Distro: given.Distro, Modules: given.ModulesDep, Network: given.Network, Devtmpfs: given.DevtmpfsAutomount,
	}
}

func interfaces(given *[]api.InstanceConfigInterface) *[]world.ConfigInterface {
	if given == nil {
		return nil
	}
	out := []world.ConfigInterface{}
	for _, f := range *given {
		made := world.ConfigInterface{
			Purpose: string(f.Purpose), Label: value(f.Label), IPAM: value(f.IpamAddress), Primary: value(f.Primary), SubnetID: value(f.SubnetID),
			Ranges: value(f.IPRanges),
		}
		made.Address, _ = value(f.IPv4)["vpc"].(string)
		made.NAT, _ = value(f.IPv4)["nat_1_1"].(string)
		out = append(out, made)
	}
	return &out
}

func config(c world.LinodeConfig) api.InstanceConfig {
	out := api.InstanceConfig{
		ID: c.ID, Label: c.Label, Kernel: c.Kernel, Comments: c.Comments, MemoryLimit: c.MemoryLimit, RunLevel: api.InstanceConfigRunLevel(c.RunLevel),
		VirtMode: api.InstanceConfigVirtMode(c.VirtMode), RootDevice: c.RootDevice, Initrd: idOrNull(c.Initrd),
		Helpers: api.InstanceConfigHelpers{
			UpdatedbDisabled: c.Helpers.Updatedb, Distro: c.Helpers.Distro, ModulesDep: c.Helpers.Modules, Network: c.Helpers.Network,
			DevtmpfsAutomount: c.Helpers.Devtmpfs,
		},
		Interfaces: []api.InstanceConfigInterface{},
	}
	created, updated := api.Time{Time: c.Created}, api.Time{Time: c.Updated}
	out.Created, out.Updated = &created, &updated
	d := &out.Devices
	for i, to := range []**api.InstanceConfigDevice{&d.Sda, &d.Sdb, &d.Sdc, &d.Sdd, &d.Sde, &d.Sdf, &d.Sdg, &d.Sdh} {
		if has, ok := c.Devices[world.DeviceNames[i]]; ok {
			*to = &api.InstanceConfigDevice{DiskID: idOrNull(has.DiskID), VolumeID: idOrNull(has.VolumeID)}
		}
	}
	for _, f := range c.Interfaces {
		out.Interfaces = append(out.Interfaces, configInterface(f))
	}
	return out
}

// Not recorded; the fields are those of the public documentation.
func configInterface(f world.ConfigInterface) api.InstanceConfigInterface {
	ranges := strings(f.Ranges)
	out := api.InstanceConfigInterface{
		ID: &f.ID, Purpose: api.InstanceConfigInterfacePurpose(f.Purpose), Label: optional(f.Label), IpamAddress: optional(f.IPAM), Primary: &f.Primary,
		IPRanges: &ranges, AdditionalProperties: map[string]any{"active": true},
	}
	if f.Purpose == "vpc" {
		out.SubnetID = &f.SubnetID
		out.AdditionalProperties["vpc_id"] = f.VPCID
		out.IPv4 = &map[string]any{"vpc": f.Address, "nat_1_1": optional(f.NAT)}
	}
	return out
}

func idOrNull(id int) *int {
	if id == 0 {
		return nil
	}
	return &id
}
