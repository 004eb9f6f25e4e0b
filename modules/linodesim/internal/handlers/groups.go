package handlers

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListPlacementGroups answers GET /placement/groups.
func (Server) ListPlacementGroups(ctx context.Context, q server.ListPlacementGroupsRequestObject) (server.ListPlacementGroupsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.PlacementGroups(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, groupField, group)
	return server.ListPlacementGroups200JSONResponse{Body: api.PlacementGroupPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetPlacementGroup answers GET /placement/groups/{groupId}.
func (Server) GetPlacementGroup(ctx context.Context, q server.GetPlacementGroupRequestObject) (server.GetPlacementGroupResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.PlacementGroup(q.GroupID)
	if err != nil {
		return nil, err
	}
	return server.GetPlacementGroup200JSONResponse{Body: group(found)}, nil
}

// CreatePlacementGroup answers POST /placement/groups.
func (Server) CreatePlacementGroup(ctx context.Context, q server.CreatePlacementGroupRequestObject) (server.CreatePlacementGroupResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.CreatePlacementGroup(r.Actor, world.PlacementGroup{
		Label: q.Body.Label, Region: q.Body.Region, Type: string(q.Body.PlacementGroupType), Policy: string(q.Body.PlacementGroupPolicy),
	})
	if err != nil {
		return nil, err
	}
	return server.CreatePlacementGroup200JSONResponse{Body: group(found)}, nil
}

// UpdatePlacementGroup answers PUT /placement/groups/{groupId}.
func (Server) UpdatePlacementGroup(ctx context.Context, q server.UpdatePlacementGroupRequestObject) (server.UpdatePlacementGroupResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.RenamePlacementGroup(r.Actor, q.GroupID, q.Body.Label)
	if err != nil {
		return nil, err
	}
	return server.UpdatePlacementGroup200JSONResponse{Body: group(found)}, nil
}

// DeletePlacementGroup answers DELETE /placement/groups/{groupId}.
func (Server) DeletePlacementGroup(ctx context.Context, q server.DeletePlacementGroupRequestObject) (server.DeletePlacementGroupResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeletePlacementGroup(r.Actor, q.GroupID)
	return server.DeletePlacementGroup200JSONResponse{Body: api.Empty{}}, err
}

// AssignPlacementGroup answers POST /placement/groups/{groupId}/assign.
func (Server) AssignPlacementGroup(ctx context.Context, q server.AssignPlacementGroupRequestObject) (server.AssignPlacementGroupResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.Assign(r.Actor, q.GroupID, q.Body.Linodes)
	if err != nil {
		return nil, err
	}
	return server.AssignPlacementGroup200JSONResponse{Body: group(found)}, nil
}

// UnassignPlacementGroup answers POST /placement/groups/{groupId}/unassign.
func (Server) UnassignPlacementGroup(ctx context.Context, q server.UnassignPlacementGroupRequestObject) (server.UnassignPlacementGroupResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.Unassign(r.Actor, q.GroupID, q.Body.Linodes)
	if err != nil {
		return nil, err
	}
	return server.UnassignPlacementGroup200JSONResponse{Body: group(found)}, nil
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
