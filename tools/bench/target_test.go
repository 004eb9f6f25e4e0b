package bench_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

func TestMissed(t *testing.T) {
	calls := bench.Target{Bench: bench.Bursts, N: 100, Figure: "calls_per_claim", Most: 1.20}
	with := func(change func(*bench.Burst)) []bench.Result {
		b := burst
		change(&b)
		return []bench.Result{b.Result()}
	}
	for _, test := range []struct {
		name    string
		target  bench.Target
		results []bench.Result
		want    string // the beginning of the only line; "" for a target that is met
	}{
		{"below", calls, with(func(*bench.Burst) {}), ""},
		{"exactly", calls, with(func(b *bench.Burst) { b.Calls = 120 }), ""},
		{"above", calls, with(func(b *bench.Burst) { b.N, b.Calls = 100, 121 }),
			"missed: calls_per_claim=1.21, the target is at most 1.2: bench: tier=standard"},
		{"another size, nothing measured", calls, with(func(b *bench.Burst) { b.N, b.Calls = 10, 120 }),
			"missed: calls_per_claim of bench n=100 was not measured"},
		{"nothing measured", calls, nil, "missed: calls_per_claim of bench n=100 was not measured"},
		{"a figure that does not exist", bench.Target{Bench: bench.Bursts, Figure: "kilometres", Most: 1}, with(func(*bench.Burst) {}),
			"missed: kilometres of bench was not measured"},
		{"another profile, nothing measured",
			bench.Target{Bench: bench.Bursts, N: 100, Figure: "calls_per_claim", Most: 1.20, Of: bench.Label{Name: "profile", Value: "slow"}},
			with(func(b *bench.Burst) { b.N, b.Calls = 100, 121 }), "missed: calls_per_claim of bench profile=slow n=100 was not measured"},
		{"every size", bench.Target{Bench: bench.Bursts, Figure: "surplus", Most: 0},
			with(func(b *bench.Burst) { b.N, b.Requested, b.Present = 10, 11, 10 }),
			"missed: surplus=1, the target is at most 0"},
		{"not a number", bench.Target{Bench: bench.Idle, Figure: "calls_per_minute", Most: 10},
			[]bench.Result{{Bench: bench.Idle, Figures: []bench.Figure{{Name: "calls_per_minute", Value: math.NaN()}}}},
			"missed: calls_per_minute=NaN"},
		{"another bench", bench.Target{Bench: bench.Heap, Figure: "heap_mb", Most: 64},
			[]bench.Result{bench.Crowd{Tier: "enterprise", Claims: 500, Bytes: 65 << 20}.Result()},
			"missed: heap_mb=65, the target is at most 64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			missed := bench.Missed([]bench.Target{test.target}, test.results)
			switch {
			case test.want == "" && len(missed) == 0:
			case len(missed) == 1 && test.want != "" && strings.HasPrefix(missed[0], test.want):
			default:
				t.Errorf("got %q, want %q", missed, test.want)
			}
		})
	}
}

// TestEveryTargetNamesAFigure fails when a target is misspelt, which would
// otherwise only show in a full run.
func TestEveryTargetNamesAFigure(t *testing.T) {
	results := []bench.Result{
		bench.Rest{Tier: "standard", Nodes: 240, Length: time.Hour}.Result(),
		bench.Killed{Mode: bench.Instance, N: 20}.Result(),
		bench.Crowd{Tier: "enterprise", Claims: 500}.Result(),
	}
	for _, n := range []int{100, 240, 500} {
		b := burst
		b.N, b.Requested, b.Present = n, n, n
		results = append(results, b.Result())
	}
	once := burst
	once.Purchases = 1
	results = append(results, once.Lagging(bench.Keys, 0), once.Lagging(bench.Keys, 10*time.Second), once.Lagging(bench.Restarts, 0),
		once.Spread(time.Second), burst.OfClass("usual"), burst.WithDisks(2),
		bench.Thought{Engine: "lkepool", Claims: 500}.Result(), bench.Thought{Engine: "lkepool", Claims: 2000}.Result())
	for _, line := range bench.Missed(bench.Targets, results) {
		t.Error(line)
	}
}
