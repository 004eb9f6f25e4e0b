package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/server"
)

// ListTypes answers GET /linode/types.
func (Server) ListTypes(ctx context.Context, q server.ListTypesRequestObject) (server.ListTypesResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().Types, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, typeField, plan)
	return server.ListTypes200JSONResponse{Body: api.LinodeTypePage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetType answers GET /linode/types/{typeId}.
func (Server) GetType(ctx context.Context, q server.GetTypeRequestObject) (server.GetTypeResponseObject, error) {
	t, ok := of(ctx).Seen.Catalog().Type(q.TypeID)
	if !ok {
		return nil, notFound()
	}
	return server.GetType200JSONResponse{Body: plan(t)}, nil
}

// ListRegions answers GET /regions.
func (Server) ListRegions(ctx context.Context, q server.ListRegionsRequestObject) (server.ListRegionsResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().Regions, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, regionField, region)
	return server.ListRegions200JSONResponse{Body: api.RegionPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetRegion answers GET /regions/{regionId}.
func (Server) GetRegion(ctx context.Context, q server.GetRegionRequestObject) (server.GetRegionResponseObject, error) {
	found, ok := of(ctx).Seen.Catalog().Region(q.RegionID)
	if !ok {
		return nil, notFound()
	}
	return server.GetRegion200JSONResponse{Body: region(found)}, nil
}

// ListRegionsAvailability answers GET /regions/availability.
func (Server) ListRegionsAvailability(ctx context.Context, q server.ListRegionsAvailabilityRequestObject) (server.ListRegionsAvailabilityResponseObject, error) {
	r := of(ctx)
	l, err := list(r, r.Seen.Catalog().Availability, paging{q.Params.Page, q.Params.PageSize, q.Params.XFilter}, availabilityField, availability)
	return server.ListRegionsAvailability200JSONResponse{Body: api.RegionAvailabilityPage{Data: l.data, Page: l.page, Pages: l.pages, Results: l.results}}, err
}

// GetRegionAvailability answers GET /regions/{regionId}/availability, a bare
// list.
func (Server) GetRegionAvailability(ctx context.Context, q server.GetRegionAvailabilityRequestObject) (server.GetRegionAvailabilityResponseObject, error) {
	c := of(ctx).Seen.Catalog()
	if _, ok := c.Region(q.RegionID); !ok {
		return nil, notFound()
	}
	out := []api.RegionAvailability{}
	for _, a := range c.AvailabilityOf(q.RegionID) {
		out = append(out, availability(a))
	}
	return server.GetRegionAvailability200JSONResponse{Body: out}, nil
}

// GetProfile answers GET /profile.
func (Server) GetProfile(ctx context.Context, _ server.GetProfileRequestObject) (server.GetProfileResponseObject, error) {
	user := of(ctx).Actor.User
	zone, off := "UTC", false
	return server.GetProfile200JSONResponse{Body: api.Profile{Username: user, Email: user + "@example.com", Timezone: &zone, TwoFactorAuth: &off, EmailNotifications: &off}}, nil
}

func plan(t catalog.Type) api.LinodeType {
	return api.LinodeType{
		ID: t.ID, Label: t.Label, Class: api.LinodeTypeClass(t.Class), Memory: t.MemoryMB, Disk: t.DiskMB, VCPUs: t.VCPUs, GPUs: t.GPUs,
		AcceleratedDevices: &t.AcceleratedDevices, NetworkOut: t.NetworkOutMbits, Transfer: t.TransferGB,
		Price: api.Price{Hourly: t.Price.Hourly, Monthly: t.Price.Monthly}, RegionPrices: prices(t.RegionPrices),
		Addons: api.LinodeTypeAddons{Backups: api.BackupsAddon{
			Price: api.Price{Hourly: t.Backups.Hourly, Monthly: t.Backups.Monthly}, RegionPrices: prices(t.BackupsByRegion),
		}},
	}
}

func prices(in []catalog.RegionPrice) []api.RegionPrice {
	out := make([]api.RegionPrice, len(in))
	for i, p := range in {
		out[i] = api.RegionPrice{ID: p.Region, Hourly: p.Hourly, Monthly: p.Monthly}
	}
	return out
}

func region(r catalog.Region) api.Region {
	return api.Region{
		ID: r.ID, Label: r.Label, Country: r.Country, Capabilities: r.Capabilities, Status: api.RegionStatus(r.Status),
		SiteType: api.RegionSiteType(r.SiteType), Resolvers: api.RegionResolvers{IPv4: r.ResolversV4, IPv6: r.ResolversV6},
		PlacementGroupLimits: &api.PlacementGroupLimits{
			MaximumLinodesPerPG: &r.MaxLinodesPerPG, MaximumLinodesPerFlexiblePG: nullable.NewNullNullable[int](),
		},
	}
}

func availability(a catalog.Availability) api.RegionAvailability {
	return api.RegionAvailability{Region: a.Region, Plan: a.Plan, Available: a.Available}
}
