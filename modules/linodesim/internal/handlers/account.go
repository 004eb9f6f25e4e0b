package handlers

import (
	"context"

	"encoding/json"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
)

// ListAccountAvailability answers GET /account/availability.
func (Server) ListAccountAvailability(ctx context.Context, q server.ListAccountAvailabilityRequestObject) (server.ListAccountAvailabilityResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().Regions, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, func(catalog.Region, string) any { return nil }, services)
	return server.ListAccountAvailability200JSONResponse{Body: api.AccountAvailabilityPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetAccountAvailability answers GET /account/availability/{regionId}.
func (Server) GetAccountAvailability(ctx context.Context, q server.GetAccountAvailabilityRequestObject) (server.GetAccountAvailabilityResponseObject, error) {
	region, ok := of(ctx).Seen.Catalog().Region(q.RegionID)
	if !ok {
		return nil, notFound()
	}
	return server.GetAccountAvailability200JSONResponse{Body: services(region)}, nil
}

// An account may use what a region has. The names are those recorded.
func services(r catalog.Region) api.AccountAvailability {
	out := api.AccountAvailability{Region: r.ID, Available: []string{}, Unavailable: []string{}}
	for _, name := range []string{"Linodes", "NodeBalancers", "Block Storage", catalog.CapKubernetes} {
		if slices.Contains(r.Capabilities, name) {
			out.Available = append(out.Available, name)
		} else {
			out.Unavailable = append(out.Unavailable, name)
		}
	}
	return out
}

// GetAccountSettings answers GET /account/settings, with what was recorded.
func (Server) GetAccountSettings(ctx context.Context, _ server.GetAccountSettingsRequestObject) (server.GetAccountSettingsResponseObject, error) {
	interfaces := api.AccountSettingsInterfacesForNewLinodesLegacyConfigDefaultButLinodeAllowed
	policy := api.AccountSettingsMaintenancePolicy("linode/power_off_on")
	return server.GetAccountSettings200JSONResponse{Body: api.AccountSettings{
		BackupsEnabled: of(ctx).Seen.AccountBackups(), ObjectStorage: "active",
		InterfacesForNewLinodes: &interfaces, MaintenancePolicy: &policy,
	}}, nil
}

// ListTags answers GET /tags.
func (Server) ListTags(ctx context.Context, q server.ListTagsRequestObject) (server.ListTagsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Tags(), paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, func(string, string) any { return nil }, func(t string) api.TagObject { return api.TagObject{Label: t} })
	return server.ListTags200JSONResponse{Body: api.TagObjectPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// CreateTag answers POST /tags. Volumes, domains, NodeBalancers and reserved
// addresses do not exist here, so that none of them can be tagged.
func (Server) CreateTag(ctx context.Context, q server.CreateTagRequestObject) (server.CreateTagResponseObject, error) {
	r := of(ctx)
	for _, none := range []struct {
		field string
		given int
	}{
		{"volumes", len(value(q.Body.Volumes))}, {"domains", len(value(q.Body.Domains))},
		{"nodebalancers", len(value(q.Body.Nodebalancers))}, {"reserved_ipv4_addresses", len(value(q.Body.ReservedIPv4Addresses))},
	} {
		if none.given > 0 {
			return nil, refusal(none.field, none.field+" is not valid")
		}
	}
	err := r.Live.CreateTag(r.Actor, q.Body.Label, value(q.Body.Linodes), value(q.Body.LKEClusters))
	return server.CreateTag200JSONResponse{Body: api.TagObject{Label: q.Body.Label}}, err
}

// DeleteTag answers DELETE /tags/{tagLabel}.
func (Server) DeleteTag(ctx context.Context, q server.DeleteTagRequestObject) (server.DeleteTagResponseObject, error) {
	r := of(ctx)
	err := r.Live.DeleteTag(r.Actor, q.TagLabel)
	return server.DeleteTag200JSONResponse{Body: api.Empty{}}, err
}

// ListTaggedObjects answers GET /tags/{tagLabel}.
func (Server) ListTaggedObjects(ctx context.Context, q server.ListTaggedObjectsRequestObject) (server.ListTaggedObjectsResponseObject, error) {
	r := of(ctx)
	linodes, clusters, err := r.Seen.Tagged(q.TagLabel)
	if err != nil {
		return nil, err
	}
	var all []api.TaggedObject
	for _, i := range linodes {
		all = append(all, tagged("linode", instance(i, r)))
	}
	for _, c := range clusters {
		all = append(all, tagged("lke_cluster", cluster(c, r.Beta)))
	}
	l, err := list(r, all, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter},
		func(api.TaggedObject, string) any { return nil }, func(o api.TaggedObject) api.TaggedObject { return o })
	return server.ListTaggedObjects200JSONResponse{Body: api.TaggedObjectPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

func tagged(kind string, object any) api.TaggedObject {
	out := api.TaggedObject{Type: kind, Data: map[string]any{}}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &out.Data)
	}
	if err != nil { // our own types always marshal to objects
		panic(err)
	}
	return out
}
