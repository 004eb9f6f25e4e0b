package handlers

import (
	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listInstanceConfigs(linodeID int) (page[api.InstanceConfig], error) {
	configs, err := r.Seen.Configs(linodeID)
	if err != nil {
		return page[api.InstanceConfig]{}, err
	}
	return list(r, configs, config(r.Seen))
}

func (r Request) getInstanceConfig(linodeID int, configID int) (api.InstanceConfig, error) {
	return one(config(r.Seen))(r.Seen.LinodeConfig(linodeID, configID))
}

func (r Request) createInstanceConfig(linodeID int, b *api.InstanceConfigCreate) (api.InstanceConfig, error) {
	return one(config(r.Live))(r.Live.CreateConfig(r.Actor, linodeID, world.ConfigEdit{
		Label: &b.Label, Kernel: b.Kernel, Comments: b.Comments, MemoryLimit: b.MemoryLimit, RunLevel: (*string)(b.RunLevel),
		VirtMode: (*string)(b.VirtMode), RootDevice: b.RootDevice, Initrd: b.Initrd, Devices: devices(&b.Devices),
		Helpers: helpers(b.Helpers), Interfaces: interfaces(b.Interfaces),
	}))
}

func (r Request) updateInstanceConfig(linodeID int, configID int, b *api.InstanceConfigUpdate) (api.InstanceConfig, error) {
	return one(config(r.Live))(r.Live.UpdateConfig(r.Actor, linodeID, configID, world.ConfigEdit{
		Label: b.Label, Kernel: b.Kernel, Comments: b.Comments, MemoryLimit: b.MemoryLimit, RunLevel: (*string)(b.RunLevel),
		VirtMode: (*string)(b.VirtMode), RootDevice: b.RootDevice, Initrd: b.Initrd, Devices: devices(b.Devices),
		Helpers: helpers(b.Helpers), Interfaces: interfaces(b.Interfaces),
	}))
}

func (r Request) deleteInstanceConfig(linodeID int, configID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteConfig(r.Actor, linodeID, configID)
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

func interfaces(given *[]api.InstanceConfigInterfaceCreate) *[]world.ConfigInterface {
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

func config(w *world.World) func(world.LinodeConfig) api.InstanceConfig {
	return func(c world.LinodeConfig) api.InstanceConfig {
		of, _ := w.Instance(c.LinodeID)
		return configOf(of, c)
	}
}

func configOf(of world.Instance, c world.LinodeConfig) api.InstanceConfig {
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
		out.Interfaces = append(out.Interfaces, configInterface(of, f))
	}
	return out
}

// Fields that a purpose does not have are null.
func configInterface(of world.Instance, f world.ConfigInterface) api.InstanceConfigInterface {
	out := api.InstanceConfigInterface{
		ID: f.ID, Purpose: api.InstanceConfigInterfacePurpose(f.Purpose), Primary: f.Primary, Active: of.Status == world.StatusRunning,
		IPv6: nullable.NewNullNullable[map[string]any](),
	}
	switch f.Purpose {
	case "vlan":
		out.Label, out.IpamAddress = &f.Label, &f.IPAM
	case "vpc":
		ranges, nat := nonNil(f.Ranges), optional(f.NAT)
		if f.NAT == "any" {
			nat = &of.PublicIPv4
		}
		out.VPCID, out.SubnetID, out.IPRanges = &f.VPCID, &f.SubnetID, &ranges
		out.IPv4 = &map[string]any{"vpc": f.Address, "nat_1_1": nat}
	}
	return out
}

func idOrNull(id int) *int {
	if id == 0 {
		return nil
	}
	return &id
}
