package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// device records that a firewall protects a Linode with legacy interfaces, or one interface of another Linode.
type device struct {
	id, firewall int
	linode       int
	iface        int // 0: the Linode itself
	balancer     int // instead of a Linode
	since        time.Time
}

// attach adds a device without the checks of the API.
func (w Firewalls) attach(firewall int, to device) device {
	to.id, to.firewall, to.since = w.sideID(&w.seq.device), firewall, w.now
	w.assets.devices[to.id] = to
	w.protected(to.linode)
	w.note(account.AssetCreated, fmt.Sprintf("device %d of firewall %d", to.id, firewall), to.linode)
	return to
}

func (w Firewalls) detach(d device) {
	delete(w.assets.devices, d.id)
	w.protected(d.linode)
	w.note(account.AssetDeleted, fmt.Sprintf("device %d of firewall %d", d.id, d.firewall), d.linode)
}

// protected notes on the Linode which firewall it has.
func (w Firewalls) protected(linode int) {
	if w.instances[linode] == nil {
		return
	}
	w.instances[linode].FirewallID = 0
	for _, d := range sorted(w.assets.devices) {
		if d.linode == linode {
			w.instances[linode].FirewallID = d.firewall
			return
		}
	}
}

// protect puts a new Linode behind a firewall: the firewall of its request, or the account's default. With
// interfaces of the generation linode, each interface gets a firewall.
func (w Firewalls) protect(i *Instance, firewall int) {
	if i.generation() != linodeInterfaces {
		if firewall == 0 {
			firewall = deref(w.assets.defaults.Linode)
		}
		if firewall > 0 {
			w.attach(firewall, device{linode: i.ID})
		}
		return
	}
	for _, f := range w.assets.interfaces[i.ID] {
		chosen := cmp.Or(f.firewall, firewall, w.Interfaces().defaultFirewall(f))
		if chosen > 0 && f.purpose != "vlan" {
			w.attach(chosen, device{linode: i.ID, iface: f.id})
		}
	}
}

// target finds the object of a new device. It refuses the device by the API's documented rules, in the simulator's own
// words.
func (w Firewalls) target(kind string, id int) (device, error) {
	const field = "id"
	var to device
	switch i := w.instances[id]; {
	case kind == "linode" && i != nil && i.generation() == linodeInterfaces:
		return to, Refuse("type", "Firewalls are assigned to the interfaces of this Linode")
	case kind == "linode" && i != nil:
		to.linode = id
	case kind == "nodebalancer":
		if _, there := w.assets.balancers[id]; there {
			to.balancer = id
		}
	case kind == "linode_interface":
		for owner, list := range w.assets.interfaces {
			if n := slices.IndexFunc(list, func(f nic) bool { return f.id == id }); n >= 0 && list[n].purpose != "vlan" {
				to.linode, to.iface = owner, id
			}
		}
	}
	if to == (device{}) {
		return to, Refuse(field, "%s is not valid", field)
	}
	for _, d := range w.assets.devices {
		if d.linode == to.linode && d.iface == to.iface && d.balancer == to.balancer {
			return to, Refuse(field, "This %s already has a firewall", kind)
		}
	}
	return to, nil
}

// CreateFirewallDevice puts a Linode or an interface behind a firewall.
func (w Firewalls) CreateFirewallDevice(firewallID int, b *api.FirewallDeviceCreate) (api.FirewallDevice, error) {
	if _, err := lookup(w.assets.firewalls, firewallID); err != nil {
		return api.FirewallDevice{}, err
	}
	to, err := w.target(string(b.Type), b.ID)
	if err != nil {
		return api.FirewallDevice{}, err
	}
	return w.shownDevice(w.attach(firewallID, to)), nil
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

// GetFirewallDevice finds one.
func (w Firewalls) GetFirewallDevice(firewallID, deviceID int) (api.FirewallDevice, error) {
	d, err := lookup(w.assets.devices, deviceID)
	if err != nil || d.firewall != firewallID {
		return api.FirewallDevice{}, NotFound()
	}
	return w.shownDevice(d), nil
}

// ListInstanceInterfaceFirewalls lists the firewalls of an interface.
func (w Firewalls) ListInstanceInterfaceFirewalls(linodeID, interfaceID int) ([]api.Firewall, error) {
	_, err := w.Interfaces().GetInstanceInterface(linodeID, interfaceID)
	return w.behind(func(d device) bool { return d.linode == linodeID && d.iface == interfaceID }), err
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

// entityOf describes the object of a device. An interface has no label; its parent entity is its Linode.
func (w Firewalls) entityOf(d device) api.FirewallEntity {
	if b, there := w.assets.balancers[d.balancer]; there {
		return api.FirewallEntity{
			ID: b.ID, Label: b.Label, Type: api.FirewallEntityTypeNodebalancer, URL: fmt.Sprintf("/v4/nodebalancers/%d", b.ID),
			ParentEntity: nullable.NewNullNullable[map[string]any](),
		}
	}
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

// behind lists the firewalls that have a device for which is returns true.
func (w Firewalls) behind(is func(device) bool) []api.Firewall {
	out := []api.Firewall{}
	for _, f := range sorted(w.assets.firewalls) {
		if slices.ContainsFunc(w.devicesOf(f.ID), is) {
			out = append(out, w.protecting(f))
		}
	}
	return out
}

// ListInstanceFirewalls lists the firewalls of a Linode and its interfaces.
func (w Firewalls) ListInstanceFirewalls(linodeID int) ([]api.Firewall, error) {
	_, err := lookup(w.instances, linodeID)
	return w.behind(func(d device) bool { return d.linode == linodeID }), err
}

// SetInstanceFirewalls replaces the firewalls of a Linode in one request. A
// Linode has one at most here.
func (w Firewalls) SetInstanceFirewalls(linodeID int, b *api.InstanceFirewallsUpdate) (api.FirewallPage, error) {
	i, err := lookup(w.instances, linodeID)
	if err != nil {
		return api.FirewallPage{}, err
	}
	var bad reasons
	for n, id := range b.FirewallIds {
		if _, there := w.assets.firewalls[id]; !there {
			bad.invalid(fmt.Sprintf("firewall_ids[%d]", n))
		}
	}
	if len(b.FirewallIds) > 1 {
		bad.add("firewall_ids", "A Linode has one firewall at most")
	}
	if i.generation() == linodeInterfaces {
		bad.add("", "Firewalls are assigned to the interfaces of this Linode")
	}
	if err := bad.err(); err != nil {
		return api.FirewallPage{}, err
	}
	for _, d := range sorted(w.assets.devices) {
		if d.linode == linodeID {
			w.detach(d)
		}
	}
	for _, id := range b.FirewallIds {
		w.attach(id, device{linode: linodeID})
	}
	all, err := w.ListInstanceFirewalls(linodeID)
	return api.FirewallPage{Data: all, Page: 1, Pages: 1, Results: len(all)}, err
}

// ListNodeBalancerFirewalls lists the firewalls of a NodeBalancer.
func (w Firewalls) ListNodeBalancerFirewalls(nodebalancerID int) ([]api.Firewall, error) {
	_, err := lookup(w.assets.balancers, nodebalancerID)
	return w.behind(func(d device) bool { return d.balancer == nodebalancerID }), err
}
