package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// PlacementGroup keeps Linodes on different hosts. Hosts are not modelled, so
// every member obeys.
type PlacementGroup struct {
	ID            int
	Label, Region string
	Type, Policy  string
	Members       []int // Linodes by ID
}

// PlacementGroups lists them by ID.
func (w *World) PlacementGroups() []PlacementGroup {
	defer w.lock()()
	return sorted(w.assets.groups)
}

// PlacementGroup finds one.
func (w *World) PlacementGroup(id int) (PlacementGroup, error) {
	defer w.lock()()
	g, ok := w.assets.groups[id]
	if !ok {
		return PlacementGroup{}, notFound()
	}
	return g, nil
}

// CreatePlacementGroup makes an empty one.
func (w *World) CreatePlacementGroup(by Actor, g PlacementGroup) (PlacementGroup, error) {
	defer w.lock()()
	var bad reasons
	if r, ok := w.catalog.Region(g.Region); !ok {
		bad.add("region", "region is not valid")
	} else if !r.Has(catalog.CapPlacementGroup) {
		bad.add("region", "Placement groups are not available in region %s", g.Region)
	}
	w.checkGroupLabel(&bad, 0, g.Label)
	if err := bad.err(); err != nil {
		return PlacementGroup{}, err
	}
	g.ID, g.Members = w.sideID(&w.seq.group), nil
	w.assets.groups[g.ID] = g
	w.note(by, AssetCreated, fmt.Sprintf("placement group %d", g.ID), 0)
	return g, nil
}

func (w *World) checkGroupLabel(bad *reasons, self int, label string) {
	checkLength(bad, "label", label, 1, 64)
	for _, other := range w.assets.groups {
		if other.ID != self && other.Label == label {
			bad.add("label", "Label must be unique among your placement groups")
		}
	}
}

// RenamePlacementGroup changes the label, all that can be changed.
func (w *World) RenamePlacementGroup(by Actor, id int, label string) (PlacementGroup, error) {
	defer w.lock()()
	g, ok := w.assets.groups[id]
	if !ok {
		return PlacementGroup{}, notFound()
	}
	var bad reasons
	w.checkGroupLabel(&bad, id, label)
	if err := bad.err(); err != nil {
		return PlacementGroup{}, err
	}
	g.Label = label
	w.assets.groups[id] = g
	w.note(by, AssetChanged, fmt.Sprintf("placement group %d", id), 0)
	return g, nil
}

// DeletePlacementGroup removes an empty one.
func (w *World) DeletePlacementGroup(by Actor, id int) error {
	defer w.lock()()
	g, ok := w.assets.groups[id]
	if !ok {
		return notFound()
	}
	if len(g.Members) > 0 {
		return refuse("", "A placement group with Linodes in it cannot be deleted.")
	}
	delete(w.assets.groups, id)
	w.note(by, AssetDeleted, fmt.Sprintf("placement group %d", id), 0)
	return nil
}

// Assign puts Linodes into a group, all or none.
func (w *World) Assign(by Actor, id int, linodes []int) (PlacementGroup, error) {
	defer w.lock()()
	g, ok := w.assets.groups[id]
	if !ok {
		return PlacementGroup{}, notFound()
	}
	var bad reasons
	for n, linode := range linodes {
		i := w.instances[linode]
		switch field := fmt.Sprintf("linodes[%d]", n); {
		case i == nil || i.Region != g.Region || i.ClusterID != 0:
			bad.add(field, "Linode %d is not valid for this placement group", linode)
		case i.PlacementGroup != 0:
			bad.add(field, "Linode %d is in a placement group already", linode)
		}
	}
	w.checkGroupRoom(&bad, "linodes", g, len(linodes))
	if err := bad.err(); err != nil {
		return PlacementGroup{}, err
	}
	for _, linode := range linodes {
		w.enter(id, w.instances[linode])
	}
	w.note(by, AssetChanged, fmt.Sprintf("placement group %d", id), 0)
	return w.assets.groups[id], nil
}

func (w *World) checkGroupRoom(bad *reasons, field string, g PlacementGroup, n int) {
	if r, _ := w.catalog.Region(g.Region); len(g.Members)+n > r.MaxLinodesPerPG {
		bad.add(field, "A placement group in region %s holds %d Linodes; this one has %d", g.Region, r.MaxLinodesPerPG, len(g.Members))
	}
}

func (w *World) enter(id int, i *Instance) {
	g := w.assets.groups[id]
	g.Members = append(slices.Clone(g.Members), i.ID)
	slices.Sort(g.Members)
	w.assets.groups[id] = g
	i.PlacementGroup = id
}

// Unassign takes Linodes out of a group.
func (w *World) Unassign(by Actor, id int, linodes []int) (PlacementGroup, error) {
	defer w.lock()()
	g, ok := w.assets.groups[id]
	if !ok {
		return PlacementGroup{}, notFound()
	}
	for n, linode := range linodes {
		if !slices.Contains(g.Members, linode) {
			return PlacementGroup{}, refuse(fmt.Sprintf("linodes[%d]", n), "Linode %d is not in this placement group", linode)
		}
	}
	for _, linode := range linodes {
		w.leave(w.instances[linode])
	}
	w.note(by, AssetChanged, fmt.Sprintf("placement group %d", id), 0)
	return w.assets.groups[id], nil
}

func (w *World) leave(i *Instance) {
	g, ok := w.assets.groups[i.PlacementGroup]
	if !ok {
		return
	}
	g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(id int) bool { return id == i.ID })
	w.assets.groups[g.ID] = g
	i.PlacementGroup = 0
}
