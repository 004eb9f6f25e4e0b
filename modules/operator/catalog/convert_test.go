package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Figures of the Linode API: memory and disk in MB, price in USD per hour, dearer in Jakarta and Sao Paulo.
var (
	standard2 = catalog.Plan{ID: "g6-standard-2", Class: "standard", VCPUs: 2, Memory: 4096, Disk: 81920,
		Transfer: 4000, NetworkOut: 4000, Price: api.Price{Hourly: 0.036},
		RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.043}, {ID: "br-gru", Hourly: 0.05}}}
	standard1 = catalog.Plan{ID: "g6-standard-1", Class: "standard", VCPUs: 1, Memory: 2048, Disk: 51200,
		Transfer: 2000, NetworkOut: 2000, Price: api.Price{Hourly: 0.018},
		RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.022}, {ID: "br-gru", Hourly: 0.025}}}
	gpu2 = catalog.Plan{ID: "g1-gpu-rtx4000a-2", Class: "gpu", VCPUs: 16, GPUs: 2, Memory: 65536, Disk: 655360,
		Transfer: 0, NetworkOut: 10000, Price: api.Price{Hourly: 1.04}}
	// In Jakarta the order of these two is the other way round than elsewhere.
	cheapAbroad = catalog.Plan{ID: "g6-dedicated-2", Class: "dedicated", VCPUs: 2, Memory: 4096, Disk: 81920,
		Price: api.Price{Hourly: 0.04}, RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.042}}}
)

func hourly(p catalog.Plan, region string) float64 { return p.PriceIn(region).Hourly }

func convert(p catalog.Plan, region string, kubelet *v1alpha1.KubeletConfiguration) map[corev1.ResourceName]int64 {
	it := catalog.Convert(p, true, catalog.Settings{Region: region, Tier: status.TierStandard, Kubelet: kubelet})
	result := map[corev1.ResourceName]int64{}
	for name, quantity := range it.Capacity {
		result[name] = quantity.Value()
	}
	return result
}

// region_prices replace the price, where a plan has them for the region.
func TestPriceIsTheRegions(t *testing.T) {
	tests := []struct {
		name, region string
		plan         catalog.Plan
		want         float64
	}{
		{"Chicago", "us-ord", standard2, 0.036},
		{"Jakarta", "id-cgk", standard2, 0.043},
		{"Sao Paulo", "br-gru", standard2, 0.05},
		{"Jakarta, another plan", "id-cgk", standard1, 0.022},
		{"a plan without regional prices", "br-gru", gpu2, 1.04},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := catalog.Convert(tt.plan, true, catalog.Settings{Region: tt.region})
			if got := it.Offerings[0].Price; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("the cheapest changes with the region", func(t *testing.T) {
		if !(hourly(cheapAbroad, "us-ord") > hourly(standard2, "us-ord") && hourly(cheapAbroad, "id-cgk") < hourly(standard2, "id-cgk")) {
			t.Error("the order of prices does not follow the region")
		}
	})
}

// Our own labels are among core's well known ones, and every one of them has a requirement on every type: without it a
// requirement on the GPU's name would select a plan without a GPU.
func TestEveryWellKnownLabelIsARequirement(t *testing.T) {
	for _, label := range []string{
		v1alpha1.LabelInstanceGeneration, v1alpha1.LabelInstanceClass, v1alpha1.LabelInstanceCPU, v1alpha1.LabelInstanceMemory,
		v1alpha1.LabelInstanceDisk, v1alpha1.LabelInstanceGPUName, v1alpha1.LabelInstanceGPUCount,
		v1alpha1.LabelInstanceAcceleratedDevicesCount, v1alpha1.LabelInstanceTransfer, v1alpha1.LabelInstanceNetworkOut,
	} {
		if !karpv1.WellKnownLabels.Has(label) {
			t.Errorf("core does not know %s", label)
		}
	}
	for _, plan := range []catalog.Plan{standard2, gpu2, {ID: "odd", VCPUs: 1, Memory: 1, Disk: 1}} {
		it := catalog.Convert(plan, true, catalog.Settings{Region: "us-ord"})
		for label := range karpv1.WellKnownLabels {
			if label == karpv1.NodePoolLabelKey {
				continue // the NodePool's own
			}
			if !it.Requirements.Has(label) {
				t.Errorf("%s: no requirement for %s", plan.ID, label)
				continue
			}
			if r := it.Requirements.Get(label); r.Operator() != corev1.NodeSelectorOpDoesNotExist &&
				(r.Operator() != corev1.NodeSelectorOpIn || r.Len() != 1) {
				t.Errorf("%s: %s is neither one value nor absent: %s", plan.ID, label, r)
			}
		}
	}
	wantGPU := scheduling.NewRequirements(scheduling.NewRequirement(v1alpha1.LabelInstanceGPUName, corev1.NodeSelectorOpIn, "rtx4000a"))
	for _, tt := range []struct {
		plan catalog.Plan
		want bool
	}{{standard2, false}, {gpu2, true}} {
		it := catalog.Convert(tt.plan, true, catalog.Settings{Region: "us-ord"})
		if got := wantGPU.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels); got != tt.want {
			t.Errorf("%s compatible with gpu-name In [rtx4000a]: %v, want %v", tt.plan.ID, got, tt.want)
		}
	}
}

func TestLabels(t *testing.T) {
	tests := []struct {
		name string
		plan catalog.Plan
		want map[string]string // "" = does not exist
	}{
		{"a shared plan", standard2, map[string]string{
			corev1.LabelInstanceTypeStable: "g6-standard-2", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelTopologyRegion: "us-ord", corev1.LabelTopologyZone: "us-ord", karpv1.CapacityTypeLabelKey: "on-demand",
			v1alpha1.LabelInstanceGeneration: "6", v1alpha1.LabelInstanceClass: "standard", v1alpha1.LabelInstanceCPU: "2",
			v1alpha1.LabelInstanceMemory: "4096", v1alpha1.LabelInstanceDisk: "81920", v1alpha1.LabelInstanceTransfer: "4000",
			v1alpha1.LabelInstanceNetworkOut: "4000", v1alpha1.LabelInstanceGPUName: "", v1alpha1.LabelInstanceGPUCount: "",
			v1alpha1.LabelInstanceAcceleratedDevicesCount: "", corev1.LabelWindowsBuild: "",
		}},
		{"a GPU plan", gpu2, map[string]string{
			v1alpha1.LabelInstanceGPUName: "rtx4000a", v1alpha1.LabelInstanceGPUCount: "2", v1alpha1.LabelInstanceClass: "gpu",
			v1alpha1.LabelInstanceGeneration: "1", v1alpha1.LabelInstanceTransfer: "",
		}},
		{"a GPU plan with another form of name", catalog.Plan{ID: "g3-gpu-rtxpro6000-blackwell-1", GPUs: 1}, map[string]string{
			v1alpha1.LabelInstanceGPUName: "rtxpro6000-blackwell",
		}},
		{"a GPU plan with a size in its name", catalog.Plan{ID: "g2-gpu-rtx4000a2-hs", GPUs: 2}, map[string]string{
			v1alpha1.LabelInstanceGPUName: "rtx4000a",
		}},
		{"a GPU plan of the oldest GPUs", catalog.Plan{ID: "g1-gpu-rtx6000-4", GPUs: 4}, map[string]string{
			v1alpha1.LabelInstanceGPUName: "rtx6000",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := catalog.Convert(tt.plan, true, catalog.Settings{Region: "us-ord"})
			for label, want := range tt.want {
				requirement := it.Requirements.Get(label)
				if want == "" {
					if requirement.Operator() != corev1.NodeSelectorOpDoesNotExist {
						t.Errorf("%s: got %s, want DoesNotExist", label, requirement)
					}
				} else if !requirement.Has(want) || requirement.Len() != 1 {
					t.Errorf("%s: got %s, want %s", label, requirement, want)
				}
			}
		})
	}
}

// Every offering has a capacity type and a zone.
func TestOfferingIsOnDemandInTheRegionAsZone(t *testing.T) {
	it := catalog.Convert(standard2, true, catalog.Settings{Region: "us-ord"})
	if len(it.Offerings) != 1 {
		t.Fatalf("got %d offerings, want 1", len(it.Offerings))
	}
	tests := []struct {
		name       string
		key, value string
		want       bool
	}{
		{"on-demand", karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeOnDemand, true},
		{"spot", karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeSpot, false},
		{"reserved", karpv1.CapacityTypeLabelKey, karpv1.CapacityTypeReserved, false},
		{"zone", corev1.LabelTopologyZone, "us-ord", true},
		{"another zone", corev1.LabelTopologyZone, "us-east", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wanted := scheduling.NewRequirements(scheduling.NewRequirement(tt.key, corev1.NodeSelectorOpIn, tt.value))
			if got := it.Offerings.HasCompatible(wanted); got != tt.want {
				t.Errorf("offering: got %v, want %v", got, tt.want)
			}
			if got := wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels); got != tt.want {
				t.Errorf("type: got %v, want %v", got, tt.want)
			}
		})
	}
	if zone := it.Offerings[0].Zone(); zone != "us-ord" {
		t.Errorf("zone %q, want us-ord", zone)
	}
}

// GPUs and ephemeral storage are in the capacity.
func TestCapacityHasEveryResource(t *testing.T) {
	got := convert(gpu2, "us-ord", nil)
	for name, want := range map[corev1.ResourceName]int64{corev1.ResourceCPU: 16, corev1.ResourcePods: 110, "nvidia.com/gpu": 2} {
		if got[name] != want {
			t.Errorf("%s: got %d, want %d", name, got[name], want)
		}
	}
	if got[corev1.ResourceEphemeralStorage] == 0 {
		t.Error("no ephemeral storage")
	}
	if _, ok := convert(standard2, "us-ord", nil)["nvidia.com/gpu"]; ok {
		t.Error("a plan without a GPU has one")
	}
}

// An estimate above what a node reports would promise too much. LKE nodes report, in KiB, g6-standard-2: 4022024 of memory,
// 3919624 allocatable, 82470344 of disk; g6-standard-1: 2027296, 1924896, 51524172.
func TestEstimatesAreBelowAndNearWhatNodesReport(t *testing.T) {
	tests := []struct {
		plan                      catalog.Plan
		memory, allocatable, disk int64
	}{
		{standard2, 4022024, 3919624, 82470344},
		{standard1, 2027296, 1924896, 51524172},
	}
	for _, tt := range tests {
		t.Run(tt.plan.ID, func(t *testing.T) {
			it := catalog.Convert(tt.plan, true, catalog.Settings{Region: "us-ord", Tier: status.TierStandard})
			allocatable := it.Allocatable()
			for _, figure := range []struct {
				name     string
				got      int64
				reported int64
				within   float64
			}{
				{"memory", it.Capacity.Memory().Value(), tt.memory * 1024, 0.03},
				{"allocatable memory", allocatable.Memory().Value(), tt.allocatable * 1024, 0.03},
				{"disk", it.Capacity.StorageEphemeral().Value(), tt.disk * 1024, 0.01},
			} {
				if figure.got > figure.reported || float64(figure.got) < float64(figure.reported)*(1-figure.within) {
					t.Errorf("%s: got %d, a node reports %d", figure.name, figure.got, figure.reported)
				}
			}
			if reserved := it.Capacity.Memory().Value() - allocatable.Memory().Value(); reserved != 100<<20 {
				t.Errorf("got %d bytes of memory reserved, want 100 MiB", reserved)
			}
		})
	}
}

func TestKubeletSettingsChangeCapacity(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	tests := []struct {
		name    string
		kubelet v1alpha1.KubeletConfiguration
		pods    int64
		reserve int64 // MiB of memory that is not allocatable
	}{
		{"none", v1alpha1.KubeletConfiguration{}, 110, 100},
		{"maxPods", v1alpha1.KubeletConfiguration{MaxPods: number(30)}, 30, 100},
		{"podsPerCore below maxPods", v1alpha1.KubeletConfiguration{MaxPods: number(30), PodsPerCore: number(10)}, 20, 100},
		{"podsPerCore above the default", v1alpha1.KubeletConfiguration{PodsPerCore: number(100)}, 110, 100},
		{"reserved", v1alpha1.KubeletConfiguration{
			KubeReserved:   map[string]v1alpha1.ReservedQuantity{"memory": "200Mi"},
			SystemReserved: map[string]v1alpha1.ReservedQuantity{"memory": "300Mi"}}, 110, 600},
		{"eviction as a quantity", v1alpha1.KubeletConfiguration{
			EvictionHard: map[string]v1alpha1.EvictionThreshold{"memory.available": "250Mi"}}, 110, 250},
		{"eviction as a percentage", v1alpha1.KubeletConfiguration{
			EvictionHard: map[string]v1alpha1.EvictionThreshold{"memory.available": "50%"}}, 110, 4022024 / 1024 / 2},
		{"eviction off", v1alpha1.KubeletConfiguration{EvictionHard: map[string]v1alpha1.EvictionThreshold{"memory.available": "100%"}}, 110, 0},
		{"soft eviction is not reserved",
			v1alpha1.KubeletConfiguration{EvictionSoft: map[string]v1alpha1.EvictionThreshold{"memory.available": "1Gi"}}, 110, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := catalog.Convert(standard2, true, catalog.Settings{Region: "us-ord", Kubelet: &tt.kubelet})
			if got := it.Capacity.Pods().Value(); got != tt.pods {
				t.Errorf("got %d pods, want %d", got, tt.pods)
			}
			allocatable := it.Allocatable()
			if got := (it.Capacity.Memory().Value() - allocatable.Memory().Value()) >> 20; got != tt.reserve {
				t.Errorf("got %d MiB reserved, want %d", got, tt.reserve)
			}
		})
	}
}
