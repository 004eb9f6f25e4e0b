package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// config finds a configuration with its Linode.
func (w Configs) config(linode, id int) (*Instance, *config, error) {
	at := w.configAt(linode, id)
	if at < 0 {
		return nil, nil, NotFound()
	}
	return w.instances[linode], &w.assets.configs[linode][at], nil
}

// ListInstanceConfigInterfaces lists the interfaces of a configuration in their order.
func (w Configs) ListInstanceConfigInterfaces(linodeID, configID int) (api.InstanceConfigInterfaceList, error) {
	i, c, err := w.config(linodeID, configID)
	if err != nil {
		return nil, err
	}
	return each(c.nics, func(f nic) api.InstanceConfigInterface { return f.legacy(i) }), nil
}

func (w Configs) nic(linode, config, id int) (*Instance, *nic, error) {
	i, c, err := w.config(linode, config)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(c.nics, func(f nic) bool { return f.id == id })
	if at < 0 {
		return nil, nil, NotFound()
	}
	return i, &c.nics[at], nil
}

// GetInstanceConfigInterface finds one.
func (w Configs) GetInstanceConfigInterface(linodeID, configID, configInterfaceID int) (api.InstanceConfigInterface, error) {
	i, f, err := w.nic(linodeID, configID, configInterfaceID)
	if err != nil {
		return api.InstanceConfigInterface{}, err
	}
	return f.legacy(i), nil
}

// AppendInstanceConfigInterface adds an interface to a configuration.
func (w Configs) AppendInstanceConfigInterface(linodeID, configID int, b *api.InstanceConfigInterfaceCreate) (
	api.InstanceConfigInterface, error) {
	i, c, err := w.config(linodeID, configID)
	if err != nil {
		return api.InstanceConfigInterface{}, err
	}
	made := readLegacy(*b)
	var bad reasons
	if i.generation() != legacyConfig {
		bad.add("", "A Linode of the generation linode has no interfaces in its configurations")
	}
	w.Interfaces().checkInterfaces(&bad, i.Region, i.generation(), append(slices.Clone(c.nics), made), 0)
	if err := bad.err(); err != nil {
		return api.InstanceConfigInterface{}, err
	}
	w.Interfaces().connect(i, &made)
	c.nics = append(slices.Clone(c.nics), made)
	w.edits(i, c)
	return made.legacy(i), nil
}

// edits notes a change of a configuration.
func (w Configs) edits(i *Instance, c *config) {
	w.note(account.AssetChanged, fmt.Sprintf("config %d", c.ID), i.ID)
	w.happened(w.User, "linode_config_update", onLinode(i), withConfig(i.ID, c.InstanceConfig))
}

// UpdateInstanceConfigInterface changes the route and the addresses of an interface.
func (w Configs) UpdateInstanceConfigInterface(linodeID, configID, configInterfaceID int, b *api.InstanceConfigInterfaceUpdate) (
	api.InstanceConfigInterface, error) {
	i, c, err := w.config(linodeID, configID)
	if err != nil {
		return api.InstanceConfigInterface{}, err
	}
	at := slices.IndexFunc(c.nics, func(f nic) bool { return f.id == configInterfaceID })
	if at < 0 {
		return api.InstanceConfigInterface{}, NotFound()
	}
	f := c.nics[at]
	set(&f.primary, b.Primary)
	set(&f.ranges, b.IPRanges)
	if b.IPv4 != nil {
		if address, _ := (*b.IPv4)["vpc"].(string); address != "" {
			f.address = address
		}
		nat, given := (*b.IPv4)["nat_1_1"]
		if text, _ := nat.(string); given {
			f.nat = text
		}
		if f.nat == "any" {
			f.nat = i.PublicIPv4
		}
	}
	c.nics = slices.Clone(c.nics)
	c.nics[at] = f
	w.edits(i, c)
	return f.legacy(i), nil
}

// DeleteInstanceConfigInterface removes an interface that is not active. The interfaces of a Linode's first
// configuration are active while the Linode runs. A removal from a Linode that was never booted is recorded (FACTS 18,
// third table, 17).
func (w Configs) DeleteInstanceConfigInterface(linodeID, configID, configInterfaceID int) error {
	i, _, err := w.nic(linodeID, configID, configInterfaceID)
	if err != nil {
		return err
	}
	_, c, _ := w.config(linodeID, configID)
	if i.Status == account.StatusRunning && w.configAt(linodeID, configID) == 0 {
		return Refuse("", "The interface is active; the Linode must be powered off.")
	}
	c.nics = slices.DeleteFunc(slices.Clone(c.nics), func(f nic) bool { return f.id == configInterfaceID })
	w.edits(i, c)
	return nil
}

// ReorderInstanceConfigInterfaces puts all interfaces of a configuration into another order.
func (w Configs) ReorderInstanceConfigInterfaces(linodeID, configID int, b *api.InstanceConfigInterfaceOrder) error {
	i, c, err := w.config(linodeID, configID)
	if err != nil {
		return err
	}
	var ordered []nic
	for _, id := range b.Ids {
		at := slices.IndexFunc(c.nics, func(f nic) bool { return f.id == id })
		if at < 0 {
			return Refuse("ids", "Interface %d is not valid", id)
		}
		ordered = append(ordered, c.nics[at])
	}
	if len(ordered) != len(c.nics) {
		return Refuse("ids", "Must name all %d interfaces", len(c.nics))
	}
	c.nics = ordered
	w.edits(i, c)
	return nil
}
