package bench_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

var (
	full  = flag.Bool("full", false, "measure everything and check the targets; without it, only that the measurements work")
	write = flag.String("write", "", "file to write the report to; goes with -full")
	seeds = flag.Uint64("seeds", 10, "how many seeds to run each burst with; the worst counts")
	seed  = flag.Uint64("seed", 1, "the first seed")
	other = flag.String("profile", "",
		"measure in this profile of the simulator, or in the world of a report of verify, instead of realistic and slow")
	trace = flag.Bool("trace", false, "print every request")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBench measures, prints a line for each result, and fails with a line for
// each target that was missed.
func TestBench(t *testing.T) {
	sizes, plain, claims := smallSizes, smallPlain, 5
	if *full {
		sizes, plain, claims = fullSizes, fullPlain, 500
	}
	var results []bench.Result
	all := 0
	measure := func(name string, run func(*testing.T) bench.Result) {
		all++
		t.Run(name, func(t *testing.T) {
			r := run(t)
			if t.Failed() {
				return
			}
			t.Log(r.Line())
			if *full {
				fmt.Println(r.Line())
			}
			results = append(results, r)
		})
	}
	profiles := worlds(t)
	for _, m := range slices.Concat(measurements(sizes, profiles), plainMeasurements(plain, profiles)) {
		measure(m.name, m.worst)
	}
	for _, mode := range append([]string{bench.Instance}, tiers...) {
		for _, after := range killedAfter {
			measure(fmt.Sprintf("killed/%s/%s", mode, after), func(t *testing.T) bench.Result { return runKilled(t, mode, 20, after).Result() })
		}
	}
	for _, tier := range tiers {
		measure("idle/"+tier, func(t *testing.T) bench.Result { return runIdle(t, tier, sizes[tier].nodes).Result() })
	}
	for _, engine := range engines {
		for _, n := range coreSizes(*full) {
			measure(fmt.Sprintf("core/%s/%d", engine, n), func(t *testing.T) bench.Result { return runCore(t, engine, n).Result() })
		}
	}
	measure("heap", func(t *testing.T) bench.Result { return runHeap(t, linodesim.Enterprise, claims).Result() })
	switch {
	case !*full || t.Failed():
	case len(results) == all:
		judge(t, results)
	case *write != "":
		t.Error("the report needs all measurements: leave out -run, or name TestBench alone")
	default:
		fmt.Println("some measurements were left out, so no target is checked")
	}
}

// behaviour is the behaviour of the profile that -profile names.
var behaviour linodesim.Behaviour

// worlds are the profiles in which bursts are measured.
func worlds(t *testing.T) []linodesim.Profile {
	t.Helper()
	if *other == "" {
		return []linodesim.Profile{linodesim.Realistic(), linodesim.Slow()}
	}
	if *write != "" {
		t.Fatal("-write and -profile do not go together: the page is about realistic and slow")
	}
	profile, b, err := linodesim.ProfileFrom(*other)
	if err != nil {
		t.Fatal(err)
	}
	behaviour = b
	return []linodesim.Profile{profile}
}

// judge writes the report and checks the targets.
func judge(t *testing.T, results []bench.Result) {
	report := bench.Report{
		Machine: bench.ThisMachine(), Deadline: *createDeadline, Seeds: int(*seeds), Targets: bench.Targets, Results: results,
	}
	if *write != "" {
		if before, err := os.ReadFile(*write); err == nil { // otherwise there are no sections to keep
			report.Sections = map[bench.Section]string{}
			for _, section := range []bench.Section{bench.ScaleSection, bench.WhatifSection} {
				report.Sections[section] = section.Of(string(before))
			}
		}
		page, err := report.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*write, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	missed := bench.Missed(bench.Targets, results)
	for _, line := range missed {
		fmt.Println(line)
	}
	if len(missed) > 0 {
		t.Errorf("%d targets were missed", len(missed))
	}
}
