package world

import (
	"maps"
	"slices"
)

// assets are the objects beside clusters, Linodes and firewalls.
type assets struct {
	disks      map[int][]LinodeDisk // by Linode
	configs    map[int][]LinodeConfig
	interfaces map[int][]LinodeInterface
	images     map[string]Image // private ones
	groups     map[int]PlacementGroup
	vpcs       map[int]VPC
	tags       map[string]bool // made on their own; on objects or not
}

func newAssets() assets {
	return assets{
		disks: map[int][]LinodeDisk{}, configs: map[int][]LinodeConfig{}, interfaces: map[int][]LinodeInterface{},
		images: map[string]Image{}, groups: map[int]PlacementGroup{}, vpcs: map[int]VPC{}, tags: map[string]bool{},
	}
}

// clone is deep as far as anything is changed in place.
func (a assets) clone() assets {
	out := assets{
		disks: copied(a.disks), configs: copied(a.configs), interfaces: copied(a.interfaces),
		images: maps.Clone(a.images), groups: maps.Clone(a.groups), vpcs: maps.Clone(a.vpcs), tags: maps.Clone(a.tags),
	}
	return out
}

func copied[T any](m map[int][]T) map[int][]T {
	out := make(map[int][]T, len(m))
	for k, v := range m {
		out[k] = slices.Clone(v)
	}
	return out
}

// forget drops what belonged to a Linode that is gone.
func (a assets) forget(linode int) {
	delete(a.disks, linode)
	delete(a.configs, linode)
	delete(a.interfaces, linode)
}

func sorted[K int | string, T any](m map[K]T) []T {
	out := make([]T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

func (w *World) note(by Actor, action, what string, linode int) {
	w.record(by, Entry{Action: action, InstanceID: linode, After: what})
}
