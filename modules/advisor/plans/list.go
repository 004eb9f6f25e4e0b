package plans

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// A Row is one plan in one region, for programs.
type Row struct {
	Plan        string      `json:"plan"`
	Class       string      `json:"class"`
	Region      string      `json:"region"`
	VCPUs       int         `json:"vcpus"`
	MemoryMiB   int         `json:"memoryMiB"`
	Allocatable Allocatable `json:"allocatable"` // an estimate before the first node
	GPUs        int         `json:"gpus,omitempty"`
	GPU         string      `json:"gpu,omitempty"`
	Hourly      float64     `json:"hourly"`             // USD
	Monthly     float64     `json:"monthly"`            // USD
	Excluded    string      `json:"excluded,omitempty"` // why it cannot be bought
}

// Allocatable has the resources of a node that pods can use.
type Allocatable struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
}

// List returns all plans, cheapest first in each region.
func List(shown Shown) []Row { return rows(shown.offers(nil)) }

// ListNodePool returns the plans of the first region. A plan that a NodePool cannot buy has the reason.
func ListNodePool(shown Shown, wanted []requirement.Selector, kubelet *v1alpha1.KubeletConfiguration) []Row {
	return rows(shown.offersFor(wanted, kubelet))
}

func rows(offers []offer) []Row {
	all := make([]Row, 0, len(offers))
	for _, o := range offers {
		price, allocatable := o.plan.PriceIn(o.region), o.it.Allocatable()
		row := Row{
			Plan: o.plan.ID, Class: string(o.plan.Class), Region: o.region, VCPUs: o.plan.VCPUs, MemoryMiB: o.plan.Memory,
			Allocatable: Allocatable{CPU: *allocatable.Cpu(), Memory: *allocatable.Memory()},
			Hourly:      price.Hourly, Monthly: price.Monthly, Excluded: o.out,
		}
		if o.plan.GPUs > 0 {
			row.GPUs, row.GPU = o.plan.GPUs, o.plan.GPUName()
		}
		all = append(all, row)
	}
	return all
}
