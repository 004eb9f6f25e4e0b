package schedule

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// Seeds configures a run of many schedules.
type Seeds struct {
	// First is the first seed, Count how many there are.
	First uint64
	Count int
	// Failures ends the run after so many violations.
	Failures int
	// Progress is called every Every, with the number of finished seeds; nil is never.
	Progress func(Report)
	Every    time.Duration
}

// Report describes what a run has done.
type Report struct {
	Done   int
	Took   time.Duration
	Failed []Failure
}

// Failure is a seed whose schedule broke an invariant, and which.
type Failure struct {
	Seed uint64
	Why  string
}

// Run plays the schedules of all seeds, on all processors. play returns the violation of
// a seed's schedule, "" for none. The failures are in the order of their seeds.
func (s Seeds) Run(play func(seed uint64) (why string)) Report {
	r := &seedRun{Seeds: s, play: play, began: time.Now(), printed: time.Now()}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), s.Count) {
		group.Go(r.work)
	}
	group.Wait()
	slices.SortFunc(r.failed, func(a, b Failure) int { return int(a.Seed) - int(b.Seed) })
	return r.report()
}

// seedRun is the state of a run.
type seedRun struct {
	Seeds
	play  func(uint64) string
	began time.Time

	mu          sync.Mutex
	begun, done int
	failed      []Failure
	printed     time.Time
}

func (r *seedRun) work() {
	for {
		seed, more := r.next()
		if !more {
			return
		}
		r.over(seed, r.play(seed))
	}
}

func (r *seedRun) next() (seed uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seed = r.First + uint64(r.begun)
	r.begun++
	return seed, r.begun <= r.Count && len(r.failed) < r.Failures
}

func (r *seedRun) over(seed uint64, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if why != "" {
		r.failed = append(r.failed, Failure{seed, why})
	}
	if r.Progress != nil && time.Since(r.printed) >= r.Every {
		r.printed = time.Now()
		r.Progress(r.report())
	}
}

// report describes the run so far. The caller holds mu, or no other goroutine runs.
func (r *seedRun) report() Report {
	return Report{Done: r.done, Took: time.Since(r.began), Failed: slices.Clone(r.failed)}
}
