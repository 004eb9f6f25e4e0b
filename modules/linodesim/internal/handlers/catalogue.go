package handlers

import (
	"github.com/oapi-codegen/nullable"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

func (r Request) listTypes() (page[api.LinodeType], error) {
	return list(r, r.Seen.Catalog().Types, plan)
}

func (r Request) getType(typeID string) (api.LinodeType, error) {
	t, ok := r.Seen.Catalog().Type(typeID)
	if !ok {
		return api.LinodeType{}, notFound()
	}
	return plan(t), nil
}

func (r Request) listRegions() (page[api.Region], error) {
	return list(r, r.Seen.Catalog().Regions, region)
}

func (r Request) getRegion(regionID string) (api.Region, error) {
	found, ok := r.Seen.Catalog().Region(regionID)
	if !ok {
		return api.Region{}, notFound()
	}
	return region(found), nil
}

func (r Request) listRegionsAvailability() (page[api.RegionAvailability], error) {
	return list(r, r.Seen.Catalog().Availability, availability)
}

// a bare
// list.
func (r Request) getRegionAvailability(regionID string) (api.RegionAvailabilityList, error) {
	c := r.Seen.Catalog()
	if _, ok := c.Region(regionID); !ok {
		return nil, notFound()
	}
	out := []api.RegionAvailability{}
	for _, a := range c.AvailabilityOf(regionID) {
		out = append(out, availability(a))
	}
	return out, nil
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
		Monitors: &api.RegionMonitors{Alerts: monitored(r), Metrics: monitored(r)},
		PlacementGroupLimits: &api.PlacementGroupLimits{
			MaximumLinodesPerPG: &r.MaxLinodesPerPG, MaximumLinodesPerFlexiblePG: nullable.NewNullableWithValue(r.MaxLinodesPerFlex),
		},
	}
}

// Where there are managed databases, they and NodeBalancers are monitored.
func monitored(r catalog.Region) []string {
	if r.Has(catalog.CapDatabases) {
		return []string{catalog.CapDatabases, "NodeBalancers"}
	}
	return []string{}
}

func (r Request) listRegionsVPCAvailability() (page[api.RegionVPCAvailability], error) {
	return list(r, r.Seen.Catalog().Regions, vpcAvailability)
}

func (r Request) getRegionVPCAvailability(regionID string) (api.RegionVPCAvailability, error) {
	found, ok := r.Seen.Catalog().Region(regionID)
	if !ok {
		return api.RegionVPCAvailability{}, notFound()
	}
	return vpcAvailability(found), nil
}

// Recorded lists named no lengths; a /52 can be asked for where there is IPv6.
func vpcAvailability(r catalog.Region) api.RegionVPCAvailability {
	out := api.RegionVPCAvailability{Region: r.ID, Available: r.Has(catalog.CapVPCs), AvailableIPv6PrefixLengths: []int{}}
	if r.Has(catalog.CapVPCsIPv6) {
		out.AvailableIPv6PrefixLengths = []int{52}
	}
	return out
}

func availability(a catalog.Availability) api.RegionAvailability {
	return api.RegionAvailability{Region: a.Region, Plan: a.Plan, Available: a.Available}
}
