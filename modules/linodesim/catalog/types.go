package catalog

import "math"

// Class of a plan, as in the API's `class`.
const (
	ClassNanode    = "nanode"
	ClassStandard  = "standard"
	ClassDedicated = "dedicated"
	ClassHighMem   = "highmem"
	ClassPremium   = "premium"
	ClassGPU       = "gpu"
)

// Price in US dollars.
type Price struct {
	Hourly, Monthly float64
}

// RegionPrice replaces a plan's price in one region.
type RegionPrice struct {
	Region string
	Price
}

// Type is one plan.
type Type struct {
	ID, Label, Class   string
	MemoryMB, DiskMB   int
	VCPUs, GPUs        int
	TransferGB         int
	NetworkOutMbits    int
	AcceleratedDevices int
	Price              Price
	RegionPrices       []RegionPrice
	Backups            Price
	BackupsByRegion    []RegionPrice
	Restricted         bool // has rows in the availability list
	AllowedInLKE       bool
}

type row struct {
	id, label          string
	memory, disk, vcpu int
	gpus, transfer     int
	network            int
	hourly, monthly    float64
	jakarta, saoPaulo  float64
	backup             float64
}

// Sizes and prices as listed by GET /linode/types in 2024.
var plans = map[string][]row{
	ClassNanode: {
		{"g6-nanode-1", "Nanode 1GB", 1024, 25600, 1, 0, 1000, 1000, 0.0075, 5, 0.009, 0.0105, 0.003},
	},
	ClassStandard: {
		{"g6-standard-1", "Linode 2GB", 2048, 51200, 1, 0, 2000, 2000, 0.018, 12, 0.022, 0.025, 0.004},
		{"g6-standard-2", "Linode 4GB", 4096, 81920, 2, 0, 4000, 4000, 0.036, 24, 0.043, 0.05, 0.008},
		{"g6-standard-4", "Linode 8GB", 8192, 163840, 4, 0, 5000, 5000, 0.072, 48, 0.086, 0.101, 0.015},
		{"g6-standard-6", "Linode 16GB", 16384, 327680, 6, 0, 8000, 6000, 0.144, 96, 0.173, 0.202, 0.03},
		{"g6-standard-8", "Linode 32GB", 32768, 655360, 8, 0, 16000, 7000, 0.288, 192, 0.346, 0.403, 0.06},
		{"g6-standard-16", "Linode 64GB", 65536, 1310720, 16, 0, 20000, 9000, 0.576, 384, 0.691, 0.806, 0.12},
		{"g6-standard-20", "Linode 96GB", 98304, 1966080, 20, 0, 20000, 10000, 0.864, 576, 1.037, 1.21, 0.18},
		{"g6-standard-24", "Linode 128GB", 131072, 2621440, 24, 0, 20000, 11000, 1.152, 768, 1.382, 1.613, 0.24},
		{"g6-standard-32", "Linode 192GB", 196608, 3932160, 32, 0, 20000, 12000, 1.728, 1152, 2.074, 2.419, 0.36},
	},
	ClassHighMem: {
		{"g7-highmem-1", "Linode 24GB", 24576, 20480, 2, 0, 5000, 5000, 0.09, 60, 0.108, 0.126, 0.0075},
		{"g7-highmem-2", "Linode 48GB", 49152, 40960, 2, 0, 6000, 6000, 0.18, 120, 0.216, 0.252, 0.015},
		{"g7-highmem-4", "Linode 90GB", 92160, 92160, 4, 0, 7000, 7000, 0.36, 240, 0.432, 0.504, 0.03},
		{"g7-highmem-8", "Linode 150GB", 153600, 204800, 8, 0, 8000, 8000, 0.72, 480, 0.864, 1.008, 0.06},
		{"g7-highmem-16", "Linode 300GB", 307200, 348160, 16, 0, 9000, 9000, 1.44, 960, 1.728, 2.016, 0.12},
	},
	ClassDedicated: {
		{"g6-dedicated-2", "Dedicated 4GB", 4096, 81920, 2, 0, 4000, 4000, 0.054, 36, 0.065, 0.076, 0.008},
		{"g6-dedicated-4", "Dedicated 8GB", 8192, 163840, 4, 0, 5000, 5000, 0.108, 72, 0.13, 0.151, 0.015},
		{"g6-dedicated-8", "Dedicated 16GB", 16384, 327680, 8, 0, 6000, 6000, 0.216, 144, 0.259, 0.302, 0.03},
		{"g6-dedicated-16", "Dedicated 32GB", 32768, 655360, 16, 0, 7000, 7000, 0.432, 288, 0.518, 0.605, 0.06},
		{"g6-dedicated-32", "Dedicated 64GB", 65536, 1310720, 32, 0, 8000, 8000, 0.864, 576, 1.037, 1.21, 0.12},
		{"g6-dedicated-48", "Dedicated 96GB", 98304, 1966080, 48, 0, 9000, 9000, 1.296, 864, 1.555, 1.814, 0.18},
		{"g6-dedicated-50", "Dedicated 128GB", 131072, 2560000, 50, 0, 10000, 10000, 1.728, 1152, 2.074, 2.419, 0.24},
		{"g6-dedicated-56", "Dedicated 256GB", 262144, 5120000, 56, 0, 11000, 11000, 3.456, 2304, 4.147, 4.838, 0.3},
		{"g6-dedicated-64", "Dedicated 512GB", 524288, 7372800, 64, 0, 12000, 12000, 6.912, 4608, 8.294, 9.677, 0.36},
	},
	ClassPremium: {
		{"g7-premium-2", "Premium 4GB", 4096, 81920, 2, 0, 4000, 4000, 0.0645, 43, 0.078, 0.091, 0.008},
		{"g7-premium-4", "Premium 8GB", 8192, 163840, 4, 0, 5000, 5000, 0.129, 86, 0.156, 0.181, 0.015},
		{"g7-premium-8", "Premium 16GB", 16384, 327680, 8, 0, 6000, 6000, 0.2595, 173, 0.311, 0.363, 0.03},
		{"g7-premium-16", "Premium 32GB", 32768, 655360, 16, 0, 7000, 7000, 0.519, 346, 0.622, 0.726, 0.06},
		{"g7-premium-32", "Premium 64GB", 65536, 1310720, 32, 0, 8000, 8000, 1.0365, 691, 1.244, 1.452, 0.12},
		{"g7-premium-48", "Premium 96GB", 98304, 1966080, 48, 0, 9000, 9000, 1.5555, 1037, 1.866, 2.177, 0.18},
		{"g7-premium-50", "Premium 128GB", 131072, 2560000, 50, 0, 10000, 10000, 2.073, 1382, 2.488, 2.903, 0.24},
		{"g7-premium-56", "Premium 256GB", 262144, 5120000, 56, 0, 11000, 11000, 4.1475, 2765, 4.977, 5.806, 0.3},
		{"g7-premium-64", "Premium 512GB", 524288, 7372800, 64, 0, 12000, 12000, 8.295, 5530, 9.953, 11.612, 0.36},
	},
	ClassGPU: {
		{"g1-gpu-rtx6000-1", "Dedicated 32GB + RTX6000 GPU x1", 32768, 655360, 8, 1, 16000, 10000, 1.5, 1000, 0, 0, 0.06},
		{"g1-gpu-rtx6000-2", "Dedicated 64GB + RTX6000 GPU x2", 65536, 1310720, 16, 2, 20000, 10000, 3, 2000, 0, 0, 0.12},
		{"g1-gpu-rtx6000-3", "Dedicated 96GB + RTX6000 GPU x3", 98304, 1966080, 20, 3, 20000, 10000, 4.5, 3000, 0, 0, 0.18},
		{"g1-gpu-rtx6000-4", "Dedicated 128GB + RTX6000 GPU x4", 131072, 2621440, 24, 4, 20000, 10000, 6, 4000, 0, 0, 0.24},
		{"g1-gpu-rtx4000a-1", "RTX4000 Ada x1", 16384, 524288, 4, 1, 5000, 10000, 0.52, 350, 0, 0, 0.03},
		{"g1-gpu-rtx4000a-2", "RTX4000 Ada x2", 32768, 1048576, 8, 2, 8000, 10000, 1.05, 700, 0, 0, 0.06},
		{"g1-gpu-rtx4000a-4", "RTX4000 Ada x4", 65536, 2097152, 16, 4, 16000, 10000, 2.96, 1976, 0, 0, 0.12},
	},
}

// Order of classes in the list.
var classes = []string{ClassNanode, ClassStandard, ClassHighMem, ClassDedicated, ClassGPU, ClassPremium}

func buildTypes() []Type {
	var out []Type
	for _, class := range classes {
		for _, r := range plans[class] {
			out = append(out, r.build(class))
		}
	}
	return out
}

func (r row) build(class string) Type {
	t := Type{
		ID: r.id, Label: r.label, Class: class,
		MemoryMB: r.memory, DiskMB: r.disk, VCPUs: r.vcpu, GPUs: r.gpus,
		TransferGB: r.transfer, NetworkOutMbits: r.network,
		Price:        Price{r.hourly, r.monthly},
		Backups:      Price{r.backup, backupMonthly(r.backup)},
		Restricted:   class == ClassPremium || class == ClassGPU,
		AllowedInLKE: class != ClassNanode && !isQuadro(r.id),
	}
	if r.jakarta != 0 {
		t.RegionPrices = []RegionPrice{
			{"id-cgk", Price{r.jakarta, money(r.monthly * 1.2)}},
			{"br-gru", Price{r.saoPaulo, money(r.monthly * 1.4)}},
		}
		t.BackupsByRegion = []RegionPrice{
			{"id-cgk", Price{backupHourly(t.Backups.Monthly * 1.2), money(t.Backups.Monthly * 1.2)}},
			{"br-gru", Price{backupHourly(t.Backups.Monthly * 1.4), money(t.Backups.Monthly * 1.4)}},
		}
	}
	return t
}

// Quadro RTX 6000 plans exist but cannot be deployed in LKE of either tier.
func isQuadro(id string) bool {
	return len(id) > 14 && id[:14] == "g1-gpu-rtx6000"
}

// A month of backups costs what 2000/3 hours do, in steps of half a dollar.
func backupMonthly(hourly float64) float64 { return math.Floor(hourly*2000/3*2+1e-6) / 2 }

func backupHourly(monthly float64) float64 { return money(monthly * 3 / 2000) }

func money(v float64) float64 { return math.Round(v*10000) / 10000 }
