package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// size is how large things are measured.
type size struct {
	bursts, keys []int
	// crowd is how many claimants come after a restart, or spread over a time.
	crowd, nodes int
}

var (
	fullSizes = map[string]size{
		linodesim.Standard:   {bursts: []int{1, 10, 100, 240}, keys: []int{40, 200}, crowd: 100, nodes: 240},
		linodesim.Enterprise: {bursts: []int{1, 10, 100, 500}, keys: []int{40, 200}, crowd: 100, nodes: 1000},
	}
	smallSizes = map[string]size{
		linodesim.Standard:   {bursts: []int{3}, keys: []int{3}, crowd: 3, nodes: 5},
		linodesim.Enterprise: {bursts: []int{3}, keys: []int{3}, crowd: 3, nodes: 5},
	}

	tiers   = []string{linodesim.Standard, linodesim.Enterprise}
	lags    = []time.Duration{0, 10 * time.Second}
	spreads = []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second}
)

// fullPlain and smallPlain are the sizes of bursts in instance mode; 20 are as
// many as the API lets be made at once.
var fullPlain, smallPlain = []int{1, 20, 100, 240}, []int{3}

// measurement is a scene with the bench that it belongs to.
type measurement struct {
	name   string
	scene  scene
	result func(bench.Burst, scene) bench.Result
}

// measurements are all bursts, in the order in which the report shows them.
func measurements(sizes map[string]size, profiles []linodesim.Profile) []measurement {
	var all []measurement
	add := func(name string, s scene, result func(bench.Burst, scene) bench.Result) {
		all = append(all, measurement{fmt.Sprintf("%s/%s/%s/%d", name, s.tier, s.profile.Name, s.n), s, result})
	}
	for _, tier := range tiers {
		for _, profile := range profiles {
			for _, n := range sizes[tier].bursts {
				add("burst", scene{tier: tier, profile: profile, n: n}, plain)
			}
			for _, lag := range lags {
				for _, n := range sizes[tier].keys {
					add(fmt.Sprint("keys/", lag), scene{tier: tier, profile: profile, n: n, keys: true, lag: lag}, lagging(bench.Keys))
				}
				add(fmt.Sprint("restart/", lag), scene{tier: tier, profile: profile, n: sizes[tier].crowd, restarted: true, lag: lag},
					lagging(bench.Restarts))
			}
			for _, over := range spreads {
				add(fmt.Sprint("spread/", over), scene{tier: tier, profile: profile, n: sizes[tier].crowd, spread: over}, spread)
			}
		}
	}
	return all
}

// mostWithDisks bounds the bursts of a class with disks: they take thousands of
// requests, and with the profile slow minutes to simulate.
const mostWithDisks = 100

// plainMeasurements are the bursts of instance mode.
func plainMeasurements(sizes []int, profiles []linodesim.Profile) []measurement {
	var all []measurement
	for _, class := range []string{classUsual, classNetwork, classDisks} {
		for _, profile := range profiles {
			for _, n := range sizes {
				if class == classDisks && n > mostWithDisks {
					continue
				}
				all = append(all, measurement{
					fmt.Sprintf("instance/%s/%s/%d", class, profile.Name, n), scene{class: class, profile: profile, n: n}, ofClass,
				})
			}
		}
	}
	return all
}

// fewSeeds are enough for scenes that differ more among each other than between
// seeds; with many keys a run takes seconds.
const fewSeeds = 3

// worst runs a measurement with each seed, or with one when only small sizes are
// measured.
func (m measurement) worst(t *testing.T) bench.Result {
	t.Helper()
	var runs []bench.Result
	for i := range m.scene.runs() {
		s := m.scene
		s.seed = *seed + i
		run := runBurst
		if s.class != "" {
			run = runInstances
		}
		runs = append(runs, m.result(run(t, s), s))
	}
	return bench.Worst(runs)
}

// runs is with how many seeds a scene is measured.
func (s scene) runs() uint64 {
	switch {
	case !*full:
		return 1
	case s.keys || s.restarted || s.spread > 0 || s.class != "":
		return min(*seeds, fewSeeds)
	}
	return *seeds
}

func plain(b bench.Burst, _ scene) bench.Result { return b.Result() }

func lagging(name string) func(bench.Burst, scene) bench.Result {
	return func(b bench.Burst, s scene) bench.Result { return b.Lagging(name, s.lag) }
}

func spread(b bench.Burst, s scene) bench.Result { return b.Spread(s.spread) }

func ofClass(b bench.Burst, s scene) bench.Result {
	if s.class == classDisks {
		return b.WithDisks(dataDisks)
	}
	return b.OfClass(s.class)
}
