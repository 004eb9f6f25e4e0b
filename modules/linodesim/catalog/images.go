package catalog

import (
	"slices"
	"time"
)

// Image is a public image. Sizes are the smallest disk it fits on.
type Image struct {
	ID, Label, Vendor string
	SizeMB            int
	Deprecated        bool
	CloudInit         bool
	Created           time.Time
	EndOfLife         time.Time // zero = none announced
}

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 4, 0, 0, 0, time.UTC)
}

// A few of the images that were listed in 2026, with IDs as recorded; dates
// are those of the distributions.
var images = []Image{
	{ID: "linode/almalinux9", Label: "AlmaLinux 9", Vendor: "AlmaLinux", SizeMB: 2500, CloudInit: true, Created: day(2022, 5, 26), EndOfLife: day(2032, 5, 31)},
	{ID: "linode/alpine3.22", Label: "Alpine 3.22", Vendor: "Alpine", SizeMB: 500, CloudInit: true, Created: day(2025, 5, 30), EndOfLife: day(2027, 5, 1)},
	{ID: "linode/arch", Label: "Arch Linux", Vendor: "Arch", SizeMB: 2500, CloudInit: true, Created: day(2016, 6, 13)},
	{ID: "linode/debian11", Label: "Debian 11", Vendor: "Debian", SizeMB: 1500, Deprecated: true, CloudInit: true, Created: day(2021, 8, 14), EndOfLife: day(2026, 8, 31)},
	{ID: "linode/debian12", Label: "Debian 12", Vendor: "Debian", SizeMB: 1800, CloudInit: true, Created: day(2023, 6, 15), EndOfLife: day(2028, 6, 30)},
	{ID: "linode/debian13", Label: "Debian 13", Vendor: "Debian", SizeMB: 1800, CloudInit: true, Created: day(2025, 8, 9), EndOfLife: day(2030, 6, 30)},
	{ID: "linode/rocky9", Label: "Rocky Linux 9", Vendor: "Rocky", SizeMB: 2500, CloudInit: true, Created: day(2022, 7, 14), EndOfLife: day(2032, 5, 31)},
	// One without cloud-init, so that refusing it can be tried; its size is assumed.
	{ID: "linode/slackware15.0", Label: "Slackware 15.0", Vendor: "Slackware", SizeMB: 4000, Created: day(2022, 2, 2)},
	{ID: "linode/ubuntu22.04", Label: "Ubuntu 22.04 LTS", Vendor: "Ubuntu", SizeMB: 3500, CloudInit: true, Created: day(2022, 4, 21), EndOfLife: day(2027, 4, 1)},
	{ID: "linode/ubuntu24.04", Label: "Ubuntu 24.04 LTS", Vendor: "Ubuntu", SizeMB: 3500, CloudInit: true, Created: day(2024, 4, 25), EndOfLife: day(2029, 4, 25)},
}

// ControlPlane is a price of LKE's control plane.
type ControlPlane struct {
	ID, Label    string
	Price        Price
	RegionPrices []RegionPrice
}

// Prices as recorded in 2025; lke-e from the public documentation.
var controlPlanes = []ControlPlane{
	{ID: "lke-sa", Label: "LKE Standard Availability"},
	{ID: "lke-ha", Label: "LKE High Availability", Price: Price{Hourly: 0.09, Monthly: 60}, RegionPrices: []RegionPrice{
		{"id-cgk", Price{Hourly: 0.108, Monthly: 72}}, {"br-gru", Price{Hourly: 0.126, Monthly: 84}},
	}},
	{ID: "lke-e", Label: "LKE Enterprise", Price: Price{Hourly: 0.45, Monthly: 300}},
}

// Image finds a public image by id.
func (c *Catalog) Image(id string) (Image, bool) {
	i := slices.IndexFunc(c.Images, func(im Image) bool { return im.ID == id })
	if i < 0 {
		return Image{}, false
	}
	return c.Images[i], true
}
