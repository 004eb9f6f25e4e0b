package bench_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// burst is of 100 claimants on Standard; the cases vary it.
var burst = bench.Burst{
	Tier: "standard", Profile: "realistic", N: 100, Calls: 113, CollectionGETs: 6, Requested: 100, Present: 100,
	Purchases: 2, Took: 10600 * time.Millisecond, Visible: 10 * time.Second, Asked: time.Second, Attempts: 2,
	Limit: 10 * time.Second, Needed: 1.05,
}

func TestLine(t *testing.T) {
	twins := burst
	twins.Requested, twins.Present = 102, 101
	kept := burst
	kept.Requested, kept.Present = 100, 103
	slow := burst
	slow.Took = 14 * time.Second
	unseen := burst
	unseen.N, unseen.Visible = 0, 0
	for _, test := range []struct {
		name   string
		result bench.Result
		want   string
	}{
		{"burst", burst.Result(),
			"bench: tier=standard profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=0 " +
				"floor_ratio=1.06 beyond_s=0.0"},
		{"longer than the tolerance", slow.Result(),
			"bench: tier=standard profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=0 floor_ratio=1.40 " +
				"beyond_s=2.5"},
		{"too many were requested", twins.Result(),
			"bench: tier=standard profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=2 " +
				"floor_ratio=1.06 beyond_s=0.0"},
		{"too many exist", kept.Result(),
			"bench: tier=standard profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=3 " +
				"floor_ratio=1.06 beyond_s=0.0"},
		{"lists that lag", burst.Lagging(bench.Keys, 10*time.Second),
			"bench-keys: tier=standard profile=realistic n=100 list_lag_s=10 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 " +
				"surplus=0 " +
				"floor_ratio=1.06 beyond_s=0.0"},
		{"claimants one after another", burst.Spread(100 * time.Millisecond),
			"bench-spread: tier=standard profile=realistic n=100 spread_s=0.1 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 " +
				"surplus=0 floor_ratio=1.06 beyond_s=0.0 purchases=2"},
		{"plain Linodes", burst.OfClass("network"),
			"bench-instance: class=network profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=0 " +
				"floor_ratio=1.06 limit_ratio=1.06"},
		{"plain Linodes with disks", burst.WithDisks(2),
			"bench-disks: disks=2 profile=realistic n=100 calls=113 calls_per_claim=1.13 collection_gets=6 throttled=0 surplus=0 needed_ratio=1.08"},
		{"rest", bench.Rest{Tier: "enterprise", Nodes: 1000, Length: time.Hour, Calls: 407}.Result(),
			"bench-idle: tier=enterprise nodes=1000 calls_per_minute=6.78"},
		{"rest of half an hour", bench.Rest{Tier: "standard", Nodes: 240, Length: 30 * time.Minute, Calls: 60}.Result(),
			"bench-idle: tier=standard nodes=240 calls_per_minute=2.00"},
		{"crowd", bench.Crowd{Tier: "enterprise", Claims: 500, Bytes: 3 << 19}.Result(),
			"bench-heap: tier=enterprise claims=500 heap_mb=1.5 goroutines_left=0"},
		{"crowd that leaks", bench.Crowd{Tier: "enterprise", Claims: 500, Left: 2}.Result(),
			"bench-heap: tier=enterprise claims=500 heap_mb=0.0 goroutines_left=2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.result.Line(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWorstTakesTheLargestOfEachFigure(t *testing.T) {
	quick, cheap := burst, burst
	quick.Took, quick.Calls, quick.Attempts = 10*time.Second, 120, 1
	cheap.Took, cheap.Calls, cheap.Attempts = 11*time.Second, 110, 3
	first := quick.Result()
	worst := bench.Worst([]bench.Result{first, cheap.Result()})
	want := "bench: tier=standard profile=realistic n=100 calls=120 calls_per_claim=1.20 collection_gets=6 throttled=0 surplus=0 " +
		"floor_ratio=1.10 beyond_s=0.0"
	if got := worst.Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := worst.Details[3]; got.Name != "attempts" || got.Value != 3 {
		t.Errorf("the most attempts are %+v, want 3", got)
	}
	if got, _ := first.Figure("floor_ratio"); got != 1 {
		t.Errorf("the first run's own result was changed: %s", first.Line())
	}
	if got := bench.Worst(nil).Line(); got != ":" {
		t.Errorf("no runs are %q", got)
	}
}
