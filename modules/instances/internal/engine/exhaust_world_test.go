package engine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/tuning"
)

// smallWorld is the core, the platform, one claimant or two, and the requests between them.
type smallWorld struct {
	bound    *smallBound
	settings Settings
	now      time.Time
	core     *Core
	// began is when the process that leads did.
	began    time.Time
	platform smallPlatform
	calls    []*smallCall
	// under are the requests without an answer, late the writes that were answered with
	// an error, or not at all, and may take effect yet.
	under     []smallEffect
	late      []smallEffect
	claimants []smallClaimant
	// sweep is when the next one begins, sweeping counts the calls of the last.
	sweep    time.Time
	sweeping int
	faults   int
	// over: no other process takes over any more.
	over   bool
	broken string
}

// smallCall is a caller that waits, and of what.
type smallCall struct {
	*Call
	kind     smallKind
	claimant int
	// until is when it continues although nothing changes, the zero time for never.
	until time.Time
}

type smallKind int

const (
	ofClaimant smallKind = iota
	ofEdit
	ofSweep
	ofListing
)

// smallEffect is a request under way.
type smallEffect struct {
	Effect
	sent time.Time
	// landed: it has taken effect; answer holds the platform's reply to it.
	landed bool
	answer Result
	// slow: time passes without its answer.
	slow bool
	// until is how long a late one may take effect.
	until time.Time
}

type smallClaimant struct {
	who   claims.ClaimID
	order *Order
	// came: it has called Create. gone: it does not exist any more. releasing: it calls Delete.
	came, gone, releasing bool
	calling               bool
	// again is when it calls again, the zero time for not.
	again time.Time
	// handed is the instance that it was given.
	handed int
	// edits counts the changes of its instance's tags that were answered, editing: another is requested.
	edits    int
	editing  bool
	editNext time.Time
}

func (c *smallClaimant) lives() bool { return c.came && !c.gone }

// smallMove names the next event.
type smallMove struct {
	kind moveKind
	// effect is an index of under or late, view one of the platform's views, claimant one of claimants.
	effect, view, claimant int
}

type moveKind int

const (
	// moveWait lets time pass until something is due.
	moveWait moveKind = iota
	// moveComes, moveReleases and moveQuits are a claimant's.
	moveComes
	moveReleases
	moveQuits
	// moveShows answers a read with a view, moveLands lets a write take effect, moveAnswers answers it then.
	moveShows
	moveLands
	moveAnswers
	// The faults: an error that excludes an effect, no answer to a write that has had its
	// effect, and to one that may have it later, a wrong 404, time passes without an answer.
	moveFails
	moveLosesAnswer
	moveIsLate
	moveMissing
	moveIsSlow
	// moveLandsLate lets a write take effect that was not answered with success.
	moveLandsLate
	// moveCrashes and moveEnds let another process lead.
	moveCrashes
	moveEnds
)

const (
	smallSweepEvery = 2 * time.Minute
	smallAgain      = 5 * time.Second
	// smallIdle is how long claimants that have done nothing yet wait at most while all is
	// in order: longer than lists lag.
	smallIdle    = 3 * time.Minute
	smallHorizon = time.Hour
	smallEdits   = 2
)

var smallEpoch = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)

func newSmallWorld(b *smallBound) *smallWorld {
	w := &smallWorld{
		bound: b, settings: Settings{Cluster: "demo"}.WithDefaults(), now: smallEpoch, faults: b.faults, over: !b.crash && !b.clean,
	}
	for n, name := range []string{"a", "b"} {
		switch {
		case n > 0 && b.alone:
			continue
		case n > 0 && b.heir:
			name = "a"
		}
		who := simOwn.ID(claims.Claimant{Name: name, UID: fmt.Sprintf("uid-%d", n)})
		order := &Order{Who: who, Label: simLabel(name), InstanceType: "plan", Tags: simOwn.ClaimTags(who), Capacity: "plan", Form: "plan"}
		if n == 0 && b.disks > 0 {
			for d := range b.disks {
				order.Data = append(order.Data, fmt.Sprintf("data%d", d))
			}
			order.Tags, order.Form = append(order.Tags, simOwn.Unfinished), "plan with disks"
		}
		w.claimants = append(w.claimants, smallClaimant{who: who, order: order})
	}
	w.platform.record(w.now)
	w.lead(true)
	for n := range w.claimants {
		if n == 0 || !b.apart && !b.heir {
			w.claimants[n].came = true
			w.create(n)
		}
	}
	w.settle()
	return w
}

func (w *smallWorld) lead(clean bool) {
	w.core = New(w.settings, simOwn, w.now)
	if clean {
		w.core.Begin(claims.Ended, w.now)
	}
	w.began, w.sweep, w.sweeping, w.calls = w.now, w.now.Add(smallSweepEvery), 0, nil
}

// Broken returns the invariant that does not hold.
func (w *smallWorld) Broken() string { return w.broken }

func (w *smallWorld) fail(format string, args ...any) {
	w.broken = cmp.Or(w.broken, fmt.Sprintf(format, args...))
}

// Moves returns what may happen next.
func (w *smallWorld) Moves() []smallMove {
	if w.broken != "" || w.atRest() {
		return nil
	}
	moves := w.movesOfClaimants()
	waits := true
	for i := range w.under {
		moves = append(moves, w.movesOf(i)...)
		waits = waits && w.under[i].slow
	}
	for i := range w.late {
		moves = append(moves, smallMove{kind: moveLandsLate, effect: i})
	}
	if !w.over {
		moves = append(moves, w.takeOvers()...)
	}
	if waits && !w.next().IsZero() && !(w.idle() && w.now.Sub(w.began) > smallIdle) {
		moves = append(moves, smallMove{kind: moveWait})
	}
	return moves
}

func (w *smallWorld) movesOfClaimants() (moves []smallMove) {
	first := &w.claimants[0]
	for n := range w.claimants {
		if c := &w.claimants[n]; !c.came && (w.bound.heir && first.releasing || !w.bound.heir && first.handed != 0) {
			moves = append(moves, smallMove{kind: moveComes, claimant: n})
		}
	}
	if w.bound.releases && !first.releasing && first.handed != 0 && !first.editing {
		moves = append(moves, smallMove{kind: moveReleases})
	}
	if w.bound.quits && first.lives() {
		moves = append(moves, smallMove{kind: moveQuits})
	}
	return moves
}

// movesOf are the ends that a request may have.
func (w *smallWorld) movesOf(i int) (moves []smallMove) {
	e := &w.under[i]
	add := func(kind moveKind) { moves = append(moves, smallMove{kind: kind, effect: i}) }
	switch {
	case !e.Op.Write():
		seen := map[string]bool{}
		for v, view := range w.viewsOf(e) {
			if text := view.text(&e.Effect); !seen[text] {
				seen[text] = true
				moves = append(moves, smallMove{kind: moveShows, effect: i, view: v})
			}
		}
	case e.landed:
		add(moveAnswers)
	default:
		add(moveLands)
	}
	if w.faults == 0 || w.bound.by != nil && !slices.Contains(w.bound.by, e.Op) {
		return moves
	}
	for _, kind := range w.faultsOf(e) {
		if w.bound.only == nil || slices.Contains(w.bound.only, kind) {
			add(kind)
		}
	}
	return moves
}

// faultsOf are the faults that a request may have.
func (w *smallWorld) faultsOf(e *smallEffect) (kinds []moveKind) {
	switch {
	case e.Op.Write() && e.landed:
		kinds = []moveKind{moveLosesAnswer}
	case e.Op.Write():
		kinds = []moveKind{moveFails, moveIsLate}
	case e.ID != 0:
		kinds = []moveKind{moveFails, moveMissing}
	default:
		kinds = []moveKind{moveFails}
	}
	if !e.slow {
		kinds = append(kinds, moveIsSlow)
	}
	return kinds
}

// viewsOf are the views that a read may show.
func (w *smallWorld) viewsOf(e *smallEffect) []smallView {
	lag := w.settings.SettleTime
	if e.Op == OpList || e.Op == OpFind {
		lag = tuning.ListLag
	}
	return w.platform.views(e.sent, lag)
}

func (w *smallWorld) takeOvers() (moves []smallMove) {
	if w.bound.crash {
		moves = append(moves, smallMove{kind: moveCrashes})
	}
	if writes := slices.ContainsFunc(w.under, func(e smallEffect) bool { return e.Op.Write() }); w.bound.clean && !writes && len(w.late) == 0 {
		moves = append(moves, smallMove{kind: moveEnds})
	}
	return moves
}

// next is when something is due after now.
func (w *smallWorld) next() time.Time {
	next := sooner(w.platform.next(), w.sweep)
	for _, c := range w.claimants {
		next = sooner(sooner(next, c.again), c.editNext)
	}
	for _, c := range w.calls {
		next = sooner(next, c.until)
	}
	for _, e := range w.under {
		next = sooner(next, e.sent.Add(Timeout(e.Op)))
	}
	for _, e := range w.late {
		next = sooner(next, e.until)
	}
	return next
}

// idle: no caller waits, nothing is under way nor will be, and all is in order.
func (w *smallWorld) idle() bool {
	return len(w.calls) == 0 && len(w.under) == 0 && len(w.late) == 0 && w.platform.next().IsZero() && w.disorder() == "" &&
		!slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return !c.again.IsZero() || !c.editNext.IsZero() })
}

// atRest: so it is, and the claimants have done all that they do.
func (w *smallWorld) atRest() bool {
	first := &w.claimants[0]
	return !slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return !c.came }) &&
		(!w.bound.releases && !w.bound.quits || first.gone) && w.idle()
}

// settle makes worlds equal that differ in nothing that anything follows from: the order
// of sending, and by how much the engine's numbers of calls and results differ.
func (w *smallWorld) settle() {
	byKey := func(a, b smallEffect) int { return strings.Compare(a.sortKey(), b.sortKey()) }
	slices.SortStableFunc(w.under, byKey)
	slices.SortStableFunc(w.late, byKey)
	w.renumber()
}

// sortKey orders requests.
func (e *smallEffect) sortKey() string {
	key := []byte(string(e.Op) + e.Text + e.Who.Value + e.Who.UID + e.Disk + strings.Join(e.Tags, ","))
	for _, n := range []int{e.ID, e.DiskID, int(e.sent.UnixNano()), int(e.until.UnixNano())} {
		key = binary.AppendVarint(key, int64(n))
	}
	return string(key)
}

// renumber replaces the numbers by which calls ignore what failed before them by their
// ranks: only their order counts.
func (w *smallWorld) renumber() {
	known := w.core.belief
	numbers := []*int{&known.Seq, &known.World.List.Failed}
	for _, c := range w.calls {
		numbers = append(numbers, &c.Seq)
	}
	for _, n := range known.World.Nodes {
		numbers = append(numbers, &n.Failed, &n.Removal.Seq)
	}
	for _, r := range known.World.Reads {
		numbers = append(numbers, &r.Failed)
	}
	for _, p := range known.Purchases.All() {
		numbers = append(numbers, &p.Failed)
	}
	slices.SortFunc(numbers, func(a, b *int) int { return cmp.Compare(*a, *b) })
	last, rank := 0, 0 // 0 is never
	for _, n := range numbers {
		if *n != last {
			last, rank = *n, rank+1
		}
		*n = rank
	}
}
