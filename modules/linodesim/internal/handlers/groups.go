package handlers

import (
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

func (r Request) listPlacementGroups() (page[api.PlacementGroup], error) {
	return list(r, r.Seen.PlacementGroups(), group)
}

func (r Request) getPlacementGroup(groupID int) (api.PlacementGroup, error) {
	return one(group)(r.Seen.PlacementGroup(groupID))
}

func (r Request) createPlacementGroup(b *api.PlacementGroupCreate) (api.PlacementGroup, error) {
	return one(group)(r.Live.CreatePlacementGroup(r.Actor, world.PlacementGroup{
		Label: b.Label, Region: b.Region, Type: string(b.PlacementGroupType), Policy: string(b.PlacementGroupPolicy),
	}))
}

func (r Request) updatePlacementGroup(groupID int, b *api.PlacementGroupUpdate) (api.PlacementGroup, error) {
	return one(group)(r.Live.RenamePlacementGroup(r.Actor, groupID, b.Label))
}

func (r Request) deletePlacementGroup(groupID int) (api.Empty, error) {
	return api.Empty{}, r.Live.DeletePlacementGroup(r.Actor, groupID)
}

func (r Request) assignPlacementGroup(groupID int, b *api.PlacementGroupAssign) (api.PlacementGroup, error) {
	return one(group)(r.Live.Assign(r.Actor, groupID, b.Linodes))
}

func (r Request) unassignPlacementGroup(groupID int, b *api.PlacementGroupUnassign) (api.PlacementGroup, error) {
	return one(group)(r.Live.Unassign(r.Actor, groupID, b.Linodes))
}

func group(g world.PlacementGroup) api.PlacementGroup {
	out := api.PlacementGroup{
		ID: g.ID, Label: g.Label, Region: g.Region, PlacementGroupType: api.PlacementGroupPlacementGroupType(g.Type),
		PlacementGroupPolicy: api.PlacementGroupPlacementGroupPolicy(g.Policy), IsCompliant: true, Members: []api.PlacementGroupMember{},
	}
	for _, id := range g.Members {
		out.Members = append(out.Members, api.PlacementGroupMember{LinodeID: id, IsCompliant: true})
	}
	return out
}
