package world

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// config is a configuration that a Linode boots with. Configurations of LKE workers are not modelled.
type config struct {
	api.InstanceConfig
	nics []nic // shown as its interfaces
}

// deviceNames are sda to sdz, sdaa to sdaz and sdba to sdbl: 64, the most volumes and disks of a Linode. sdk and sdl
// were recorded (FACTS 18, third table, 9); that the last is sdbl is known from the vendor's Go client.
var deviceNames = func() []string {
	var all []string
	for _, first := range []string{"", "a", "b"} {
		for c := 'a'; c <= 'z' && len(all) < 64; c++ {
			all = append(all, "sd"+first+string(c))
		}
	}
	return all
}()

// alwaysShown devices are in every configuration. Further devices are shown up to the last device in use.
const alwaysShown = 8

// drop takes devices out of a configuration.
func (c *config) drop(is func(api.InstanceConfigDevice) bool) {
	used := overlaid[map[string]*api.InstanceConfigDevice](c.Devices)
	maps.DeleteFunc(used, func(_ string, d *api.InstanceConfigDevice) bool { return d == nil || is(*d) })
	c.Devices = deviceMap(used)
}

// deviceMap lists devices as the API does.
func deviceMap(used map[string]*api.InstanceConfigDevice) api.InstanceConfigDevices {
	shown := map[string]*api.InstanceConfigDevice{}
	for n, name := range slices.Backward(deviceNames) {
		if used[name] != nil || n < alwaysShown || len(shown) > 0 {
			shown[name] = used[name]
		}
	}
	return overlaid[api.InstanceConfigDevices](shown)
}

// shown is a configuration as the API shows it.
func (w Configs) shown(linode int, c config) api.InstanceConfig {
	c.Interfaces = each(c.nics, func(f nic) api.InstanceConfigInterface { return f.legacy(w.instances[linode]) })
	return c.InstanceConfig
}

// ListInstanceConfigs lists a Linode's configurations by ID.
func (w Configs) ListInstanceConfigs(linodeID int) ([]api.InstanceConfig, error) {
	_, err := lookup(w.instances, linodeID)
	return each(w.assets.configs[linodeID], func(c config) api.InstanceConfig { return w.shown(linodeID, c) }), err
}

// GetInstanceConfig finds one.
func (w Configs) GetInstanceConfig(linodeID, configID int) (api.InstanceConfig, error) {
	at := w.configAt(linodeID, configID)
	if at < 0 {
		return api.InstanceConfig{}, NotFound()
	}
	return w.shown(linodeID, w.assets.configs[linodeID][at]), nil
}

// last describes the configuration that a Linode boots with when the request names none; nil if the Linode has no
// configuration.
func (w Configs) last(linode int) *api.AccountEventSecondaryEntity { return w.entity(linode, 0) }

func (w Configs) entity(linode, id int) *api.AccountEventSecondaryEntity {
	all := w.assets.configs[linode]
	if at := w.configAt(linode, id); at >= 0 {
		return withConfig(linode, all[at].InstanceConfig)
	}
	if len(all) == 0 {
		return nil
	}
	return withConfig(linode, all[len(all)-1].InstanceConfig)
}

func (w Configs) configAt(linode, id int) int {
	return slices.IndexFunc(w.assets.configs[linode], func(c config) bool { return c.ID == id })
}

// CreateInstanceConfig adds a configuration to a Linode.
func (w Configs) CreateInstanceConfig(linodeID int, b *api.InstanceConfigCreate) (api.InstanceConfig, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.InstanceConfig{}, err
	}
	edit := overlaid[api.InstanceConfigUpdate](b)
	nics, err := w.checkConfig(i, edit)
	if err != nil {
		return api.InstanceConfig{}, err
	}
	made := w.shown(linodeID, w.addConfig(i, edit, nics))
	w.happened(w.User, "linode_config_create", onLinode(i), withConfig(linodeID, made))
	return made, nil
}

// addConfig fills in the defaults that were recorded.
func (w Configs) addConfig(i *Instance, edit api.InstanceConfigUpdate, nics []nic) config {
	c := config{InstanceConfig: api.InstanceConfig{
		ID: w.sideID(&w.seq.config), Kernel: "linode/latest-64bit", RunLevel: "default", VirtMode: "paravirt", RootDevice: "/dev/sda",
		Helpers: api.InstanceConfigHelpers{UpdatedbDisabled: true, Distro: true, ModulesDep: true, DevtmpfsAutomount: true},
		Created: new(w.stamp()),
	}}
	c = w.edited(i, c, edit, nics)
	w.assets.configs[i.ID] = append(w.assets.configs[i.ID], c)
	w.note(account.AssetCreated, fmt.Sprintf("config %d", c.ID), i.ID)
	return c
}

// UpdateInstanceConfig changes one.
func (w Configs) UpdateInstanceConfig(linodeID, configID int, b *api.InstanceConfigUpdate) (api.InstanceConfig, error) {
	at := w.configAt(linodeID, configID)
	if at < 0 {
		return api.InstanceConfig{}, NotFound()
	}
	i := w.instances[linodeID]
	nics, err := w.checkConfig(i, *b)
	if err != nil {
		return api.InstanceConfig{}, err
	}
	c := w.edited(i, w.assets.configs[linodeID][at], *b, nics)
	w.assets.configs[linodeID][at] = c
	w.note(account.AssetChanged, fmt.Sprintf("config %d", configID), linodeID)
	w.happened(w.User, "linode_config_update", onLinode(i), withConfig(linodeID, c.InstanceConfig))
	return w.shown(linodeID, c), nil
}

// DeleteInstanceConfig removes one.
func (w Configs) DeleteInstanceConfig(linodeID, configID int) error {
	at := w.configAt(linodeID, configID)
	if at < 0 {
		return NotFound()
	}
	w.happened(w.User, "linode_config_delete", onLinode(w.instances[linodeID]), w.entity(linodeID, configID))
	w.assets.configs[linodeID] = slices.Delete(w.assets.configs[linodeID], at, at+1)
	w.note(account.AssetDeleted, fmt.Sprintf("config %d", configID), linodeID)
	return nil
}

// checkConfig checks an edit of a configuration, and returns the interfaces in it.
func (w Configs) checkConfig(i *Instance, edit api.InstanceConfigUpdate) ([]nic, error) {
	var bad reasons
	if edit.Label != nil {
		checkLength(&bad, "label", *edit.Label, 1, 48)
	}
	if i.generation() == linodeInterfaces && edit.Helpers != nil && edit.Helpers.Network {
		bad.add("helpers.network", "Option cannot be set on a Linode that is configured to use Linode Interfaces")
	}
	given := deref(edit.Devices)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		disk, volume := deref(given[name].DiskID), deref(given[name].VolumeID)
		switch {
		case !slices.Contains(deviceNames, name):
			bad.add("devices."+name, "Must be one of sda to sdz, sdaa to sdaz, sdba to sdbl")
		case volume != 0 && !w.Volumes().fits(volume, i):
			bad.add("devices."+name+".volume_id", "volume_id is not valid")
		case disk != 0 && !w.Disks().hasDisk(i.ID, disk):
			bad.add("devices."+name+".disk_id", "disk_id is not valid")
		}
	}
	if initrd := deref(edit.Initrd); initrd != 0 && !w.Disks().hasDisk(i.ID, initrd) {
		bad.invalid("initrd")
	}
	nics := each(deref(edit.Interfaces), readLegacy)
	if len(nics) > 0 && i.generation() != legacyConfig {
		bad.add("interfaces", "A Linode of the generation linode has no interfaces in its configurations")
	}
	w.Interfaces().checkInterfaces(&bad, i.Region, i.generation(), nics, 0)
	return nics, bad.err()
}

// edited returns the configuration after an edit. Devices in the edit replace all devices, and interfaces replace all interfaces.
func (w Configs) edited(i *Instance, c config, edit api.InstanceConfigUpdate, nics []nic) config {
	if edit.Devices != nil {
		used := map[string]*api.InstanceConfigDevice{}
		for name, d := range *edit.Devices {
			if deref(d.DiskID) != 0 || deref(d.VolumeID) != 0 {
				used[name] = &api.InstanceConfigDevice{DiskID: optional(deref(d.DiskID)), VolumeID: optional(deref(d.VolumeID))}
			}
			w.Volumes().claim(deref(d.VolumeID), i)
		}
		c.Devices, edit.Devices = deviceMap(used), nil
	}
	if edit.Interfaces != nil {
		c.nics = nics
		for n := range nics {
			w.Interfaces().connect(i, &nics[n])
		}
	}
	edit.Interfaces = nil
	c.InstanceConfig = overlaid[api.InstanceConfig](c.InstanceConfig, edit)
	c.Initrd, c.Updated = optional(deref(c.Initrd)), new(w.stamp())
	return c
}
