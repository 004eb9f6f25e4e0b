package instances

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	scheduleCount    = flag.Int("schedules", 5_000, "how many random schedules to run; with -short a tenth")
	scheduleSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	scheduleFailures = flag.Int("failures", 10, "after how many violations a run ends")
)

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
	type violation struct {
		seed uint64
		why  string
	}
	var next, requests atomic.Int64
	var mu sync.Mutex
	var failed []violation
	began := time.Now()
	work := func() {
		for {
			i := next.Add(1) - 1
			mu.Lock()
			enough := len(failed) >= *scheduleFailures
			mu.Unlock()
			if i >= int64(total) || enough {
				return
			}
			seed := *scheduleSeed + uint64(i)
			why, _, s := play(fromSeed(seed), false)
			if s != nil {
				requests.Add(int64(s.requests))
			}
			if why != "" {
				mu.Lock()
				failed = append(failed, violation{seed, why})
				mu.Unlock()
			}
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), total) {
		group.Go(work)
	}
	group.Wait()
	slices.SortFunc(failed, func(a, b violation) int { return int(a.seed) - int(b.seed) })
	for n, f := range failed {
		t.Errorf("seed %d: %s", f.seed, f.why)
		if n == 0 {
			plan := shrink(fromSeed(f.seed))
			why, trace, _ := play(plan, true)
			t.Logf("replay: GOWORK=off go test -run '^TestSchedules$' -v . -schedules 1 -seed %d\n%s\n%s%s", f.seed, plan, trace, why)
		}
	}
	t.Logf("%d schedules from seed %d in %s, %d requests, %d violations",
		min(int(next.Load()), total), *scheduleSeed, time.Since(began).Round(time.Millisecond), requests.Load(), len(failed))
	if testing.Verbose() && total == 1 && len(failed) == 0 {
		_, trace, _ := play(fromSeed(*scheduleSeed), true)
		t.Log(trace)
	}
}

// shrink leaves out of a schedule what its violation does not need.
func shrink(plan *simSchedule) *simSchedule {
	for smaller := true; smaller; {
		smaller = false
		for _, list := range []func(*simSchedule, int) bool{without(livesOf), without(stepsOf), without(fatesOf)} {
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
		_, first, _ := play(fromSeed(seed), true)
		_, second, _ := play(fromSeed(seed), true)
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
