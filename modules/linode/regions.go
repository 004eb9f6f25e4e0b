package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListRegions iterates over the regions.
func (c *Client) ListRegions(ctx context.Context, filter Filter) iter.Seq2[api.Region, error] {
	return iterate(ctx, c, api.OpListRegions, filter, func(e api.Region) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListRegionsRequest(c.server, &api.ListRegionsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetRegion returns one region.
func (c *Client) GetRegion(ctx context.Context, regionID string) (*api.Region, error) {
	if err := segment(api.OpGetRegion, "regionId", regionID); err != nil {
		return nil, err
	}
	return fetch[api.Region](ctx, c, api.OpGetRegion)(api.NewGetRegionRequest(c.server, regionID))
}

// ListAvailability iterates over the availability of restricted plans in all regions: some 500 rows. A plan without a
// row is not thereby unavailable.
func (c *Client) ListAvailability(ctx context.Context, filter Filter) iter.Seq2[api.RegionAvailability, error] {
	type key struct{ region, plan string }
	return iterate(ctx, c, api.OpListRegionsAvailability, filter, func(e api.RegionAvailability) key { return key{e.Region, e.Plan} },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListRegionsAvailabilityRequest(c.server, &api.ListRegionsAvailabilityParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// RegionAvailability returns the availability of restricted plans in one region. A plan without a row is not thereby
// unavailable.
func (c *Client) RegionAvailability(ctx context.Context, regionID string) ([]api.RegionAvailability, error) {
	if err := segment(api.OpGetRegionAvailability, "regionId", regionID); err != nil {
		return nil, err
	}
	rows, err := fetch[api.RegionAvailabilityList](ctx, c, api.OpGetRegionAvailability)(api.NewGetRegionAvailabilityRequest(c.server, regionID))
	if err != nil {
		return nil, err
	}
	return *rows, nil
}
