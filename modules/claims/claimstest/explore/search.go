package explore

import (
	"fmt"
	"sync"
	"time"
)

// A World is one small world at one moment. M is a move: a plain value that means the
// same in every clone of the world.
type World[M any] interface {
	// Moves returns the possible next moves, which depend on the state alone. A World without a move is an end.
	Moves() []M
	// Take lets a move happen.
	Take(M)
	// Broken returns the invariant that the state violates, "" without a violation.
	Broken() string
	// Text describes a move that is about to be taken.
	Text(M) string
}

// Search configures a search.
type Search[W World[M], M any] struct {
	// Start makes the world at its beginning, always the same one.
	Start func() W
	// Ignore names fields that a fingerprint leaves out: see [NewPrinter].
	Ignore []string
	// Workers is how many goroutines search.
	Workers int
	// Most ends the search after so many states, 0 for never. Such a search is not complete.
	Most int
	// Recheck repeats the moves to every nth state from the beginning, 0 for none.
	Recheck int
	// Failures ends the search after so many violations; 0 is 1.
	Failures int
	// Progress is called every Every; nil is never.
	Progress func(Report)
	Every    time.Duration
}

// Report has the counts of a search and its violations.
type Report struct {
	// States are the different worlds, Steps the moves from them, Ends the worlds without a move.
	States, Steps, Ends int
	// Orders is how many different orders of moves lead from the beginning to an end, and
	// Depth the length of the longest.
	Orders float64
	Depth  int
	// Complete: every move from every state was taken.
	Complete bool
	Took     time.Duration
	Failed   []Failure
}

// Failure is a violation, and the moves that lead to it.
type Failure struct {
	Why   string
	Moves []string
}

func (r Report) String() string {
	covered := "complete"
	if !r.Complete {
		covered = "not complete"
	}
	return fmt.Sprintf("%d states, %d steps, %.3g orders, %d ends, the longest order has %d steps, %s, %d violations",
		r.States, r.Steps, r.Orders, r.Ends, r.Depth, covered, len(r.Failed))
}

// Run searches.
func (s Search[W, M]) Run() Report {
	r := &run[W, M]{Search: s, printer: NewPrinter(s.Ignore...), began: time.Now(), index: map[uint64]int32{}}
	r.printed = r.began
	r.free = sync.NewCond(&r.mu)
	first := s.Start()
	r.meet(0, r.printer.Fingerprint(&first))
	r.open = []open[W, M]{{world: first}}
	var group sync.WaitGroup
	for range max(1, s.Workers) {
		group.Go(r.work)
	}
	group.Wait()
	report := r.report()
	report.Complete = !r.ended
	report.Orders, report.Depth = r.graph.paths()
	return report
}

// TB has the methods of a test that a search needs.
type TB interface {
	Helper()
	Name() string
	Log(...any)
	Error(...any)
}

// Test runs a search, logs what it covered, and reports each violation with its moves.
// With part, the search may end before it is complete, and prints its progress.
func (s Search[W, M]) Test(t TB, part bool) {
	t.Helper()
	if part {
		s.Every, s.Progress = 30*time.Second, func(r Report) { fmt.Printf("%s: %s, %s\n", t.Name(), r, r.Took.Round(time.Second)) }
	}
	r := s.Run()
	t.Log(r)
	if !r.Complete && !part {
		t.Error("the search is not complete")
	}
	for _, f := range r.Failed {
		t.Error(f.Why)
		for _, move := range f.Moves {
			t.Log(move)
		}
	}
}

// run is the state of a search.
type run[W World[M], M any] struct {
	Search[W, M]
	printer *Printer
	began   time.Time

	mu   sync.Mutex
	free *sync.Cond
	// open are the worlds from which no move was taken yet. The search continues with the
	// newest world, so that there are never many.
	open []open[W, M]
	busy int
	// ended: a bound or violations ended the search.
	ended   bool
	index   map[uint64]int32
	graph   graph
	steps   int
	ends    int
	failed  []Failure
	printed time.Time
}

// open is a world from which no move was taken yet.
type open[W World[M], M any] struct {
	world W
	state int32
	came  *came[M]
}

// came is how a world was reached.
type came[M any] struct {
	before *came[M]
	by     M
}

func (c *came[M]) moves() []M {
	var moves []M
	for ; c != nil; c = c.before {
		moves = append(moves, c.by)
	}
	for i, j := 0, len(moves)-1; i < j; i, j = i+1, j-1 {
		moves[i], moves[j] = moves[j], moves[i]
	}
	return moves
}

func (r *run[W, M]) work() {
	for {
		from, more := r.next()
		if !more {
			return
		}
		r.expand(from)
	}
}

func (r *run[W, M]) next() (from open[W, M], more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.open) == 0 && r.busy > 0 && !r.ended {
		r.free.Wait()
	}
	if len(r.open) == 0 || r.ended {
		r.free.Broadcast()
		return from, false
	}
	last := len(r.open) - 1
	from, r.open[last] = r.open[last], open[W, M]{}
	r.open = r.open[:last]
	r.busy++
	return from, true
}

// expand takes every move from a world.
func (r *run[W, M]) expand(from open[W, M]) {
	moves := from.world.Moves()
	var next []open[W, M]
	var prints []uint64
	var failed []Failure
	for i, move := range moves {
		world := from.world
		if i < len(moves)-1 {
			world = Clone(world)
		}
		way := &came[M]{from.came, move}
		if why := r.take(world, move); why != "" {
			failed = append(failed, r.explain(why, way))
			continue
		}
		next = append(next, open[W, M]{world: world, came: way})
		prints = append(prints, r.printer.Fingerprint(&world))
	}
	r.over(from, len(moves), next, prints, failed)
}

// take turns a panic into a violation.
func (r *run[W, M]) take(world W, move M) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("panic: %v", p)
		}
	}()
	world.Take(move)
	return world.Broken()
}

// explain repeats the moves that lead to a violation.
func (r *run[W, M]) explain(why string, way *came[M]) Failure {
	f := Failure{Why: why}
	world := r.Start()
	again := ""
	for _, move := range way.moves() {
		f.Moves = append(f.Moves, world.Text(move))
		if again = r.take(world, move); again != "" {
			break
		}
	}
	if again != why {
		f.Why = fmt.Sprintf("%s; repeated, the same moves lead to %q", why, again)
	}
	return f
}

// over records the worlds and the violations to which the moves from a world have led.
func (r *run[W, M]) over(from open[W, M], moves int, next []open[W, M], prints []uint64, failed []Failure) {
	var check *open[W, M]
	var checked uint64
	r.mu.Lock()
	r.steps += moves
	if moves == 0 {
		r.ends++
	}
	for i := range next {
		state, fresh := r.meet(from.state, prints[i])
		if !fresh {
			continue
		}
		next[i].state = state
		if r.Recheck > 0 && int(state)%r.Recheck == 0 {
			check, checked = &next[i], prints[i]
		}
		r.open = append(r.open, next[i])
	}
	r.fail(failed)
	r.mu.Unlock()
	if check != nil {
		failed = r.repeat(check.came, checked)
	} else {
		failed = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(failed)
	r.busy--
	if r.Most > 0 && len(r.index) >= r.Most {
		r.ended = true
	}
	if r.Progress != nil && time.Since(r.printed) >= r.Every {
		r.printed = time.Now()
		r.Progress(r.report())
	}
	r.free.Broadcast()
}

// fail notes violations. The caller holds mu.
func (r *run[W, M]) fail(failed []Failure) {
	r.failed = append(r.failed, failed...)
	r.ended = r.ended || len(r.failed) >= max(1, r.Failures)
}

// meet notes a state that another state leads to, and reports whether it is new. The
// caller holds mu, or no other goroutine runs.
func (r *run[W, M]) meet(from int32, print uint64) (state int32, fresh bool) {
	state, known := r.index[print]
	if !known {
		state = int32(len(r.index))
		r.index[print] = state
	}
	if len(r.index) > 1 {
		r.graph.edge(from, state)
	}
	return state, !known
}

// repeat compares a state with the state to which its moves lead from the beginning.
func (r *run[W, M]) repeat(way *came[M], print uint64) []Failure {
	world := r.Start()
	for _, move := range way.moves() {
		if why := r.take(world, move); why != "" {
			return []Failure{r.explain("repeated from the beginning: "+why, way)}
		}
	}
	if r.printer.Fingerprint(&world) != print {
		return []Failure{r.explain("repeated from the beginning, the same moves lead to another state", way)}
	}
	return nil
}

// report describes the search so far. The caller holds mu, or no other goroutine runs.
func (r *run[W, M]) report() Report {
	return Report{States: len(r.index), Steps: r.steps, Ends: r.ends, Took: time.Since(r.began), Failed: r.failed}
}
