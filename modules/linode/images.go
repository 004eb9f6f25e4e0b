package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListImages iterates over public images and those of the account. The tightest of all limits: 20 requests a minute.
func (c *Client) ListImages(ctx context.Context, filter Filter) iter.Seq2[api.Image, error] {
	return iterate(ctx, c, api.OpListImages, filter, func(e api.Image) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListImagesRequest(c.server, &api.ListImagesParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetImage returns one image, such as linode/ubuntu22.04.
func (c *Client) GetImage(ctx context.Context, imageID string) (*api.Image, error) {
	if err := segment(api.OpGetImage, "imageId", imageID); err != nil {
		return nil, err
	}
	return fetch[api.Image](ctx, c, api.OpGetImage)(api.NewGetImageRequest(c.server, imageID))
}

// ListPlacementGroups iterates over the account's placement groups.
func (c *Client) ListPlacementGroups(ctx context.Context, filter Filter) iter.Seq2[api.PlacementGroup, error] {
	return iterate(ctx, c, api.OpListPlacementGroups, filter, func(e api.PlacementGroup) int { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListPlacementGroupsRequest(c.server, &api.ListPlacementGroupsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetPlacementGroup returns one placement group.
func (c *Client) GetPlacementGroup(ctx context.Context, groupID int) (*api.PlacementGroup, error) {
	if err := positive(api.OpGetPlacementGroup, "groupId", groupID); err != nil {
		return nil, err
	}
	return fetch[api.PlacementGroup](ctx, c, api.OpGetPlacementGroup)(api.NewGetPlacementGroupRequest(c.server, groupID))
}
