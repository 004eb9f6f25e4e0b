// Package plan computes what a run creates at most and what that can cost at most, before anything is created.
//
// Linode bills each Linode by the hour begun. The bound therefore counts every Linode that any step may create, also a Linode that exists
// for a minute, for all hours that the step, its removal and the clean-up may begin. A step whose removal fails is the last one, so no
// Linode lives longer.
//
// Clean-up has 15 minutes (CleanUp), a removal between two steps four (Tidying). Prices are dollars, from the API, for the cluster's
// region. Make returns an error that names the flag to change: the budget is too small, the duration is not positive, or no plan with a
// price is available. A plan without a price is never chosen.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// CleanUp is the time reserved for removing everything after the run, including pools that appear late.
const CleanUp = 15 * time.Minute

// Tidying bounds the removal between two steps.
const Tidying = 4 * time.Minute

// NanodePlan is requested once, because it is unknown whether LKE refuses it.
const NanodePlan = "g6-nanode-1"

// Step holds the Linodes and the time of one experiment or scenario.
type Step struct {
	Name    string
	Nodes   int     // at once
	Linodes int     // in all
	Nanodes int     // in all, in addition to Linodes
	Larger  int     // in all, in addition to Linodes, of the larger plan
	Dollars float64 // for other objects than Linodes
	Limit   time.Duration
}

func (s Step) linodes() int { return s.Linodes + s.Nanodes + s.Larger }

// hours are the hours for which each of the step's Linodes is counted.
func (s Step) hours() int { return int(math.Ceil((s.Limit + Tidying + CleanUp).Hours())) }

// Input holds what a plan is made from.
type Input struct {
	Region       string
	Type         string // "" = the cheapest that LKE takes
	Types        []api.LinodeType
	Availability []api.RegionAvailability
	Steps        []Step
	Duration     time.Duration
	Budget       float64 // dollars
}

// Plan bounds the run.
type Plan struct {
	Type         string
	MemoryMB     int
	VCPUs        int
	Hourly       float64 // dollars for one Linode
	Larger       string  // the next plan with more vCPUs; "" without a step that needs it
	LargerVCPUs  int
	LargerHourly float64
	Nodes        int // at once
	Linodes      int // in all, including Linodes of the larger plan
	Nanodes      int // in all, in addition to Linodes
	Duration     time.Duration
	MaxCost      float64
	Budget       float64
	Steps        []Step
}

// Make computes the plan, or returns an error that names what has to change.
func Make(in Input) (Plan, error) {
	if in.Duration <= 0 {
		return Plan{}, fmt.Errorf("--duration is %v; it must be positive, such as 90m", in.Duration)
	}
	if in.Budget < 0 || math.IsNaN(in.Budget) {
		return Plan{}, fmt.Errorf("--budget is %v; it must be a number of dollars, such as 1.00", in.Budget)
	}
	offers := in.offers()
	chosen, err := in.choose(offers)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Type: chosen.ID, MemoryMB: chosen.Memory, VCPUs: chosen.VCPUs, Hourly: hourly(chosen, in.Region),
		Duration: in.Duration, Budget: in.Budget, Steps: in.Steps,
	}
	nanode := p.Hourly // a Nanode that is not sold, or has no price, counts as the chosen plan
	if at := slices.IndexFunc(in.Types, func(t api.LinodeType) bool { return t.ID == NanodePlan }); at >= 0 {
		nanode = cmp.Or(hourly(in.Types[at], in.Region), nanode)
	}
	larger := slices.IndexFunc(offers, func(t api.LinodeType) bool { return t.VCPUs > chosen.VCPUs })
	for _, s := range in.Steps {
		if s.Larger > 0 && larger < 0 {
			return Plan{}, fmt.Errorf("no plan in region %s has more vCPUs than %s; leave out %s", in.Region, p.Type, s.Name)
		}
		if s.Larger > 0 {
			p.Larger, p.LargerVCPUs, p.LargerHourly = offers[larger].ID, offers[larger].VCPUs, hourly(offers[larger], in.Region)
		}
		p.Nodes = max(p.Nodes, s.Nodes)
		p.Linodes += s.Linodes + s.Larger
		p.Nanodes += s.Nanodes
		p.MaxCost += float64(s.hours())*(float64(s.Linodes)*p.Hourly+float64(s.Larger)*p.LargerHourly+float64(s.Nanodes)*nanode) + s.Dollars
	}
	if p.MaxCost > in.Budget+1e-9 {
		return p, fmt.Errorf("the run can cost %.2f dollars, and --budget is %.2f: raise it, or choose experiments with --only", p.MaxCost,
			in.Budget)
	}
	return p, nil
}

// offers lists the plans that LKE offers, that the region has, and whose cost can be bounded, the cheapest first. A plan without a row of
// availability is available.
func (in Input) offers() []api.LinodeType {
	out := slices.DeleteFunc(slices.Clone(in.Types), func(t api.LinodeType) bool {
		return !slices.Contains([]string{"standard", "dedicated", "highmem", "premium"}, string(t.Class)) || hourly(t, in.Region) <= 0 ||
			slices.ContainsFunc(in.Availability, func(a api.RegionAvailability) bool {
				return a.Plan == t.ID && a.Region == in.Region && !a.Available
			})
	})
	slices.SortFunc(out, func(a, b api.LinodeType) int {
		return cmp.Or(cmp.Compare(hourly(a, in.Region), hourly(b, in.Region)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// choose returns the plan of the nodes: the named plan, or else the cheapest.
func (in Input) choose(offers []api.LinodeType) (api.LinodeType, error) {
	at := slices.IndexFunc(in.Types, func(t api.LinodeType) bool { return t.ID == in.Type })
	switch {
	case in.Type == "" && len(offers) > 0:
		return offers[0], nil
	case in.Type == "":
		return api.LinodeType{}, fmt.Errorf("no plan that LKE takes is available, and has a price, in region %s", in.Region)
	case at < 0:
		return api.LinodeType{}, fmt.Errorf("--type is %q; the API lists no such plan", in.Type)
	case hourly(in.Types[at], in.Region) <= 0:
		return api.LinodeType{}, fmt.Errorf("--type is %q; the API has no price of it in region %s, so its cost cannot be bounded", in.Type,
			in.Region)
	}
	return in.Types[at], nil
}

// hourly is a plan's price in a region, 0 for none. A price of 0 counts as no price, too: the API has plans whose base price is 0, and
// plans that have prices in regions only.
func hourly(t api.LinodeType, region string) float64 {
	for _, r := range t.RegionPrices {
		if r.ID == region && r.Hourly > 0 {
			return r.Hourly
		}
	}
	return t.Price.Hourly
}

// String is the text that a user agrees to.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "creates   Linodes of plan %s, $%.4f an hour", p.Type, p.Hourly)
	if p.Larger != "" {
		fmt.Fprintf(&b, ", and of %s, $%.4f an hour", p.Larger, p.LargerHourly)
	}
	fmt.Fprintf(&b, ": at most %d at once, %d in all", p.Nodes, p.Linodes)
	if p.Nanodes > 0 {
		fmt.Fprintf(&b, ", and %d of %s if LKE does not refuse it", p.Nanodes, NanodePlan)
	}
	fmt.Fprintf(&b, "\nfor       at most %v, then clean-up\n", p.Duration)
	fmt.Fprintf(&b, "costs     at most $%.2f: every Linode counted by the hour begun, budget $%.2f\n", p.MaxCost, p.Budget)
	b.WriteString("steps\n")
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  %-16s at most %-6v %d Linode(s)\n", s.Name, s.Limit, s.linodes())
	}
	return b.String()
}
