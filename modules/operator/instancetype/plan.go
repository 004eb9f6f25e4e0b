package instancetype

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/selection"
)

// A Plan is what the Linode API returns of one type.
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
	MonthlyUSD         float64            // what a month costs at most
	RegionMonthlyUSD   map[string]float64 // in these regions
}

// Price is the plan's price in a region, USD per hour. Jakarta and Sao Paulo, for two, are dearer than
// the rest, and not by the same factor for every plan.
func (p Plan) Price(region string) float64 {
	if price, ok := p.RegionHourlyUSD[region]; ok {
		return price
	}
	return p.HourlyUSD
}

// Monthly is what a month of the plan costs at most in a region, in USD.
func (p Plan) Monthly(region string) float64 {
	if price, ok := p.RegionMonthlyUSD[region]; ok {
		return price
	}
	return p.MonthlyUSD
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

// Excluded returns why the settings keep the plan from being bought; empty if they do not. A plan with accelerators is of that class too.
func (p Plan) Excluded(by selection.Selection) string {
	if p.AcceleratedDevices > 0 {
		return by.Excludes(p.ID, p.Class, v1alpha1.InstanceClassAccelerated)
	}
	return by.Excludes(p.ID, p.Class)
}

// unusable returns why nothing can be planned with the API's answer; empty if it can.
func (p Plan) unusable() string {
	switch {
	case p.VCPUs <= 0 || p.MemoryMB <= 0 || p.DiskMB <= 0:
		return "incomplete"
	case p.ID == "" || !labelValue(p.ID) || !labelValue(p.Class):
		return "its name or class cannot be the value of a label"
	}
	return ""
}

func labelValue(text string) bool { return len(validation.IsValidLabelValue(text)) == 0 }
