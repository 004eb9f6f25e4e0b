package instancetype

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// A Plan is what the Linode API says about one type.
type Plan struct {
	ID                 string
	Class              string // nanode, standard, dedicated, highmem, premium, gpu, accelerated
	VCPUs              int
	GPUs               int
	AcceleratedDevices int
	MemoryMB           int
	DiskMB             int
	TransferGB         int
	NetworkOutMbit     int
	HourlyUSD          float64
	RegionHourlyUSD    map[string]float64 // regions whose price differs
}

// Price is the plan's price in a region, USD per hour. Jakarta and Sao Paulo, for two, are dearer than
// the rest, and not by the same factor for every plan.
func (p Plan) Price(region string) float64 {
	if price, ok := p.RegionHourlyUSD[region]; ok {
		return price
	}
	return p.HourlyUSD
}

var (
	generationPattern = regexp.MustCompile(`^g(\d+)-`)
	gpuPattern        = regexp.MustCompile(`^g\d+-gpu-(.+?)(?:-\d+)?$`)
)

// Generation is the number in the plan's name: 6 for g6-standard-2. Empty if the name has none.
func (p Plan) Generation() string {
	if m := generationPattern.FindStringSubmatch(p.ID); m != nil {
		return m[1]
	}
	return ""
}

// GPUName is the GPU in the plan's name, without the number of GPUs: rtx4000a for g1-gpu-rtx4000a-2. The
// API has no field for it. Empty for a plan without GPUs.
func (p Plan) GPUName() string {
	if p.GPUs == 0 {
		return ""
	}
	if m := gpuPattern.FindStringSubmatch(p.ID); m != nil {
		return m[1]
	}
	return p.ID
}

// excluded says why LKE gives no nodes of this plan; empty if it does.
//
// Linode's documentation and its console offer neither Nanodes nor the Quadro RTX 6000 for node pools.
// Whether accelerated (VPU) plans work in LKE is documented nowhere: they are left out until one was
// seen to join, since offering a plan that is refused costs every pod that matches it a failed
// launch. GPU plans stay in on both tiers; the documentation speaks of standard clusters only, and a
// refusal by an Enterprise cluster takes the plan out for a while like any other refusal.
func (p Plan) excluded() string {
	switch {
	case p.Class == v1alpha1.InstanceClassNanode:
		return "LKE does not offer Nanodes"
	case strings.HasPrefix(p.ID, "g1-gpu-rtx6000-"):
		return "LKE does not offer the Quadro RTX 6000"
	case p.Class == v1alpha1.InstanceClassAccelerated || p.AcceleratedDevices > 0:
		return "not known to work in LKE"
	case p.VCPUs <= 0 || p.MemoryMB <= 0 || p.DiskMB <= 0:
		return "incomplete"
	case p.ID == "" || !labelValue(p.ID) || !labelValue(p.Class):
		return "its name or class cannot be the value of a label"
	}
	return ""
}

func labelValue(text string) bool { return len(validation.IsValidLabelValue(text)) == 0 }
