package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// Tiers of LKE.
const (
	Standard   = string(api.LKETierStandard)
	Enterprise = string(api.LKETierEnterprise)
)

// Capability strings of regions that decide what this simulator allows.
const (
	CapKubernetes           = "Kubernetes"
	CapKubernetesEnterprise = "Kubernetes Enterprise"
	CapMetadata             = "Metadata"
	CapPlacementGroup       = "Placement Group"
	CapNodeBalancers        = "NodeBalancers"
	CapBlockStorage         = "Block Storage"
	CapVPCs                 = "VPCs"
	CapVPCsIPv6             = "VPC IPv6 Stack"
)

// Catalog is everything that can be bought.
type Catalog struct {
	Date          string              `json:"date"`    // of the lists of plans and regions
	Prices        string              `json:"prices"`  // date of the prices
	Missing       map[string][]string `json:"missing"` // plan -> fields without a source
	Types         []api.LinodeType    `json:"types"`
	NotInLKE      []string            `json:"not_in_lke"` // plans that LKE takes on neither tier
	Offered       map[string][]string `json:"offered"`    // restricted plan -> regions that have it
	Regions       []api.Region        `json:"regions"`
	Images        []api.Image         `json:"images"` // public ones; size is the smallest disk
	ControlPlanes []api.LKEType       `json:"control_planes"`
	Versions      map[string][]string `json:"versions"` // of Kubernetes, by tier, newest first
}

//go:embed facts.json
var facts []byte

// New returns the catalog.
var New = sync.OnceValue(func() *Catalog {
	var c Catalog
	if err := json.Unmarshal(facts, &c); err != nil { // facts.json is a part of the program
		panic(fmt.Errorf("facts.json: %w", err))
	}
	return &c
})

// Type finds a plan by ID.
func (c *Catalog) Type(id string) (api.LinodeType, bool) {
	return find(c.Types, func(t api.LinodeType) bool { return t.ID == id })
}

// Region finds a region by ID.
func (c *Catalog) Region(id string) (api.Region, bool) {
	return find(c.Regions, func(r api.Region) bool { return r.ID == id })
}

// Image finds a public image by ID.
func (c *Catalog) Image(id string) (api.Image, bool) {
	return find(c.Images, func(i api.Image) bool { return i.ID == id })
}

func find[T any](all []T, is func(T) bool) (found T, ok bool) {
	if at := slices.IndexFunc(all, is); at >= 0 {
		return all[at], true
	}
	return found, false
}

// Has reports whether the region lists the capability.
func Has(r api.Region, capability string) bool { return slices.Contains(r.Capabilities, capability) }

// HourlyIn is a plan's price per hour in a region.
func HourlyIn(t api.LinodeType, region string) float64 {
	for _, p := range t.RegionPrices {
		if p.ID == region {
			return p.Hourly
		}
	}
	return t.Price.Hourly
}

// MonthlyIn is a plan's price per month in a region.
func MonthlyIn(t api.LinodeType, region string) float64 {
	for _, p := range t.RegionPrices {
		if p.ID == region {
			return p.Monthly
		}
	}
	return t.Price.Monthly
}

// AllowedInLKE reports whether LKE takes the plan for node pools.
func (c *Catalog) AllowedInLKE(plan string) bool { return !slices.Contains(c.NotInLKE, plan) }

// AvailabilityOf returns a row for every restricted plan in the region.
func (c *Catalog) AvailabilityOf(region string) []api.RegionAvailability {
	out := []api.RegionAvailability{}
	for _, t := range c.Types {
		if _, restricted := c.Offered[t.ID]; restricted {
			out = append(out, api.RegionAvailability{Region: region, Plan: t.ID, Available: c.Available(t.ID, region)})
		}
	}
	return out
}

// Available reports whether the plan may be deployed in the region. A plan that is not restricted may always be
// deployed, and has no rows in the availability list.
func (c *Catalog) Available(plan, region string) bool {
	regions, restricted := c.Offered[plan]
	return !restricted || slices.Contains(regions, region)
}
