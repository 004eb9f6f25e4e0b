package handlers

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
)

// Without images:read_only there are only
// public ones.
func (r Request) listImages() (page[api.Image], error) {
	return list(r, visible(r), image)
}

func (r Request) getImage(imageID string) (api.Image, error) {
	found, err := r.Seen.Image(imageID)
	if err == nil && !found.Public && !r.May("images:read_only") {
		err = notFound()
	}
	return image(found), err
}

func (r Request) createImage(b *api.ImageCreate) (api.Image, error) {
	return one(image)(r.Live.CreateImage(r.Actor, world.ImageSpec{
		DiskID: b.DiskID, Label: value(b.Label), Description: value(b.Description),
		CloudInit: value(b.CloudInit), Tags: value(b.Tags),
	}))
}

func (r Request) deleteImage(imageID string) (api.Empty, error) {
	return api.Empty{}, r.Live.DeleteImage(r.Actor, imageID)
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
		IsPublic: i.Public, Deprecated: i.Deprecated, Vendor: optional(i.Vendor), Capabilities: i.Capabilities, Tags: nonNil(i.Tags),
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
