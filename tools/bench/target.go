package bench

import (
	"fmt"
	"strconv"
)

// Target is the most that a figure may be.
type Target struct {
	Bench string
	// N is the burst's size that it is set for; 0 is every run of the bench.
	N      int
	Figure string
	Most   float64
}

// Targets are all there are.
var Targets = []Target{
	{Bursts, 100, "calls_per_claim", 1.20},
	{Bursts, 100, "collection_gets", 10},
	{Bursts, 100, "floor_ratio", 1.15},
	{Bursts, 240, "calls_per_claim", 1.10},
	{Bursts, 500, "calls_per_claim", 1.10},
	{Bursts, 0, "throttled", 0},
	{Bursts, 0, "surplus", 0},
	{Keys, 0, "collection_gets", 12},
	{Keys, 0, "floor_ratio", 1.30},
	{Keys, 0, "throttled", 0},
	{Keys, 0, "surplus", 0},
	{Restarts, 0, "throttled", 0},
	{Restarts, 0, "surplus", 0},
	{Spreads, 0, "calls_per_claim", 1.20},
	{Spreads, 0, "purchases", 1},
	{Spreads, 0, "throttled", 0},
	{Spreads, 0, "surplus", 0},
	{Plain, 100, "calls_per_claim", 2.2},
	{Plain, 100, "floor_ratio", 1.15},
	{Plain, 0, "throttled", 0},
	{Plain, 0, "surplus", 0},
	{Idle, 0, "calls_per_minute", 10},
	{Heap, 0, "heap_mb", 64},
	{Heap, 0, "goroutines_left", 0},
}

// Missed returns a line for each target that was missed. A target that no
// result has the figure for is missed as well: nothing showed that it is met.
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

// figure is what the target is about in a result, if it is about it.
func (t Target) figure(r Result) (float64, bool) {
	if t.Bench != r.Bench || t.N != 0 && r.Label("n") != strconv.Itoa(t.N) {
		return 0, false
	}
	return r.Figure(t.Figure)
}

// met is false for what is not a number.
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
	if t.N == 0 {
		return t.Bench
	}
	return fmt.Sprintf("%s n=%d", t.Bench, t.N)
}
