package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// device records that a firewall protects a Linode with legacy interfaces, or one interface of another Linode.
type device struct {
	id, firewall int
	linode       int
	iface        int // 0: the Linode itself
	since        time.Time
}

// attach adds a device without the checks of the API.
func (w Firewalls) attach(firewall, linode, iface int) device {
	d := device{id: w.sideID(&w.seq.device), firewall: firewall, linode: linode, iface: iface, since: w.now}
	w.assets.devices[d.id] = d
	w.protected(linode)
	w.note(AssetCreated, fmt.Sprintf("device %d of firewall %d", d.id, firewall), linode)
	return d
}

func (w Firewalls) detach(d device) {
	delete(w.assets.devices, d.id)
	w.protected(d.linode)
	w.note(AssetDeleted, fmt.Sprintf("device %d of firewall %d", d.id, d.firewall), d.linode)
}

// protected notes on the Linode which firewall it has.
func (w Firewalls) protected(linode int) {
	w.instances[linode].FirewallID = 0
	for _, d := range sorted(w.assets.devices) {
		if d.linode == linode {
			w.instances[linode].FirewallID = d.firewall
			return
		}
	}
}

// protect puts a new Linode behind the firewalls that its request names: its interfaces, where they are of the generation linode.
func (w Firewalls) protect(i *Instance, firewall int) {
	if i.generation() != linodeInterfaces {
		if firewall == 0 {
			firewall = deref(w.assets.defaults.Linode)
		}
		if firewall > 0 {
			w.attach(firewall, i.ID, 0)
		}
		return
	}
	for _, f := range w.assets.interfaces[i.ID] {
		chosen := cmp.Or(f.firewall, firewall, w.Interfaces().defaultFirewall(f))
		if chosen > 0 && f.purpose != "vlan" {
			w.attach(chosen, i.ID, f.id)
		}
	}
}

// target finds the Linode or interface of a new device, or refuses it by the API's documented rules in words of our own.
func (w Firewalls) target(kind string, id int) (linode, iface int, err error) {
	const field = "id"
	switch i := w.instances[id]; {
	case kind == "linode" && i != nil && i.generation() == linodeInterfaces:
		return 0, 0, Refuse("type", "Firewalls are assigned to the interfaces of this Linode")
	case kind == "linode" && i != nil:
		linode = id
	case kind == "linode_interface":
		for owner, list := range w.assets.interfaces {
			if n := slices.IndexFunc(list, func(f nic) bool { return f.id == id }); n >= 0 && list[n].purpose != "vlan" {
				linode, iface = owner, id
			}
		}
	}
	if linode == 0 {
		return 0, 0, Refuse(field, "%s is not valid", field)
	}
	for _, d := range w.assets.devices {
		if d.linode == linode && d.iface == iface {
			return 0, 0, Refuse(field, "This %s already has a firewall", kind)
		}
	}
	return linode, iface, nil
}

// CreateFirewallDevice puts a Linode or an interface behind a firewall.
func (w Firewalls) CreateFirewallDevice(firewallID int, b *api.FirewallDeviceCreate) (api.FirewallDevice, error) {
	if _, err := lookup(w.assets.firewalls, firewallID); err != nil {
		return api.FirewallDevice{}, err
	}
	linode, iface, err := w.target(string(b.Type), b.ID)
	if err != nil {
		return api.FirewallDevice{}, err
	}
	return w.shownDevice(w.attach(firewallID, linode, iface)), nil
}

// DeleteFirewallDevice takes a Linode or an interface out of its firewall.
func (w Firewalls) DeleteFirewallDevice(firewallID, deviceID int) error {
	d, err := lookup(w.assets.devices, deviceID)
	if err == nil && d.firewall != firewallID {
		err = NotFound()
	}
	if err != nil {
		return err
	}
	w.detach(d)
	return nil
}

// ListFirewallDevices lists them by ID.
func (w Firewalls) ListFirewallDevices(firewallID int) ([]api.FirewallDevice, error) {
	_, err := lookup(w.assets.firewalls, firewallID)
	return each(w.devicesOf(firewallID), w.shownDevice), err
}

func (w Firewalls) devicesOf(firewall int) []device {
	return slices.DeleteFunc(sorted(w.assets.devices), func(d device) bool { return d.firewall != firewall })
}

func (w Firewalls) shownDevice(d device) api.FirewallDevice {
	return api.FirewallDevice{ID: d.id, Entity: w.entityOf(d), Created: api.Time{Time: d.since}, Updated: api.Time{Time: d.since}}
}

// entityOf describes the Linode or interface of a device; an interface has no label, and names its Linode.
func (w Firewalls) entityOf(d device) api.FirewallEntity {
	i := w.instances[d.linode]
	linode := api.FirewallEntity{
		ID: i.ID, Label: &i.Label, Type: api.FirewallEntityTypeLinode, URL: fmt.Sprintf("/v4/linode/instances/%d", i.ID),
		ParentEntity: nullable.NewNullNullable[map[string]any](),
	}
	if d.iface == 0 {
		return linode
	}
	return api.FirewallEntity{
		ID: d.iface, Type: api.FirewallEntityTypeLinodeInterface, URL: fmt.Sprintf("%s/interfaces/%d", linode.URL, d.iface),
		ParentEntity: nullable.NewNullableWithValue(map[string]any{"id": i.ID, "label": i.Label, "type": "linode", "url": linode.URL}),
	}
}
