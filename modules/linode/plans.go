package linode

import (
	"context"
	"iter"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// ListTypes iterates over the plans.
func (c *Client) ListTypes(ctx context.Context, filter Filter) iter.Seq2[api.LinodeType, error] {
	return iterate(ctx, c, api.OpListTypes, filter, func(e api.LinodeType) string { return e.ID },
		func(number, size *int, filter *string) (*http.Request, error) {
			return api.NewListTypesRequest(c.server, &api.ListTypesParams{Page: number, PageSize: size, XFilter: filter})
		})
}

// GetType returns one plan.
func (c *Client) GetType(ctx context.Context, typeID string) (*api.LinodeType, error) {
	if err := segment(api.OpGetType, "typeId", typeID); err != nil {
		return nil, err
	}
	return fetch[api.LinodeType](ctx, c, api.OpGetType)(api.NewGetTypeRequest(c.server, typeID))
}
