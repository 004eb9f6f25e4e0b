package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/plan"
)

func input() plan.Input {
	price := func(hourly float64) api.Price { return api.Price{Hourly: hourly} }
	return plan.Input{
		Region: "us-ord", Duration: 30 * time.Minute, Budget: 0.5,
		Types: []api.LinodeType{
			{ID: "g6-nanode-1", Class: "nanode", Price: price(0.0075)},
			{ID: "g6-dedicated-2", Class: "dedicated", Price: price(0.054), VCPUs: 2},
			{ID: "g6-standard-1", Class: "standard", Price: price(0.018), VCPUs: 1, Memory: 2048,
				RegionPrices: []api.RegionPrice{{ID: "br-gru", Hourly: 0.025}}},
			{ID: "g6-free-1", Class: "standard", VCPUs: 1},
			{ID: "g6-regions-1", Class: "standard", VCPUs: 1, RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.001}}},
			{ID: "g1-gpu", Class: "gpu", Price: price(0.001)},
			{ID: "g7-premium-1", Class: "premium", Price: price(0.01)},
		},
		Availability: []api.RegionAvailability{
			{Region: "us-ord", Plan: "g7-premium-1", Available: false},
			{Region: "br-gru", Plan: "g7-premium-1", Available: false},
			{Region: "br-gru", Plan: "g6-standard-1", Available: true},
		},
		Steps: []plan.Step{{Name: "a", Nodes: 2, Linodes: 2}, {Name: "b", Nodes: 3, Linodes: 4, Nanodes: 1}},
	}
}

func TestPlanBoundsTheCost(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*plan.Input)
		want   plan.Plan
		words  string // of the error
	}{
		{name: "cheapest plan that LKE takes and the region has",
			want: plan.Plan{Type: "g6-standard-1", Hourly: 0.018, Nodes: 3, Linodes: 6, Nanodes: 1, MaxCost: 6*0.018 + 0.0075}},
		{name: "the region's price", change: func(in *plan.Input) { in.Region = "br-gru" },
			want: plan.Plan{Type: "g6-standard-1", Hourly: 0.025, Nodes: 3, Linodes: 6, Nanodes: 1, MaxCost: 6*0.025 + 0.0075}},
		{name: "every hour begun, clean-up included", change: func(in *plan.Input) {
			in.Steps[0].Limit, in.Steps[1].Limit = 42*time.Minute, 41*time.Minute
		},
			want: plan.Plan{Type: "g6-standard-1", Hourly: 0.018, Nodes: 3, Linodes: 6, Nanodes: 1, MaxCost: 2*2*0.018 + 4*0.018 + 0.0075}},
		{name: "a plan by name", change: func(in *plan.Input) { in.Type = "g6-dedicated-2" },
			want: plan.Plan{Type: "g6-dedicated-2", Hourly: 0.054, Nodes: 3, Linodes: 6, Nanodes: 1, MaxCost: 6*0.054 + 0.0075}},
		{name: "over the budget", change: func(in *plan.Input) { in.Budget = 0.11 },
			words: "the run can cost 0.12 dollars, and --budget is 0.11"},
		{name: "budget is no number", change: func(in *plan.Input) { in.Budget = math.NaN() }, words: "--budget is NaN"},
		{name: "a larger plan for a step", change: func(in *plan.Input) { in.Steps[0].Larger, in.Budget = 1, 1 },
			want: plan.Plan{Type: "g6-standard-1", Hourly: 0.018, Nodes: 3, Linodes: 7, Nanodes: 1, MaxCost: 6*0.018 + 0.054 + 0.0075}},
		{name: "no larger plan", change: func(in *plan.Input) { in.Type, in.Steps[0].Larger = "g6-dedicated-2", 1 },
			words: "no plan in region us-ord has more vCPUs than g6-dedicated-2; leave out a"},
		{name: "a plan without a price", change: func(in *plan.Input) { in.Type = "g6-free-1" },
			words: `--type is "g6-free-1"; the API has no price of it in region us-ord`},
		{name: "a plan with prices of other regions", change: func(in *plan.Input) { in.Type = "g6-regions-1" },
			words: "the API has no price of it"},
		{name: "unknown plan", change: func(in *plan.Input) { in.Type = "g9" }, words: `--type is "g9"`},
		{name: "no time", change: func(in *plan.Input) { in.Duration = 0 }, words: "--duration is 0s"},
		{name: "nothing sold", change: func(in *plan.Input) { in.Types = in.Types[:1] },
			words: "no plan that LKE takes is available, and has a price, in region us-ord"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input()
			if c.change != nil {
				c.change(&in)
			}
			p, err := plan.Make(in)
			if c.words != "" {
				if err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("error %v, want %q", err, c.words)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(p.MaxCost-c.want.MaxCost) > 1e-9 {
				t.Errorf("cost %v, want %v", p.MaxCost, c.want.MaxCost)
			}
			if p.Type != c.want.Type || p.Hourly != c.want.Hourly || p.Nodes != c.want.Nodes || p.Linodes != c.want.Linodes ||
				p.Nanodes != c.want.Nanodes {
				t.Errorf("plan %+v, want %+v", p, c.want)
			}
			for _, part := range []string{p.Type, "at most 3 at once", "costs     at most $0."} {
				if !strings.Contains(p.String(), part) {
					t.Errorf("%q is not in %s", part, p)
				}
			}
		})
	}
}
