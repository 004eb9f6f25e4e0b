package instances

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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
	_, what, _ := strings.Cut(why, " s: ")
	for _, of := range []string{"ceiling", "lost", "hidden", "off", "panic"} {
		if strings.HasPrefix(what, of+":") {
			return of
		}
	}
	for _, of := range []string{"is reported as not found", "has disks", "not finished", "has the tags", "was never served", "requests,", "left behind", "lacks tags", "which was proven gone", "from before the last reading", "has the instances", "get rid", "which needs it", "another write"} {
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
// way that the guarantees allow for. All invariants have to hold.
func TestSchedules(t *testing.T) {
	total := *scheduleCount
	if testing.Short() {
		total = max(1, total/10)
	}
	run := &scheduleRun{total: total, began: time.Now(), printed: time.Now()}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), total) {
		group.Go(run.work)
	}
	group.Wait()
	slices.SortFunc(run.failed, func(a, b violation) int { return int(a.seed) - int(b.seed) })
	byInvariant := map[string]int{}
	for n, f := range run.failed {
		byInvariant[brokenBy(f.why)]++
		t.Errorf("seed %d: %s", f.seed, f.why)
		if n == 0 && *scheduleFailures <= 100 {
			plan := shrink(drawn(f.seed))
			why, trace, _ := play(plan, true)
			t.Logf("replay: GOWORK=off go test -run '^TestSchedules$' -v . -schedules 1 -seed %d\n%s\n%s%s", f.seed, plan, trace, why)
		}
	}
	t.Logf("%d schedules from seed %d in %s, %d requests, %d late effects, %d grouped 404s, %d violations %v",
		run.done, *scheduleSeed, time.Since(run.began).Round(time.Millisecond), run.requests, run.facts.landed, run.facts.grouped,
		len(run.failed), byInvariant)
	if testing.Verbose() && total == 1 && len(run.failed) == 0 {
		_, trace, _ := play(drawn(*scheduleSeed), true)
		t.Log(trace)
	}
}

// scheduleRun spreads seeds over workers.
type scheduleRun struct {
	total int
	began time.Time

	mu                    sync.Mutex
	begun, done, requests int
	facts                 simFacts
	failed                []violation
	printed               time.Time
}

type violation struct {
	seed uint64
	why  string
}

func (r *scheduleRun) work() {
	for {
		seed, more := r.next()
		if !more {
			return
		}
		why, _, s := play(drawn(seed), false)
		r.over(seed, why, s)
	}
}

func (r *scheduleRun) next() (seed uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seed = *scheduleSeed + uint64(r.begun)
	r.begun++
	return seed, r.begun <= r.total && len(r.failed) < *scheduleFailures
}

func (r *scheduleRun) over(seed uint64, why string, s *sim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if s != nil { // otherwise it panicked at its beginning
		r.requests += s.requests
		r.facts.landed += s.facts.landed
		r.facts.grouped += s.facts.grouped
	}
	if why != "" {
		r.failed = append(r.failed, violation{seed, why})
	}
	if *scheduleProgress > 0 && time.Since(r.printed) >= *scheduleProgress {
		r.printed = time.Now()
		fmt.Printf("%d of %d schedules in %s, %d violations\n", r.done, r.total, time.Since(r.began).Round(time.Second), len(r.failed))
	}
}

// shrink leaves out of a schedule what its violation does not need.
func shrink(plan *simSchedule) *simSchedule {
	for smaller := true; smaller; {
		smaller = false
		for _, list := range []func(*simSchedule, int) bool{without(livesOf), without(stepsOf), without(fatesOf), without(gapsOf)} {
			for i := 0; ; {
				less := *plan
				if !list(&less, i) {
					break
				}
				if why, _, _ := play(&less, false); why != "" && len(less.lives) > 0 {
					plan, smaller = &less, true
				} else {
					i++
				}
			}
		}
	}
	return plan
}

func livesOf(s *simSchedule) *[]simLife { return &s.lives }
func stepsOf(s *simSchedule) *[]simStep { return &s.steps }
func fatesOf(s *simSchedule) *[]simFate { return &s.fates }

func gapsOf(s *simSchedule) *[]simGap { return &s.gaps }

func without[T any](of func(*simSchedule) *[]T) func(*simSchedule, int) bool {
	return func(s *simSchedule, i int) bool {
		list := of(s)
		if i >= len(*list) {
			return false
		}
		*list = slices.Delete(slices.Clone(*list), i, i+1)
		return true
	}
}

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
