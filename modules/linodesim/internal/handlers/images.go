package handlers

import (
	"context"

	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// ListImages answers GET /images. Without images:read_only there are only
// public ones.
func (Server) ListImages(ctx context.Context, q server.ListImagesRequestObject) (server.ListImagesResponseObject, error) {
	r := of(ctx)
	l, err := list(r, visible(r), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, imageField, image)
	return server.ListImages200JSONResponse{Body: api.ImagePage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetImage answers GET /images/{imageId}.
func (Server) GetImage(ctx context.Context, q server.GetImageRequestObject) (server.GetImageResponseObject, error) {
	r := of(ctx)
	found, err := r.Seen.Image(q.ImageID)
	if err == nil && !found.Public && !r.May("images:read_only") {
		err = notFound()
	}
	if err != nil {
		return nil, err
	}
	return server.GetImage200JSONResponse{Body: image(found)}, nil
}

// CreateImage answers POST /images.
func (Server) CreateImage(ctx context.Context, q server.CreateImageRequestObject) (server.CreateImageResponseObject, error) {
	r := of(ctx)
	found, err := r.Live.CreateImage(r.Actor, world.ImageSpec{
		DiskID: q.Body.DiskID, Label: value(q.Body.Label), Description: value(q.Body.Description),
		CloudInit: value(q.Body.CloudInit), Tags: value(q.Body.Tags),
	})
	if err != nil {
		return nil, err
	}
	return server.CreateImage200JSONResponse{Body: image(found)}, nil
}

// DeleteImage answers DELETE /images/{imageId}.
func (Server) DeleteImage(ctx context.Context, q server.DeleteImageRequestObject) (server.DeleteImageResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteImage(r.Actor, q.ImageID)
	return server.DeleteImage200JSONResponse{Body: api.Empty{}}, err
}

func visible(r Request) []world.Image {
	all := r.Seen.Images()
	if r.May("images:read_only") {
		return all
	}
	return slices.DeleteFunc(all, func(i world.Image) bool { return !i.Public })
}

func image(i world.Image) api.Image {
	out := api.Image{
		ID: i.ID, Label: i.Label, Description: &i.Description, Type: "manual", Status: api.ImageStatus(i.Status), Size: i.SizeMB,
		IsPublic: i.Public, Deprecated: i.Deprecated, Vendor: optional(i.Vendor), Capabilities: i.Capabilities, Tags: strings(i.Tags),
		Created: api.Time{Time: i.Created}, Updated: api.Time{Time: i.Updated}, CreatedBy: i.CreatedBy,
	}
	if !i.EndOfLife.IsZero() {
		out.Eol = &api.Time{Time: i.EndOfLife}
	}
	if i.Public {
		return out
	}
	regions := []api.ImageRegion{}
	for _, region := range i.Regions {
		regions = append(regions, api.ImageRegion{Region: region, Status: "available"})
	}
	out.Regions, out.TotalSize = &regions, &i.SizeMB
	out.ImageSharing = &api.ImageSharing{SharedWith: &api.ImageSharedWith{SharegroupListURL: fmt.Sprintf("/images/%s/sharegroups", i.ID)}}
	return out
}
