package catalog

import "slices"

// Tiers of LKE.
const (
	Standard   = "standard"
	Enterprise = "enterprise"
)

// Catalog is everything that can be bought.
type Catalog struct {
	Types         []Type
	Regions       []Region
	Availability  []Availability
	Images        []Image // public ones
	ControlPlanes []ControlPlane
	versions      map[string][]string
}

// New builds the catalogue.
func New() *Catalog {
	types, regions := buildTypes(), buildRegions()
	return &Catalog{
		Types:         types,
		Regions:       regions,
		Availability:  buildAvailability(types, regions),
		Images:        images,
		ControlPlanes: controlPlanes,
		// Standard versions are major.minor; Enterprise ones name the patch
		// and the LKE build. Newest first, as observed.
		versions: map[string][]string{
			Standard:   {"1.35", "1.34", "1.33", "1.32", "1.31"},
			Enterprise: {"v1.33.6+lke7", "v1.32.9+lke5", "v1.31.8+lke3", "v1.31.8+lke1", "v1.31.1+lke4"},
		},
	}
}

// Type finds a plan by id.
func (c *Catalog) Type(id string) (Type, bool) {
	i := slices.IndexFunc(c.Types, func(t Type) bool { return t.ID == id })
	if i < 0 {
		return Type{}, false
	}
	return c.Types[i], true
}

// HourlyIn is the plan's price per hour in a region.
func (t Type) HourlyIn(region string) float64 {
	for _, p := range t.RegionPrices {
		if p.Region == region {
			return p.Hourly
		}
	}
	return t.Price.Hourly
}

// Region finds a region by id.
func (c *Catalog) Region(id string) (Region, bool) {
	i := slices.IndexFunc(c.Regions, func(r Region) bool { return r.ID == id })
	if i < 0 {
		return Region{}, false
	}
	return c.Regions[i], true
}

// AvailabilityOf gives the rows of one region.
func (c *Catalog) AvailabilityOf(region string) []Availability {
	var out []Availability
	for _, a := range c.Availability {
		if a.Region == region {
			out = append(out, a)
		}
	}
	return out
}

// Available reports whether the plan may be deployed in the region as far as
// the availability list says: an unlisted plan may.
func (c *Catalog) Available(plan, region string) bool {
	for _, a := range c.Availability {
		if a.Region == region && a.Plan == plan {
			return a.Available
		}
	}
	return true
}

// Versions lists the Kubernetes versions of a tier, newest first; nil for an
// unknown tier.
func (c *Catalog) Versions(tier string) []string { return slices.Clone(c.versions[tier]) }

// HasVersion reports whether the tier offers the version.
func (c *Catalog) HasVersion(tier, version string) bool {
	return slices.Contains(c.versions[tier], version)
}
