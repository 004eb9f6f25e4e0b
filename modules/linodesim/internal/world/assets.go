package world

import (
	"maps"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
)

// assets are all objects except clusters and Linodes, as the API shows them. Fields that follow from other objects are
// filled in when a request reads them.
type assets struct {
	disks      map[int][]disk // by Linode, as configs and interfaces
	configs    map[int][]config
	interfaces map[int][]nic // of the generation linode
	images     map[string]api.Image
	groups     map[int]api.PlacementGroup
	vpcs       map[int]api.VPC
	firewalls  map[int]api.Firewall
	devices    map[int]device
	defaults   api.DefaultFirewallIDs // by kind of a new object
	balancing
	storage
	settings api.AccountSettings
	tags     map[string]bool // made by POST /tags, whether an object has the tag or not
}

// balancing holds the NodeBalancers with their ports, backends and networks.
type balancing struct {
	balancers map[int]api.NodeBalancer
	ports     map[int][]api.NodeBalancerConfig    // by NodeBalancer
	backends  map[int][]api.NodeBalancerNode      // by port
	networks  map[int][]api.NodeBalancerVPCConfig // by NodeBalancer
}

// storage holds the volumes and the state of their attachments.
type storage struct {
	volumes map[int]api.Volume
	passing map[int]bool // volumes whose attachment ends with a boot of their Linode
	usable  map[int]bool // volumes that their Linode can use
}

func newAssets(backups bool) assets {
	return assets{
		disks: map[int][]disk{}, configs: map[int][]config{}, interfaces: map[int][]nic{}, images: map[string]api.Image{},
		groups: map[int]api.PlacementGroup{}, vpcs: map[int]api.VPC{}, firewalls: map[int]api.Firewall{}, devices: map[int]device{},
		balancing: balancing{
			balancers: map[int]api.NodeBalancer{}, ports: map[int][]api.NodeBalancerConfig{}, backends: map[int][]api.NodeBalancerNode{},
			networks: map[int][]api.NodeBalancerVPCConfig{},
		},
		storage:  storage{volumes: map[int]api.Volume{}, passing: map[int]bool{}, usable: map[int]bool{}},
		settings: initialSettings(backups), tags: map[string]bool{},
	}
}

// clone copies every value that is changed in place.
func (a assets) clone() assets {
	return assets{
		disks: copied(a.disks), configs: copied(a.configs), interfaces: copied(a.interfaces), images: maps.Clone(a.images),
		groups: maps.Clone(a.groups), vpcs: maps.Clone(a.vpcs), firewalls: maps.Clone(a.firewalls), devices: maps.Clone(a.devices),
		defaults: a.defaults, settings: a.settings, tags: maps.Clone(a.tags),
		balancing: balancing{balancers: maps.Clone(a.balancers), ports: copied(a.ports), backends: copied(a.backends),
			networks: copied(a.networks)},
		storage: storage{volumes: maps.Clone(a.volumes), passing: maps.Clone(a.passing), usable: maps.Clone(a.usable)},
	}
}

func copied[T any](m map[int][]T) map[int][]T {
	out := make(map[int][]T, len(m))
	for k, v := range m {
		out[k] = slices.Clone(v)
	}
	return out
}

// forget removes the objects of a Linode that is gone, and detaches its volumes.
func (a assets) forget(linode int) {
	delete(a.disks, linode)
	delete(a.configs, linode)
	delete(a.interfaces, linode)
	for id, v := range a.volumes {
		if deref(v.LinodeID) == linode {
			v.LinodeID = nil
			a.volumes[id] = v
			delete(a.passing, id)
			delete(a.usable, id)
		}
	}
	maps.DeleteFunc(a.devices, func(_ int, d device) bool { return d.linode == linode })
}

func (w *Moment) note(action, what string, linode int) {
	w.record(w.Actor, account.Entry{Action: action, InstanceID: linode, After: what})
}
