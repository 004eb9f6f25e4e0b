package core

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

var (
	scheduleCount    = flag.Int("schedules", 5_000, "how many random schedules to run; with -short a tenth")
	scheduleSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	scheduleFailures = flag.Int("failures", 10, "after how many violations a run ends")
	scheduleFaults   = flag.String("faults", "",
		`"some" or "all"; by default all faults for odd seeds, without late effects and groups of 404s for even ones`)
	scheduleProgress = flag.Duration("progress", 0, "how often to print how many schedules are done; 0 is never")
)

// drawn is the schedule of a seed.
func drawn(seed uint64) *simSchedule {
	if *scheduleFaults == "all" || *scheduleFaults == "" && seed%2 == 1 {
		return harshFromSeed(seed)
	}
	return fromSeed(seed)
}

// brokenBy classifies a violation.
func brokenBy(why string) string {
	if strings.HasPrefix(why, "panic:") {
		return "panic"
	}
	_, what, _ := strings.Cut(why, " s: ")
	for _, of := range []string{"ceiling", "lost", "hidden", "off", "panic"} {
		if strings.HasPrefix(what, of+":") {
			return of
		}
	}
	for _, of := range []string{
		"is reported as not found", "has disks", "not finished", "has the tags", "was never served", "requests,", "left behind", "lacks tags",
		"which was proven gone", "from before the last reading", "has the instances", "get rid", "which needs it", "another write",
	} {
		if strings.Contains(what, of) {
			return of
		}
	}
	return what
}

// play runs a schedule and returns its first violation, with the course of
// events if it is wanted. A panic is a violation.
func play(plan *simSchedule, traced bool) (failure, trace string, s *sim) {
	var text *strings.Builder
	if traced {
		text = &strings.Builder{}
		defer func() { trace = text.String() }()
	}
	defer func() {
		if p := recover(); p != nil {
			buffer := make([]byte, 4096)
			failure = fmt.Sprintf("panic: %v\n%s", p, buffer[:runtime.Stack(buffer, false)])
		}
	}()
	s = newSim(plan, text)
	return s.run(), "", s
}

// TestSchedules runs random lives of a cluster against the core alone: claimants
// as Karpenter's, sweeps, deaths, hand edits, and requests that fail in every
// way that the guarantees allow for. All invariants have to hold, and a run of many has to
// have had every kind of fault.
func TestSchedules(t *testing.T) {
	total := *scheduleCount
	if testing.Short() {
		total = max(1, total/10)
	}
	seeds := schedule.Seeds{First: *scheduleSeed, Count: total, Failures: *scheduleFailures, Every: *scheduleProgress}
	if *scheduleProgress > 0 {
		seeds.Progress = func(r schedule.Report) {
			fmt.Printf("%d of %d schedules in %s, violations: %v\n", r.Done, total, r.Took.Round(time.Second), r.Failed)
		}
	}
	var sums scheduleSums
	run := seeds.Run(func(seed uint64) string {
		why, _, s := play(drawn(seed), false)
		sums.add(s)
		return why
	})
	byInvariant := map[string]int{}
	for n, f := range run.Failed {
		byInvariant[brokenBy(f.Why)]++
		t.Errorf("seed %d: %s", f.Seed, f.Why)
		if n == 0 && *scheduleFailures <= 100 {
			plan := shrink(drawn(f.Seed))
			why, trace, _ := play(plan, true)
			t.Logf("replay: GOWORK=off go test -run '^TestSchedules$' -v . -schedules 1 -seed %d\n%s\n%s%s", f.Seed, plan, trace, why)
		}
	}
	t.Logf("%d schedules from seed %d in %s, %d requests, %d late effects, %d of them planned by a death, %d grouped 404s, %d violations %v",
		run.Done, *scheduleSeed, run.Took.Round(time.Millisecond), sums.requests, sums.landed, sums.afterDeath, sums.grouped, len(run.Failed),
		byInvariant)
	if run.Done >= 1000 && *scheduleFaults != "some" && (sums.landed == 0 || sums.afterDeath == 0 || sums.grouped == 0) {
		t.Error("no late effect, none after a death or no grouped 404 was drawn: the schedules miss what they are to show")
	}
	if testing.Verbose() && total == 1 && len(run.Failed) == 0 {
		_, trace, _ := play(drawn(*scheduleSeed), true)
		t.Log(trace)
	}
}

// scheduleSums adds up what was drawn.
type scheduleSums struct {
	mu       sync.Mutex
	requests int
	simFacts
}

func (t *scheduleSums) add(s *sim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != nil { // otherwise it panicked at its beginning
		t.requests += s.requests
		t.landed += s.facts.landed
		t.grouped += s.facts.grouped
		t.afterDeath += s.facts.afterDeath
	}
}

// shrink leaves out of a schedule what its violation does not need.
func shrink(plan *simSchedule) *simSchedule {
	return schedule.Shrink(plan, simpler, func(plan *simSchedule) string {
		why, _, _ := play(plan, false)
		return brokenBy(why)
	})
}

// simpler returns the schedules that have one thing less.
func simpler(plan *simSchedule) (all []*simSchedule) {
	for i := range plan.lives {
		less := *plan
		less.lives = without(plan.lives, i)
		all = append(all, &less)
	}
	for i := range plan.steps {
		less := *plan
		less.steps = without(plan.steps, i)
		all = append(all, &less)
	}
	for i := range plan.fates {
		less := *plan
		less.fates = without(plan.fates, i)
		all = append(all, &less)
	}
	for i := range plan.gaps {
		less := *plan
		less.gaps = without(plan.gaps, i)
		all = append(all, &less)
	}
	return all
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

// TestSeedsReplayBitForBit compares the whole course of events of two runs.
func TestSeedsReplayBitForBit(t *testing.T) {
	for seed := range uint64(100) {
		_, first, _ := play(drawn(seed), true)
		_, second, _ := play(drawn(seed), true)
		if first != second {
			left, right := strings.Split(first, "\n"), strings.Split(second, "\n")
			for i := range min(len(left), len(right)) {
				if left[i] != right[i] {
					t.Fatalf("seed %d took two courses:\n%s\n%s", seed, left[i], right[i])
				}
			}
			t.Fatalf("seed %d took two courses, one is longer", seed)
		}
	}
}
