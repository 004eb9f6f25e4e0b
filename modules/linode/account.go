package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// GetProfile returns the user whose token is used: a way to check a token that may read the account.
func (c *Client) GetProfile(ctx context.Context) (*api.Profile, error) {
	return fetch[api.Profile](ctx, c, api.OpGetProfile)(api.NewGetProfileRequest(c.server))
}

// GetAccountSettings returns the settings of the account.
func (c *Client) GetAccountSettings(ctx context.Context) (*api.AccountSettings, error) {
	return fetch[api.AccountSettings](ctx, c, api.OpGetAccountSettings)(api.NewGetAccountSettingsRequest(c.server))
}

// ListAccountAvailability iterates over the regions with the services that the account may use in each.
func (c *Client) ListAccountAvailability(ctx context.Context) iter.Seq2[api.AccountAvailability, error] {
	return iterate(ctx, c, api.OpListAccountAvailability, Filter{}, func(e api.AccountAvailability) string { return e.Region },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListAccountAvailabilityRequest(c.server, &api.ListAccountAvailabilityParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetAccountAvailability returns the services that the account may use in a region.
func (c *Client) GetAccountAvailability(ctx context.Context, regionID string) (*api.AccountAvailability, error) {
	if err := segment(api.OpGetAccountAvailability, "regionId", regionID); err != nil {
		return nil, err
	}
	return fetch[api.AccountAvailability](ctx, c, api.OpGetAccountAvailability)(api.NewGetAccountAvailabilityRequest(c.server, regionID))
}

// ListTags iterates over the account's tags. It needs an unrestricted user.
func (c *Client) ListTags(ctx context.Context) iter.Seq2[api.TagObject, error] {
	return iterate(ctx, c, api.OpListTags, Filter{}, func(e api.TagObject) string { return e.Label },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListTagsRequest(c.server, &api.ListTagsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// CreateTag creates a tag and puts it on objects. Naming a tag on an object creates it as well.
func (c *Client) CreateTag(ctx context.Context, tag api.TagCreate) (*api.TagObject, error) {
	return fetch[api.TagObject](ctx, c, api.OpCreateTag)(api.NewCreateTagRequest(c.server, tag))
}

// DeleteTag removes a tag from all objects.
func (c *Client) DeleteTag(ctx context.Context, label string) error {
	if err := segment(api.OpDeleteTag, "tagLabel", label); err != nil {
		return err
	}
	return send(ctx, c, api.OpDeleteTag)(api.NewDeleteTagRequest(c.server, label))
}
