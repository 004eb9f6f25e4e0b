package world

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// found returns an entry of the catalog, or a refusal.
func found[T any](one T, ok bool) (T, error) {
	if !ok {
		return one, NotFound()
	}
	return one, nil
}

// ListTypes lists the plans.
func (w Offers) ListTypes() ([]api.LinodeType, error) { return w.catalog.Types, nil }

// GetType finds a plan.
func (w Offers) GetType(typeID string) (api.LinodeType, error) { return found(w.catalog.Type(typeID)) }

// ListRegions lists the regions.
func (w Offers) ListRegions() ([]api.Region, error) { return w.regions(), nil }

// GetRegion finds a region.
func (w Offers) GetRegion(regionID string) (api.Region, error) {
	return found(w.region(regionID))
}

func (w Offers) regions() []api.Region { return each(w.catalog.Regions, w.present) }

func (w Offers) region(id string) (api.Region, bool) {
	r, ok := w.catalog.Region(id)
	return w.present(r), ok
}

// present is a region without the capabilities that were withdrawn.
func (w Offers) present(r api.Region) api.Region {
	for _, c := range w.faults.noCapability {
		if c.Region == r.ID {
			r.Capabilities = slices.DeleteFunc(slices.Clone(r.Capabilities), func(capability string) bool { return capability == c.Capability })
		}
	}
	return r
}

// ListRegionsAvailability lists where restricted plans can be deployed.
func (w Offers) ListRegionsAvailability() ([]api.RegionAvailability, error) {
	return slices.Concat(each(w.catalog.Regions, func(r api.Region) []api.RegionAvailability { return w.catalog.AvailabilityOf(r.ID) })...),
		nil
}

// GetRegionAvailability lists the same for one region, without pages.
func (w Offers) GetRegionAvailability(regionID string) (api.RegionAvailabilityList, error) {
	_, err := w.GetRegion(regionID)
	return w.catalog.AvailabilityOf(regionID), err
}

// ListAccountAvailability lists the features that the account may use in each region: all features of the region.
func (w Offers) ListAccountAvailability() ([]api.AccountAvailability, error) {
	return each(w.regions(), services), nil
}

// GetAccountAvailability is the same of one region.
func (w Offers) GetAccountAvailability(regionID string) (api.AccountAvailability, error) {
	r, err := w.GetRegion(regionID)
	return services(r), err
}

// services describes the features of a region. Their names were recorded.
func services(r api.Region) api.AccountAvailability {
	out := api.AccountAvailability{Region: r.ID, Available: []string{}, Unavailable: []string{}}
	for _, name := range []string{"Linodes", "NodeBalancers", "Block Storage", catalog.CapKubernetes} {
		if catalog.Has(r, name) {
			out.Available = append(out.Available, name)
		} else {
			out.Unavailable = append(out.Unavailable, name)
		}
	}
	return out
}

// ListLKETypes lists the prices of control planes.
func (w Offers) ListLKETypes() ([]api.LKEType, error) { return w.catalog.ControlPlanes, nil }

// ListLKEVersions lists the versions of the Standard tier, newest first.
func (w Offers) ListLKEVersions() ([]api.LKEVersion, error) {
	return each(w.versions(catalog.Standard), func(v string) api.LKEVersion { return api.LKEVersion{ID: v} }), nil
}

// GetLKEVersion finds one.
func (w Offers) GetLKEVersion(version string) (api.LKEVersion, error) {
	return found(api.LKEVersion{ID: version}, slices.Contains(w.versions(catalog.Standard), version))
}

// ListLKETierVersions lists the versions of a tier, newest first.
func (w Offers) ListLKETierVersions(tier string) ([]api.LKETierVersion, error) {
	_, err := lookup(w.catalog.Versions, tier)
	versions := w.versions(tier)
	return each(versions, func(v string) api.LKETierVersion { return api.LKETierVersion{ID: v, Tier: api.LKETier(tier)} }), err
}

// GetLKETierVersion finds one.
func (w Offers) GetLKETierVersion(tier, version string) (api.LKETierVersion, error) {
	ok := slices.Contains(w.versions(tier), version)
	return found(api.LKETierVersion{ID: version, Tier: api.LKETier(tier)}, ok)
}

// checkRegion refuses a region that does not exist, or lacks the wanted capability.
func (w Offers) checkRegion(bad *reasons, id, capability, what string) {
	if r, ok := w.region(id); !ok {
		bad.invalid("region")
	} else if !catalog.Has(r, capability) {
		bad.add("region", "%s not available in region %s", what, id)
	}
}

// versions lists the versions that a tier offers the account, newest first: on Enterprise exact builds, which differ by
// account (FACTS 18.10).
func (w Offers) versions(tier string) []string {
	if offered := w.faults.enterpriseVersions; tier == catalog.Enterprise && offered != nil {
		return offered
	}
	return w.catalog.Versions[tier]
}
