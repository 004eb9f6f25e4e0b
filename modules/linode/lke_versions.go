package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListTierVersions iterates over the Kubernetes versions of a tier. v4beta only.
func (c *Client) ListTierVersions(ctx context.Context, tier api.LKETier) iter.Seq2[api.LKETierVersion, error] {
	if err := segment(api.OpListLKETierVersions, "tier", string(tier)); err != nil {
		return failing[api.LKETierVersion](err)
	}
	return iterate(ctx, c, api.OpListLKETierVersions, Filter{}, func(e api.LKETierVersion) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKETierVersionsRequest(c.server, tier, &api.ListLKETierVersionsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetTierVersion returns one Kubernetes version of a tier, KindNotFound when the tier does not offer it. v4beta only.
func (c *Client) GetTierVersion(ctx context.Context, tier api.LKETier, version string) (*api.LKETierVersion, error) {
	if err := segment(api.OpGetLKETierVersion, "tier", string(tier)); err != nil {
		return nil, err
	}
	if err := segment(api.OpGetLKETierVersion, "version", version); err != nil {
		return nil, err
	}
	return fetch[api.LKETierVersion](ctx, c, api.OpGetLKETierVersion)(api.NewGetLKETierVersionRequest(c.server, tier, version))
}

// ListVersions iterates over the Kubernetes versions of the Standard tier. ListTierVersions knows both tiers.
func (c *Client) ListVersions(ctx context.Context) iter.Seq2[api.LKEVersion, error] {
	return iterate(ctx, c, api.OpListLKEVersions, Filter{}, func(e api.LKEVersion) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKEVersionsRequest(c.server, &api.ListLKEVersionsParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetVersion returns one Kubernetes version of the Standard tier.
func (c *Client) GetVersion(ctx context.Context, version string) (*api.LKEVersion, error) {
	if err := segment(api.OpGetLKEVersion, "version", version); err != nil {
		return nil, err
	}
	return fetch[api.LKEVersion](ctx, c, api.OpGetLKEVersion)(api.NewGetLKEVersionRequest(c.server, version))
}

// ListLKETypes iterates over the prices of control planes.
func (c *Client) ListLKETypes(ctx context.Context, filter Filter) iter.Seq2[api.LKEType, error] {
	return iterate(ctx, c, api.OpListLKETypes, filter, func(e api.LKEType) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListLKETypesRequest(c.server, &api.ListLKETypesParams{Page: number, PageSize: size, XFilter: filter})
		})
}
