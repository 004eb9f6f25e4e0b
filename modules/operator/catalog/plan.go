package catalog

import (
	"math"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

// A Plan is one type of the Linode API.
type Plan api.LinodeType

const hoursOfMonth = 730

// PriceIn returns the plan's price in a region. Some regions are dearer than others, such as Jakarta and Sao Paulo, and the factor
// differs between plans. Plans of the eighth generation have no monthly price: they cost the hourly price for all hours of a month.
func (p Plan) PriceIn(region string) api.Price {
	price := p.Price
	for _, own := range p.RegionPrices {
		if own.ID == region {
			price = api.Price{Hourly: own.Hourly, Monthly: own.Monthly}
		}
	}
	if price.Monthly == 0 {
		price.Monthly = math.Round(price.Hourly*hoursOfMonth*100) / 100
	}
	return price
}

// priced returns the plan. If the API lists no price for the region, the plan gets the price from the settings.
func (p Plan) priced(region string, prices selection.Prices) Plan {
	usd := prices.Of(p.ID)
	if usd <= 0 || p.PriceIn(region).Hourly > 0 {
		return p
	}
	others := slices.DeleteFunc(slices.Clone(p.RegionPrices), func(own api.RegionPrice) bool { return own.ID == region })
	p.RegionPrices = append(others, api.RegionPrice{ID: region, Hourly: usd})
	return p
}

var (
	generationPattern = regexp.MustCompile(`^g(\d+)-`)
	gpuPattern        = regexp.MustCompile(`^g\d+-gpu-(.+?)(?:-\d+|\d-(?:s|m|l|xl|hs))?$`)
)

// Generation returns the number in the plan's name: 6 for g6-standard-2. It returns "" if the name has no number.
func (p Plan) Generation() string {
	if m := generationPattern.FindStringSubmatch(p.ID); m != nil {
		return m[1]
	}
	return ""
}

// GPUName returns the GPU in the plan's name, without the number of GPUs and the size: rtx4000a for g2-gpu-rtx4000a2-s, rtx6000 for
// g1-gpu-rtx6000-1. The API has no field for it. It returns "" for a plan without GPUs.
func (p Plan) GPUName() string {
	if p.GPUs == 0 {
		return ""
	}
	if m := gpuPattern.FindStringSubmatch(p.ID); m != nil {
		return m[1]
	}
	return p.ID
}

func (p Plan) acceleratedDevices() int { return ptr.Deref(p.AcceleratedDevices, 0) }

// Excluded returns why the settings exclude the plan, "" if they do not. A plan with accelerators has the class accelerated in addition
// to its own.
func (p Plan) Excluded(by selection.Selection) string {
	return by.Excludes(p.ID, p.classes()...)
}

func (p Plan) classes() []string {
	if p.acceleratedDevices() > 0 {
		return []string{string(p.Class), v1alpha1.InstanceClassAccelerated}
	}
	return []string{string(p.Class)}
}

// usable returns whether the API's answer about the plan is complete, and the plan's name and class can be values of labels.
func (p Plan) usable() bool {
	return p.ID != "" && p.VCPUs > 0 && p.Memory > 0 && p.Disk > 0 &&
		len(validation.IsValidLabelValue(p.ID)) == 0 && len(validation.IsValidLabelValue(string(p.Class))) == 0
}
