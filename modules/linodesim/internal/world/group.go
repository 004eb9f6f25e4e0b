package world

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/account"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// ListPlacementGroups lists them by ID. Hosts are not modelled, so every member complies.
func (w Groups) ListPlacementGroups() ([]api.PlacementGroup, error) {
	return sorted(w.assets.groups), nil
}

// GetPlacementGroup finds one.
func (w Groups) GetPlacementGroup(groupID int) (api.PlacementGroup, error) {
	return lookup(w.assets.groups, groupID)
}

// CreatePlacementGroup makes an empty one.
func (w Groups) CreatePlacementGroup(b *api.PlacementGroupCreate) (api.PlacementGroup, error) {
	var bad reasons
	w.Offers().checkRegion(&bad, b.Region, catalog.CapPlacementGroup, "Placement groups are")
	w.checkGroupLabel(&bad, 0, b.Label)
	if err := bad.err(); err != nil {
		return api.PlacementGroup{}, err
	}
	g := api.PlacementGroup{
		ID: w.sideID(&w.seq.group), Label: b.Label, Region: b.Region, IsCompliant: true, Members: []api.PlacementGroupMember{},
		PlacementGroupType:   api.PlacementGroupPlacementGroupType(b.PlacementGroupType),
		PlacementGroupPolicy: api.PlacementGroupPlacementGroupPolicy(b.PlacementGroupPolicy),
	}
	w.assets.groups[g.ID] = g
	w.note(account.AssetCreated, fmt.Sprintf("placement group %d", g.ID), 0)
	return g, nil
}

func (w Groups) checkGroupLabel(bad *reasons, self int, label string) {
	checkLength(bad, "label", label, 1, 64)
	for _, other := range w.assets.groups {
		if other.ID != self && other.Label == label {
			bad.add("label", "Label must be unique among your placement groups")
		}
	}
}

// UpdatePlacementGroup changes the label, the only field that can be changed.
func (w Groups) UpdatePlacementGroup(groupID int, b *api.PlacementGroupUpdate) (api.PlacementGroup, error) {
	g, err := lookup(w.assets.groups, groupID)
	if err != nil {
		return g, err
	}
	var bad reasons
	w.checkGroupLabel(&bad, groupID, b.Label)
	if err := bad.err(); err != nil {
		return g, err
	}
	g.Label = b.Label
	return w.groupChanged(g), nil
}

func (w Groups) groupChanged(g api.PlacementGroup) api.PlacementGroup {
	w.assets.groups[g.ID] = g
	w.note(account.AssetChanged, fmt.Sprintf("placement group %d", g.ID), 0)
	return g
}

// DeletePlacementGroup removes an empty one.
func (w Groups) DeletePlacementGroup(groupID int) error {
	g, err := lookup(w.assets.groups, groupID)
	switch {
	case err != nil:
		return err
	case len(g.Members) > 0:
		return Refuse("", "A placement group with Linodes in it cannot be deleted.")
	}
	delete(w.assets.groups, groupID)
	w.note(account.AssetDeleted, fmt.Sprintf("placement group %d", groupID), 0)
	return nil
}

// AssignPlacementGroup puts all given Linodes into a group, or none of them if it fails.
func (w Groups) AssignPlacementGroup(groupID int, b *api.PlacementGroupAssign) (api.PlacementGroup, error) {
	g, err := lookup(w.assets.groups, groupID)
	if err != nil {
		return g, err
	}
	var bad reasons
	for n, linode := range b.Linodes {
		i := w.instances[linode]
		switch field := fmt.Sprintf("linodes[%d]", n); {
		case i == nil || i.Region != g.Region || i.ClusterID != 0:
			bad.add(field, "Linode %d is not valid for this placement group", linode)
		case i.PlacementGroup != 0:
			bad.add(field, "Linode %d is in a placement group already", linode)
		}
	}
	w.checkGroupRoom(&bad, "linodes", g, len(b.Linodes))
	if err := bad.err(); err != nil {
		return g, err
	}
	for _, linode := range b.Linodes {
		w.enter(groupID, w.instances[linode])
	}
	return w.groupChanged(w.assets.groups[groupID]), nil
}

func (w Groups) checkGroupRoom(bad *reasons, field string, g api.PlacementGroup, n int) {
	r, _ := w.catalog.Region(g.Region)
	if most := deref(deref(r.PlacementGroupLimits).MaximumLinodesPerPG); len(g.Members)+n > most {
		bad.add(field, "A placement group in region %s holds %d Linodes; this one has %d", g.Region, most, len(g.Members))
	}
}

func (w Groups) enter(id int, i *Instance) {
	g := w.assets.groups[id]
	g.Members = append(slices.Clone(g.Members), api.PlacementGroupMember{LinodeID: i.ID, IsCompliant: true})
	slices.SortFunc(g.Members, func(a, b api.PlacementGroupMember) int { return a.LinodeID - b.LinodeID })
	w.assets.groups[id], i.PlacementGroup = g, id
}

// UnassignPlacementGroup takes Linodes out of a group.
func (w Groups) UnassignPlacementGroup(groupID int, b *api.PlacementGroupUnassign) (api.PlacementGroup, error) {
	g, err := lookup(w.assets.groups, groupID)
	if err != nil {
		return g, err
	}
	for n, linode := range b.Linodes {
		if i := w.instances[linode]; i == nil || i.PlacementGroup != groupID {
			return g, Refuse(fmt.Sprintf("linodes[%d]", n), "Linode %d is not in this placement group", linode)
		}
	}
	for _, linode := range b.Linodes {
		w.leave(w.instances[linode])
	}
	return w.groupChanged(w.assets.groups[groupID]), nil
}

func (w Groups) leave(i *Instance) {
	g, ok := w.assets.groups[i.PlacementGroup]
	if !ok {
		return
	}
	g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(m api.PlacementGroupMember) bool { return m.LinodeID == i.ID })
	w.assets.groups[g.ID], i.PlacementGroup = g, 0
}
