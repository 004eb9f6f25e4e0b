// Package plan computes what a run of the probe creates at most and what that
// can cost at most, before anything is created.
//
// Linode bills each Linode by the hour begun. The bound therefore counts every
// Linode that any experiment may create, also those that exist for a minute, as
// if it existed for all hours that the run and its clean-up may begin.
package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// CleanUp is the time reserved for removing everything after the run.
const CleanUp = 10 * time.Minute

// NanodePlan is requested once, because it is unknown whether LKE refuses it.
const NanodePlan = "g6-nanode-1"

// Step is one experiment's share.
type Step struct {
	Name    string
	Nodes   int // at once
	Linodes int // in all
	Nanodes int // in all, beside Linodes
	Limit   time.Duration
}

// Input holds what a plan is made from.
type Input struct {
	Region       string
	Type         string // "" = the cheapest that LKE takes
	Types        []api.LinodeType
	Availability []api.RegionAvailability
	Steps        []Step
	Nodes        int // at once, at most
	Duration     time.Duration
	Budget       float64 // dollars
}

// Plan bounds the run.
type Plan struct {
	Type     string
	Hourly   float64 // dollars for one Linode
	Nodes    int     // at once
	Linodes  int     // in all
	Nanodes  int     // in all, beside Linodes
	Duration time.Duration
	Hours    int // counted for each Linode
	MaxCost  float64
	Budget   float64
	Steps    []Step
}

// Make computes the plan, or returns an error that names what has to change.
func Make(in Input) (Plan, error) {
	if in.Duration <= 0 {
		return Plan{}, fmt.Errorf("--duration is %v; it must be positive, such as 30m", in.Duration)
	}
	if in.Budget < 0 || math.IsNaN(in.Budget) {
		return Plan{}, fmt.Errorf("--budget is %v; it must be a number of dollars, such as 0.50", in.Budget)
	}
	chosen, price, err := choose(in)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Type: chosen, Hourly: price, Duration: in.Duration, Budget: in.Budget, Steps: in.Steps,
		Hours: int(math.Ceil((in.Duration + CleanUp).Hours())),
	}
	for _, s := range in.Steps {
		p.Nodes = max(p.Nodes, s.Nodes)
		p.Linodes += s.Linodes
		p.Nanodes += s.Nanodes
	}
	if p.Nodes > in.Nodes {
		return Plan{}, fmt.Errorf("--nodes is %d; the chosen experiments need %d at once", in.Nodes, p.Nodes)
	}
	p.MaxCost = float64(p.Linodes*p.Hours) * price
	if p.Nanodes > 0 {
		nanode := slices.IndexFunc(in.Types, func(t api.LinodeType) bool { return t.ID == NanodePlan })
		if nanode < 0 {
			p.MaxCost += float64(p.Nanodes*p.Hours) * price // not sold any more; counted like the others
		} else {
			p.MaxCost += float64(p.Nanodes*p.Hours) * hourly(in.Types[nanode], in.Region)
		}
	}
	if p.MaxCost > in.Budget+1e-9 {
		return p, fmt.Errorf("the run can cost %.2f dollars, and --budget is %.2f: raise it, choose experiments with --only, or shorten "+
			"--duration",
			p.MaxCost, in.Budget)
	}
	return p, nil
}

// choose returns the plan of the nodes and its price in the region.
func choose(in Input) (string, float64, error) {
	best, price := "", math.Inf(1)
	for _, t := range in.Types {
		cost := hourly(t, in.Region)
		if in.Type != "" {
			if t.ID == in.Type {
				return t.ID, cost, nil
			}
			continue
		}
		if sold(t, in) && (cost < price || cost == price && t.ID < best) {
			best, price = t.ID, cost
		}
	}
	switch {
	case in.Type != "":
		return "", 0, fmt.Errorf("--type is %q; the API lists no such plan", in.Type)
	case best == "":
		return "", 0, fmt.Errorf("no plan that LKE takes is available in region %s", in.Region)
	}
	return best, price, nil
}

// sold leaves out what LKE does not offer and what the region has none of. A
// plan without a row of availability is available.
func sold(t api.LinodeType, in Input) bool {
	switch t.Class {
	case "standard", "dedicated", "highmem", "premium":
	default:
		return false
	}
	return !slices.ContainsFunc(in.Availability, func(a api.RegionAvailability) bool {
		return a.Plan == t.ID && a.Region == in.Region && !a.Available
	})
}

func hourly(t api.LinodeType, region string) float64 {
	for _, r := range t.RegionPrices {
		if r.ID == region {
			return r.Hourly
		}
	}
	return t.Price.Hourly
}

// String is the text that a user agrees to.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "creates   node pools of plan %s, $%.4f an hour: at most %d nodes at once, %d Linodes in all", p.Type, p.Hourly, p.Nodes,
		p.Linodes)
	if p.Nanodes > 0 {
		fmt.Fprintf(&b, ", and %d of %s if LKE does not refuse it", p.Nanodes, NanodePlan)
	}
	fmt.Fprintf(&b, "\nfor       at most %v, then clean-up\n", p.Duration)
	fmt.Fprintf(&b, "costs     at most $%.2f: every Linode counted for %d full hour(s), budget $%.2f\n", p.MaxCost, p.Hours, p.Budget)
	b.WriteString("experiments\n")
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  %-10s at most %-5v %d Linode(s)\n", s.Name, s.Limit, s.Linodes+s.Nanodes)
	}
	return b.String()
}
