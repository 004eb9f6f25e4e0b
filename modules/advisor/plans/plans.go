// Package plans prints Linode's plans, each with the allocatable resources of a node, the price, and the availability by region. For a
// NodePool it prints the plans that the NodePool could buy, and the requirement that excludes each other plan.
//
// It is the pure part of `karpenter-linode plans`, of `karpenter-linode opencost-prices` and of the generated page docs/plans.md:
// cmd/karpenter-linode and tools/docs read the plans, and this package arranges and writes them. Prices are Linode's in USD, without
// NodeOverlays. Allocatable resources are the estimate before the first node of a plan has registered.
//
// Errors come from the writer. A price list without a single price is an error, too. All functions are pure.
//
// Rows are in the order of regions, and by price in each. For a NodePool the first region counts: first the plans that it can buy, then
// each other plan with the requirement, the availability or the setting that excludes it.
package plans

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

// A Region is a region in which nodes would be made.
type Region struct {
	ID           string
	Availability map[string]bool // of plans of restricted availability; a plan without an entry is available
}

// Shown has the plans to print, and how nodes are estimated.
type Shown struct {
	Plans          []catalog.Plan
	Regions        []Region
	Selection      selection.Selection // the plans that the settings allow
	Tier           string              // see catalog.Settings, and the next
	MemoryOverhead *float64
}

// An offer is one plan in one region.
type offer struct {
	plan   catalog.Plan
	region string
	out    string // why it cannot be bought; empty if it can
	it     *cloudprovider.InstanceType
}

// Write prints all plans, cheapest first in each region.
func Write(w io.Writer, shown Shown) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "PLAN\tCLASS\tVCPU\tMEMORY\tALLOCATABLE CPU, MEMORY\tGPU\tREGION\tUSD/HOUR\tUSD/MONTH\tAVAILABLE")
	for _, o := range shown.offers(nil) {
		fmt.Fprintln(table, strings.Join(append(o.columns(), o.region, o.hourly(), o.monthly(), o.available()), "\t"))
	}
	return table.Flush()
}

// WriteNodePool prints the plans that a NodePool could buy in the first region, cheapest first, and the reason why it cannot buy the
// others.
func WriteNodePool(w io.Writer, shown Shown, name string, wanted []requirement.Selector, kubelet *v1alpha1.KubeletConfiguration) error {
	var bought, excluded []offer
	var all []*cloudprovider.InstanceType
	for _, o := range shown.offersFor(wanted, kubelet) {
		all = append(all, o.it)
		if o.out == "" {
			bought = append(bought, o)
		} else {
			excluded = append(excluded, o)
		}
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(bought) > 0 {
		fmt.Fprintf(table, "NodePool %s can buy in %s, cheapest first:\n\n", name, bought[0].region)
		fmt.Fprintln(table, "PLAN\tCLASS\tVCPU\tMEMORY\tALLOCATABLE CPU, MEMORY\tGPU\tUSD/HOUR\tUSD/MONTH")
	} else {
		why := "the plans that meet its requirements are not available"
		if err := requirement.Unmet(wanted, all); err != nil {
			why = err.Error()
		}
		fmt.Fprintf(table, "NodePool %s can buy no plan: %s\n", name, why)
	}
	for _, o := range bought {
		fmt.Fprintln(table, strings.Join(append(o.columns(), o.hourly(), o.monthly()), "\t"))
	}
	if err := table.Flush(); err != nil || len(excluded) == 0 {
		return err
	}
	fmt.Fprintln(table, "\nand not:\n\nPLAN\tUSD/HOUR\tWHY")
	for _, o := range excluded {
		fmt.Fprintln(table, strings.Join([]string{o.plan.ID, o.hourly(), o.out}, "\t"))
	}
	return table.Flush()
}

// Markdown returns the rows of the generated page. Each plan has one row, with the regions whose price differs, the regions without the
// plan, and the allocatable resources of its nodes on each tier.
func Markdown(shown Shown) string {
	var rows strings.Builder
	rows.WriteString("| plan | class | vCPU | memory | allocatable cpu, memory | memory on Enterprise | GPU | USD/hour | USD/month | " +
		"other prices | not available in |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, plan := range slices.SortedFunc(slices.Values(shown.Plans), byPrice("")) {
		shown.Plans, shown.Tier = []catalog.Plan{plan}, status.TierStandard
		offers := shown.offers(nil)
		if len(offers) == 0 {
			continue
		}
		var prices, without []string
		for _, o := range offers {
			if o.plan.PriceIn(o.region).Hourly != plan.Price.Hourly {
				prices = append(prices, fmt.Sprintf("%s %s, %s", o.region, o.hourly(), o.monthly()))
			}
			if o.out != "" {
				without = append(without, o.region)
			}
		}
		shown.Tier = status.TierEnterprise
		cells := slices.Insert(offers[0].columns(), 5, shown.offers(nil)[0].memory())
		cells = append(cells, dollars(plan.Price.Hourly), dollars(plan.Price.Monthly), strings.Join(prices, "<br>"),
			regions(without, len(offers)))
		cells[0] = "`" + cells[0] + "`"
		rows.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return rows.String()
}

func regions(without []string, of int) string {
	switch {
	case len(without) == of:
		return "all regions"
	case len(without) > of/2:
		return fmt.Sprintf("%d of %d regions", len(without), of)
	}
	return strings.Join(without, ", ")
}

// byPrice orders plans by price, plans without a price last.
func byPrice(region string) func(a, b catalog.Plan) int {
	price := func(p catalog.Plan) float64 {
		if hourly := p.PriceIn(region).Hourly; hourly > 0 {
			return hourly
		}
		return math.Inf(1)
	}
	return func(a, b catalog.Plan) int {
		return cmp.Or(cmp.Compare(price(a), price(b)), strings.Compare(a.ID, b.ID))
	}
}

// offers lists the plans of each region by price. It leaves out plans whose size is missing in the API's answer, because no node can be
// planned with them.
func (s Shown) offers(kubelet *v1alpha1.KubeletConfiguration) (all []offer) {
	for _, region := range s.Regions {
		for _, plan := range slices.SortedFunc(slices.Values(s.Plans), byPrice(region.ID)) {
			if plan.VCPUs <= 0 || plan.Memory <= 0 || plan.Disk <= 0 {
				continue
			}
			o := offer{plan: plan, region: region.ID, out: plan.Excluded(s.Selection), it: catalog.Convert(plan, true, catalog.Settings{
				Region: region.ID, Tier: s.Tier, MemoryOverhead: s.MemoryOverhead, Kubelet: kubelet,
			})}
			if available, listed := region.Availability[plan.ID]; o.out == "" && listed && !available {
				o.out = "not available in " + region.ID
			}
			if o.out == "" && plan.PriceIn(region.ID).Hourly <= 0 {
				o.out = "no price is listed for " + region.ID
			}
			all = append(all, o)
		}
	}
	return all
}

// offersFor lists the plans of the first region. A plan that the NodePool cannot buy has the reason.
func (s Shown) offersFor(wanted []requirement.Selector, kubelet *v1alpha1.KubeletConfiguration) []offer {
	s.Regions = s.Regions[:min(len(s.Regions), 1)]
	all := s.offers(kubelet)
	for i, o := range all {
		if texts := requirement.Excluding(wanted, o.it); len(texts) > 0 {
			all[i].out = "not " + strings.Join(texts, ", not ")
		}
	}
	return all
}

func (o offer) columns() []string {
	gpu := "-"
	if o.plan.GPUs > 0 {
		gpu = fmt.Sprintf("%d %s", o.plan.GPUs, o.plan.GPUName())
	}
	allocatable := o.it.Allocatable()
	return []string{
		o.plan.ID, string(o.plan.Class), strconv.Itoa(o.plan.VCPUs), gib(int64(o.plan.Memory) << 20),
		fmt.Sprintf("%s, %s", allocatable.Cpu(), o.memory()), gpu,
	}
}

// memory returns the part of the memory that pods can use.
func (o offer) memory() string {
	allocatable := o.it.Allocatable()
	return gib(allocatable.Memory().Value())
}

func (o offer) hourly() string  { return dollars(o.plan.PriceIn(o.region).Hourly) }
func (o offer) monthly() string { return dollars(o.plan.PriceIn(o.region).Monthly) }

func (o offer) available() string {
	if o.out != "" {
		return "no: " + o.out
	}
	return "yes"
}

// gib returns a size in GiB with at most one decimal, rounded down.
func gib(bytes int64) string {
	return strconv.FormatFloat(float64(bytes*10>>30)/10, 'f', -1, 64) + "Gi"
}

// dollars returns a price with all its digits, or a dash for 0, which is no price.
func dollars(usd float64) string {
	if usd <= 0 {
		return "-"
	}
	return strconv.FormatFloat(usd, 'f', -1, 64)
}
