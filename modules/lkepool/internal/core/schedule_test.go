package core

import (
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

var (
	scheduleCount    = flag.Int("schedules", 20_000, "how many random schedules to run; with -short a twentieth")
	scheduleSeed     = flag.Uint64("seed", 1, "seed of the first schedule; -schedules 1 replays one")
	scheduleFailures = flag.Int("failures", 20, "after how many violations a run ends")
	scheduleFaults   = flag.String("faults", "", `"some" or "all"; by default all faults for odd seeds, without late effects and groups of 404s for even ones`)
	scheduleProgress = flag.Duration("progress", 0, "how often to print how many schedules are done; 0 is never")
)

// withAllFaults is the schedule of a seed with all that may happen.
func withAllFaults(seed uint64) *simSchedule {
	return harshFromSeed(seed).widen().endOrderly().retire()
}

// drawn is the schedule of a seed.
func drawn(seed uint64) *simSchedule {
	if *scheduleFaults == "all" || *scheduleFaults == "" && seed%2 == 1 {
		return withAllFaults(seed)
	}
	return fromSeed(seed).endOrderly().retire()
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
			failure = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	s = newSim(plan, text)
	s.live()
	return s.failure, "", s
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
	seeds := schedule.Seeds{First: *scheduleSeed, Count: total, Failures: *scheduleFailures, Every: *scheduleProgress}
	if *scheduleProgress > 0 {
		seeds.Progress = func(r schedule.Report) {
			fmt.Printf("%d of %d schedules after %s, violations: %v\n", r.Done, total, r.Took.Round(time.Second), r.Failed)
		}
	}
	var sums scheduleSums
	run := seeds.Run(func(seed uint64) string {
		why, _, s := play(drawn(seed), false)
		sums.add(s)
		return why
	})
	byInvariant := map[string]int{}
	for _, f := range run.Failed {
		byInvariant[brokenBy(f.Why)]++
	}
	explained := map[string]bool{}
	for _, f := range run.Failed {
		t.Errorf("seed %d: %s", f.Seed, f.Why)
		if broken := brokenBy(f.Why); !explained[broken] && *scheduleFailures <= 100 {
			explained[broken] = true
			explain(t, f.Seed)
		}
	}
	t.Logf("%d schedules from seed %d in %s: %d events, %d late effects, %d grouped 404s, %d orderly ends, "+
		"the last at rest after %s, at most %d requests in two minutes and 3 for each call, %d violations %v%s",
		run.Done, *scheduleSeed, run.Took.Round(time.Millisecond), sums.events, sums.landed, sums.grouped, sums.released,
		sums.settled, sums.busiest, len(run.Failed), byInvariant, sums.times.String())
	if testing.Verbose() && total == 1 && len(run.Failed) == 0 {
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

// scheduleSums adds up what was drawn.
type scheduleSums struct {
	mu sync.Mutex
	simFacts
}

func (t *scheduleSums) add(s *sim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != nil && s.failure == "" { // nil: it panicked at its beginning
		t.events += s.facts.events
		t.landed += s.facts.landed
		t.grouped += s.facts.grouped
		t.released += s.facts.released
		t.times.add(s.facts.times)
		t.busiest = max(t.busiest, s.facts.busiest)
		t.settled = max(t.settled, s.facts.settled)
	}
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

// TestANodeThatAnOldListShowsTakesNoPlace replays lives in which a list that lags shows a
// node that is gone, without a slot or in one, as a member of a pool that waits for another
// one. A purchase then is a node too many.
func TestANodeThatAnOldListShowsTakesNoPlace(t *testing.T) {
	for _, plan := range []*simSchedule{
		fromSeed(2002598), harshFromSeed(2025369), harshFromSeed(2138167), harshFromSeed(81938383), withAllFaults(86375163),
	} {
		if why, _, _ := play(plan, false); why != "" {
			t.Errorf("seed %d: %s", plan.seed, why)
		}
	}
}

// TestAPoolIsNotGoneByAListOlderThanIt replays a life in which reads of a new pool are
// answered 404 for a while, and lists are as old as they may be.
func TestAPoolIsNotGoneByAListOlderThanIt(t *testing.T) {
	if why, _, _ := play(harshFromSeed(2115721), false); why != "" {
		t.Error(why)
	}
}

// TestAPoolWithAMemberTooManyServesAfterAWhile replays a life in which a node was replaced
// and reads of it fail, so that its pool keeps more members than its count.
func TestAPoolWithAMemberTooManyServesAfterAWhile(t *testing.T) {
	if why, _, _ := play(harshFromSeed(3070969), false); why != "" {
		t.Error(why)
	}
}

// TestWhatArrivesInAnInheritedPoolWaits replays a life on Enterprise in which the process before
// had sent a count and the deletion of its pool: both take effect in the lead of the next one,
// and a node that comes between them goes with the pool.
func TestWhatArrivesInAnInheritedPoolWaits(t *testing.T) {
	if why, _, _ := play(withAllFaults(51825795), false); why != "" {
		t.Error(why)
	}
}

// TestAClaimThatWasGivenUpIsNotWrittenAgain replays a life in which a claim takes effect after
// its claimant got another instance, and a person takes it off while that one is being removed.
func TestAClaimThatWasGivenUpIsNotWrittenAgain(t *testing.T) {
	if why, _, _ := play(withAllFaults(51742721), false); why != "" {
		t.Error(why)
	}
}

// TestARefusalOfACountThatIsRepeatedBuysNothing replays a life in which another client lowers a
// count again and again, and the last one had no answer: the claimants are refused, and no
// other pool is made for them.
func TestARefusalOfACountThatIsRepeatedBuysNothing(t *testing.T) {
	if why, _, _ := play(withAllFaults(61897255), false); why != "" {
		t.Error(why)
	}
}

// TestAContestedCountIsReadWhenItSettles replays a life in which a read of a pool ends right
// before the removal that it shows: the next one has to begin the settle time after that answer.
func TestAContestedCountIsReadWhenItSettles(t *testing.T) {
	if why, _, _ := play(fromSeed(71255220).endOrderly(), false); why != "" {
		t.Error(why)
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
