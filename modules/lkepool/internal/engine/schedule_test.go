package engine

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	scheduleCount    = flag.Int("schedules", 20_000, "how many random schedules to run; with -short a twentieth")
	scheduleSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	scheduleFailures = flag.Int("failures", 20, "after how many violations a run ends")
	scheduleFaults   = flag.String("faults", "", `"some" or "all"; by default all faults for odd seeds, without late effects and groups of 404s for even ones`)
	scheduleProgress = flag.Duration("progress", 0, "how often to print how many schedules are done; 0 is never")
)

// drawn is the schedule of a seed.
func drawn(seed uint64) *simSchedule {
	if *scheduleFaults == "all" || *scheduleFaults == "" && seed%2 == 1 {
		return harshFromSeed(seed)
	}
	return fromSeed(seed)
}

// play runs a schedule and returns its first violation, with the course of
// events if it is wanted.
func play(plan *simSchedule, traced bool) (failure, trace string, s *sim) {
	var text *strings.Builder
	if traced {
		text = &strings.Builder{}
	}
	s = newSim(plan, text)
	s.live()
	if traced {
		trace = text.String()
	}
	return s.failure, trace, s
}

// TestSchedules runs random lives of a cluster against the core alone, on both
// tiers: claimants as Karpenter's, orphan sweeps, deaths, hand edits, and
// requests that fail in every way that ENGINE's guarantees allow for. All
// invariants have to hold, after every event or in the end.
func TestSchedules(t *testing.T) {
	total := *scheduleCount
	if testing.Short() {
		total = max(1, total/20)
	}
	// Each life leaves little behind and lets go of all of it, so that collecting
	// garbage less often costs no memory to speak of.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	run := &scheduleRun{total: total, began: time.Now()}
	stop := run.report(*scheduleProgress)
	defer stop()
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), total) {
		group.Go(run.work)
	}
	group.Wait()
	slices.SortFunc(run.failed, func(a, b scheduleFailure) int { return int(a.seed) - int(b.seed) })
	byInvariant := map[string]int{}
	for _, f := range run.failed {
		byInvariant[brokenBy(f.why)]++
	}
	explained := map[string]bool{}
	for _, f := range run.failed {
		t.Errorf("seed %d: %s", f.seed, f.why)
		if broken := brokenBy(f.why); !explained[broken] && *scheduleFailures <= 100 {
			explained[broken] = true
			explain(t, f.seed)
		}
	}
	t.Logf("%d schedules from seed %d in %s: %d events, %d late effects, %d grouped 404s, the last at rest after %s, %d violations %v",
		run.done.Load(), *scheduleSeed, time.Since(run.began).Round(time.Millisecond), run.events.Load(), run.landed.Load(), run.grouped.Load(),
		time.Duration(run.rest.Load()), len(run.failed), byInvariant)
	if testing.Verbose() && total == 1 && len(run.failed) == 0 {
		_, trace, _ := play(drawn(*scheduleSeed), true)
		t.Log(trace)
	}
}

// explain shows the shortest story of a failed seed, and how to replay it.
func explain(t *testing.T, seed uint64) {
	plan := shrink(drawn(seed))
	why, trace, _ := play(plan, true)
	t.Logf("replay: GOWORK=off go test -run '^TestSchedules$' -v . -schedules 1 -seed %d\n%s\n%s%s", seed, plan, trace, why)
}

// scheduleRun spreads seeds over workers.
type scheduleRun struct {
	total  int
	began  time.Time
	next   atomic.Int64
	done   atomic.Int64
	events atomic.Int64
	rest   atomic.Int64

	landed, grouped atomic.Int64

	mu     sync.Mutex
	failed []scheduleFailure
}

type scheduleFailure struct {
	seed uint64
	why  string
}

func (r *scheduleRun) work() {
	for {
		i := r.next.Add(1) - 1
		if i >= int64(r.total) || r.failures() >= *scheduleFailures {
			return
		}
		seed := *scheduleSeed + uint64(i)
		why, s := r.play(seed)
		if why != "" {
			r.mu.Lock()
			r.failed = append(r.failed, scheduleFailure{seed, why})
			r.mu.Unlock()
			if *scheduleProgress > 0 {
				fmt.Printf("seed %d: %s\n", seed, why)
			}
		} else {
			r.events.Add(int64(s.facts.events))
			r.landed.Add(int64(s.facts.landed))
			r.grouped.Add(int64(s.facts.grouped))
			for was := r.rest.Load(); int64(s.facts.settled) > was && !r.rest.CompareAndSwap(was, int64(s.facts.settled)); was = r.rest.Load() {
			}
		}
		r.done.Add(1)
	}
}

func (r *scheduleRun) failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failed)
}

// play turns a panic into a violation.
func (r *scheduleRun) play(seed uint64) (why string, s *sim) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("panic: %v", p)
		}
	}()
	why, _, s = play(drawn(seed), false)
	return why, s
}

func (r *scheduleRun) report(every time.Duration) (stop func()) {
	if every <= 0 {
		return func() {}
	}
	ticker, end := time.NewTicker(every), make(chan struct{})
	go func() {
		defer close(end)
		for range ticker.C {
			fmt.Printf("%d of %d schedules after %s, %d violations\n", r.done.Load(), r.total, time.Since(r.began).Round(time.Second), r.failures())
			if r.done.Load() >= int64(r.total) {
				return
			}
		}
	}()
	return func() { ticker.Stop() }
}

// TestSeedsReplayBitForBit compares the whole course of events of two runs.
func TestSeedsReplayBitForBit(t *testing.T) {
	for seed := range uint64(200) {
		_, first, _ := play(drawn(seed), true)
		_, second, _ := play(drawn(seed), true)
		if first != second {
			t.Fatalf("seed %d took two courses:\n%s", seed, firstDifference(first, second))
		}
	}
}

// TestOfTwoClaimsTheAnswerIsKept replays a story that is a race: an instance that
// a list from before its claim showed as free is claimed for its own claimant
// again, while a read of another shows that it had one. Of the two the later
// claim counts, in this process and in the next, so the answer has to wait for it.
func TestOfTwoClaimsTheAnswerIsKept(t *testing.T) {
	life := simLife{patience: 20 * time.Second, again: 16 * time.Second, at: 10906 * time.Millisecond}
	first := simLife{patience: 5 * time.Second, again: 3 * time.Second, at: 7624 * time.Millisecond}
	lost := simFate{op: OpMark, from: 6450 * time.Millisecond, times: 1, kind: faultHangs, pick: 43, takes: time.Minute}
	for seed := range uint64(200) {
		why, _, _ := play(&simSchedule{
			seed: seed, lives: []simLife{life, first}, fates: []simFate{lost},
			steps: []simStep{
				{at: 46050 * time.Millisecond, kind: stepDeath, gap: time.Second},
				{at: 31900 * time.Millisecond, kind: stepDeath, gap: time.Second},
			},
			world: simWeather{
				stale: 3900 * time.Millisecond, lag: 10 * time.Second, latency: 300 * time.Millisecond,
				idLeast: 30 * time.Second, idMost: 30 * time.Second, repairs: true, orphanTTL: time.Minute,
			},
		}, false)
		if why != "" {
			t.Errorf("seed %d: %s", seed, why)
		}
	}
}

func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return left[i] + "\n" + right[i]
		}
	}
	return "one is longer"
}

// simRapid draws a schedule so that rapid can shrink it.
type simRapid struct{ *rapid.T }

func (d simRapid) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "choice") }

func (d simRapid) Many(name string, least, most int) int {
	return rapid.IntRange(least, most).Draw(d.T, name)
}

func holdsInvariants(t *rapid.T) {
	plan := drawSchedule(simRapid{t})
	plan.seed = rapid.Uint64().Draw(t, "seed")
	if why, _, _ := play(plan, false); why != "" {
		_, trace, _ := play(plan, true)
		t.Fatalf("%s\n%s%s", plan, trace, why)
	}
}

// TestDrawnSchedules is TestSchedules with schedules that rapid draws: what
// fails is shrunk to a short story and kept in testdata/rapid.
func TestDrawnSchedules(t *testing.T) { rapid.Check(t, holdsInvariants) }

func FuzzSchedules(f *testing.F) { f.Fuzz(rapid.MakeFuzz(holdsInvariants)) }
