package catalog

import "slices"

// Capability strings of regions that decide what this simulator allows.
const (
	CapKubernetes           = "Kubernetes"
	CapKubernetesEnterprise = "Kubernetes Enterprise"
	CapGPU                  = "GPU Linodes"
	CapPremium              = "Premium Plans"
	CapMetadata             = "Metadata"
	CapPlacementGroup       = "Placement Group"
	CapVPCs                 = "VPCs"
	CapVPCsIPv6             = "VPC IPv6 Stack"
	CapDatabases            = "Managed Databases"
	CapLADiskEncryption     = "LA Disk Encryption"
)

// Region is one region.
type Region struct {
	ID, Label, Country string
	Capabilities       []string
	Status             string // ok or outage
	SiteType           string // core or distributed
	ResolversV4        string // comma separated, as the API gives them
	ResolversV6        string
	MaxLinodesPerPG    int
	MaxLinodesPerFlex  int
}

// Has reports whether the region lists the capability.
func (r Region) Has(capability string) bool { return slices.Contains(r.Capabilities, capability) }

// Availability is one row about a plan of restricted availability. A plan
// without rows is not thereby unavailable.
type Availability struct {
	Region, Plan string
	Available    bool
}

var everywhere = []string{
	"Linodes", "Disk Encryption", "Backups", "NodeBalancers", "Block Storage", CapKubernetes,
	"Cloud Firewall", "Vlans", CapMetadata, CapPlacementGroup, "StackScripts", "Linode Interfaces", "Maintenance Policy",
}

// Older regions have no VPCs and no premium plans; newer ones have both.
var newer = append(slices.Clone(everywhere), "Block Storage Encryption", CapVPCs, "VPC Dual Stack", "VPC IPv6 Stack", CapPremium, CapDatabases)

func with(base []string, more ...string) []string { return append(slices.Clone(base), more...) }

func buildRegions() []Region {
	ent := func(more ...string) []string { return with(newer, append(more, CapKubernetesEnterprise)...) }
	list := []Region{
		{ID: "us-ord", Label: "Chicago, IL", Country: "us", Capabilities: ent(CapGPU)},
		{ID: "us-lax", Label: "Los Angeles, CA", Country: "us", Capabilities: ent()},
		{ID: "us-sea", Label: "Seattle, WA", Country: "us", Capabilities: ent(CapGPU)},
		{ID: "us-iad", Label: "Washington, DC", Country: "us", Capabilities: ent()},
		{ID: "us-mia", Label: "Miami, FL", Country: "us", Capabilities: ent()},
		{ID: "nl-ams", Label: "Amsterdam, NL", Country: "nl", Capabilities: ent()},
		{ID: "fr-par", Label: "Paris, FR", Country: "fr", Capabilities: ent(CapGPU)},
		{ID: "es-mad", Label: "Madrid, ES", Country: "es", Capabilities: ent()},
		{ID: "au-mel", Label: "Melbourne, AU", Country: "au", Capabilities: ent()},
		{ID: "id-cgk", Label: "Jakarta, ID", Country: "id", Capabilities: ent()},
		{ID: "br-gru", Label: "Sao Paulo, BR", Country: "br", Capabilities: ent()},
		{ID: "de-fra-2", Label: "Frankfurt 2, DE", Country: "de", Capabilities: with(newer, CapGPU)},
		{ID: "us-east", Label: "Newark, NJ", Country: "us", Capabilities: with(everywhere, CapGPU)},
		{ID: "us-southeast", Label: "Atlanta, GA", Country: "us", Capabilities: with(everywhere, CapGPU)},
		{ID: "us-central", Label: "Dallas, TX", Country: "us", Capabilities: everywhere},
		{ID: "eu-central", Label: "Frankfurt, DE", Country: "de", Capabilities: with(everywhere, CapGPU)},
		{ID: "ap-west", Label: "Mumbai, IN", Country: "in", Capabilities: with(everywhere, CapGPU)},
		// A region without Kubernetes, so that refusing one can be tried.
		{ID: "in-bom-2", Label: "Mumbai 2, IN", Country: "in", Capabilities: without(with(newer, CapGPU), CapKubernetes)},
	}
	for i := range list {
		list[i].Status = "ok"
		list[i].SiteType = "core"
		list[i].ResolversV4 = "192.0.2.53,198.51.100.53,203.0.113.53"
		list[i].ResolversV6 = "2001:db8::53,2001:db8:1::53,2001:db8:2::53"
		list[i].MaxLinodesPerPG, list[i].MaxLinodesPerFlex = 5, 5
		// 31 of 34 recorded regions had it; one here has not, so that this can be tried.
		if list[i].ID != "us-central" {
			list[i].Capabilities = with(list[i].Capabilities, CapLADiskEncryption)
		}
	}
	return list
}

func without(list []string, drop string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == drop })
}

// Rows exist for every restricted plan in every region. RTX 6000 cards stand
// in the older GPU regions, RTX 4000 Ada cards in the newer ones.
func buildAvailability(types []Type, regions []Region) []Availability {
	var out []Availability
	for _, r := range regions {
		for _, t := range types {
			if t.Restricted {
				out = append(out, Availability{Region: r.ID, Plan: t.ID, Available: offered(t, r)})
			}
		}
	}
	return out
}

func offered(t Type, r Region) bool {
	switch {
	case t.Class == ClassPremium:
		return r.Has(CapPremium) && t.ID != "g7-premium-64"
	case isQuadro(t.ID):
		return r.Has(CapGPU) && !r.Has(CapPremium)
	default:
		return r.Has(CapGPU) && r.Has(CapPremium)
	}
}
