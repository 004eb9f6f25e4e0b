package bench

import (
	"fmt"
	"strconv"
)

// Target is the most that a figure may be.
type Target struct {
	Bench string
	// N restricts the target to bursts of this size; 0 = all runs of the bench.
	N      int
	Figure string
	Most   float64
	// Of restricts the target to runs with this label; the zero Label = all runs.
	Of Label
}

var (
	all       = Label{}
	realistic = Label{"profile", "realistic"}
	current   = Label{"list_lag_s", "0"}
	lagging   = Label{"list_lag_s", "10"}
)

// Targets are the targets of `make bench`.
var Targets = []Target{
	{Bursts, 100, "calls_per_claim", 1.20, all},
	{Bursts, 100, "collection_gets", 10, all},
	// The client's own seconds are the same whether the platform takes 3 s or a minute: one look, one read, and the tags, many at a time.
	{Bursts, 100, "beyond_s", 2, all},
	{Bursts, 240, "calls_per_claim", 1.10, all},
	{Bursts, 500, "calls_per_claim", 1.10, all},
	{Bursts, 0, "throttled", 0, all},
	{Bursts, 0, "surplus", 0, all},
	{Keys, 0, "collection_gets", 12, all},
	{Keys, 0, "beyond_s", 3, current}, // with many keys, each look of the client is a list
	// If lists lag, the client doubles the time before each read of a list, to make few reads. So a read that is slightly early costs that
	// time once more.
	{Keys, 0, "beyond_s", 7, lagging},
	{Keys, 0, "throttled", 0, all},
	{Keys, 0, "surplus", 0, all},
	// In the first two minutes of a process lists may be older than its lead.
	{Restarts, 100, "calls_per_claim", 1.20, all},
	{Restarts, 0, "throttled", 0, all},
	{Restarts, 0, "surplus", 0, all},
	{Kills, 0, "surplus", 0, all},
	{Kills, 0, "took_s", 25, all}, // 15 s until the Lease expires, and 10 s
	{Spreads, 0, "calls_per_claim", 1.20, all},
	{Spreads, 0, "purchases", 1, all},
	{Spreads, 0, "throttled", 0, all},
	{Spreads, 0, "surplus", 0, all},
	{Plain, 100, "calls_per_claim", 2.2, all},
	{Plain, 100, "floor_ratio", 1.15, all},
	{Plain, 100, "limit_ratio", 1.15, realistic},
	{Plain, 0, "throttled", 0, all},
	{Plain, 0, "surplus", 0, all},
	{Disks, 100, "needed_ratio", 1.10, all},
	{Disks, 0, "throttled", 0, all},
	{Disks, 0, "surplus", 0, all},
	{Idle, 0, "calls_per_minute", 10, all},
	{Heap, 0, "heap_mb", 64, all},
	{Heap, 0, "goroutines_left", 0, all},
	{Cores, 500, "core_s", 0.2, all},
	{Cores, 2000, "core_s", 2, all},
}

// Missed returns a line for each missed target. If no result has a target's figure, the
// target is missed as well, because no measurement shows that it is met.
func Missed(targets []Target, results []Result) []string {
	var missed []string
	for _, t := range targets {
		measured := false
		for _, r := range results {
			value, ok := t.figure(r)
			measured = measured || ok
			if ok && !t.met(value) {
				missed = append(missed, fmt.Sprintf("missed: %s=%.4g, the target is at most %g: %s", t.Figure, value, t.Most, r.Line()))
			}
		}
		if !measured {
			missed = append(missed, fmt.Sprintf("missed: %s of %s was not measured", t.Figure, t.what()))
		}
	}
	return missed
}

// figure returns the target's figure of a result, false if the result has none.
func (t Target) figure(r Result) (float64, bool) {
	if t.Bench != r.Bench || t.N != 0 && r.Label("n") != strconv.Itoa(t.N) || t.Of != all && r.Label(t.Of.Name) != t.Of.Value {
		return 0, false
	}
	return r.Figure(t.Figure)
}

// met is false for NaN.
func (t Target) met(value float64) bool { return value <= t.Most }

func (t Target) worst(results []Result) (worst float64, measured bool) {
	for _, r := range results {
		if value, ok := t.figure(r); ok {
			worst, measured = max(worst, value), true
		}
	}
	return worst, measured
}

func (t Target) what() string {
	text := t.Bench
	if t.Of != all {
		text += " " + t.Of.Name + "=" + t.Of.Value
	}
	if t.N != 0 {
		text += fmt.Sprintf(" n=%d", t.N)
	}
	return text
}
