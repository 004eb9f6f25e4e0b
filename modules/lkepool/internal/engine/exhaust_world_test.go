package engine_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// smallBound bounds a small world. It never changes.
type smallBound struct {
	name string
	size int
	cfg  lkepool.Config
	// poolSize is how many nodes a pool has at most: 1 makes the second one go to a second pool.
	poolSize int
	// claimants is how many there are. apart: all but the first come at any step after that
	// one has its node; otherwise all come at once.
	claimants int
	apart     bool
	// releases: the first claimant gives its node back, at any step after it has one.
	releases bool
	// faults is how many effects at most fail, are slow, or are answered 404 wrongly.
	faults int
	// only are the faults that there are, nil for all; by are the writes that have them, nil for all requests.
	only []moveKind
	by   []engine.Op
	// crash: the process dies at any step, once; clean: it ends without a write under way.
	crash, clean bool
	// arrives is how long after its purchase a node has an instance.
	arrives time.Duration
}

func (*smallBound) SharedByClones() {}

// smallWorld is the core, the platform, two claimants, and the requests between them.
type smallWorld struct {
	bound *smallBound
	now   time.Time
	core  *engine.Core
	// began is when the process that leads did.
	began    time.Time
	platform smallPlatform
	// under are the requests without an answer, late the writes that were answered with
	// an error, or not at all, and may take effect yet.
	under     []smallEffect
	late      []smallEffect
	claimants []smallClaimant
	sweep     smallSweep
	// faults and ends are how many faults and take-overs are left.
	faults int
	over   bool
	// excused is how many nodes may be bought besides those that claimants need.
	excused int
	broken  string
}

// smallEffect is a request under way.
type smallEffect struct {
	action engine.Action
	sent   time.Time
	// landed: it has taken effect; answer is what the platform returns for it.
	landed bool
	answer engine.Done
	// slow: time passes without its answer.
	slow bool
	// until is how long a late one may take effect.
	until time.Time
}

type smallClaimant struct {
	who claims.Claimant
	// token is that of its call, 0 for none; calls counts them.
	token, calls int
	// again is when it calls again, the zero time for not.
	again time.Time
	// came: it has called Claim. gone: it does not exist any more.
	came, gone bool
	// handed is the instance that it was given last.
	handed    int
	releasing bool
}

// smallSweep is what a controller does every two minutes.
type smallSweep struct {
	at    time.Time
	token int
	stage engine.AskKind
	alive []claims.Claimant
	runs  int
}

// smallMove is what happens next.
type smallMove struct {
	kind moveKind
	// effect is an index of under or late, view one of the platform's views, claimant one of claimants.
	effect, view, claimant int
}

type moveKind int

const (
	// moveWait lets time pass until something is due.
	moveWait moveKind = iota
	// moveComes and moveReleases are a claimant's.
	moveComes
	moveReleases
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
	sweepToken   = 1
)

var (
	smallEpoch = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	smallKey   = lkepool.Key{NodePool: "web", InstanceType: "g6-standard-2"}
	smallTags  = engine.NewTagging(claims.Tags{})
)

func newSmallWorld(b *smallBound) *smallWorld {
	w := &smallWorld{bound: b, now: smallEpoch, faults: b.faults, over: !b.crash && !b.clean}
	for _, name := range []string{"a", "b", "c"}[:b.claimants] {
		w.claimants = append(w.claimants, smallClaimant{who: claims.Claimant{Name: name, UID: "uid-" + name}})
	}
	w.platform.record(w.now)
	w.lead(true)
	w.come(0)
	for i := 1; i < b.claimants && !b.apart; i++ {
		w.come(i)
	}
	w.settle()
	return w
}

func (w *smallWorld) lead(clean bool) {
	w.core = engine.New(w.bound.cfg, lkepool.Limits{PoolSize: w.bound.poolSize}, w.now, clean)
	w.began = w.now
	w.sweep = smallSweep{at: w.now.Add(smallSweepEvery)}
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
	var moves []smallMove
	for i := range w.claimants {
		switch c := &w.claimants[i]; {
		case !c.came:
			if w.claimants[0].handed != 0 {
				moves = append(moves, smallMove{kind: moveComes, claimant: i})
			}
		case i == 0 && w.bound.releases && !c.releasing && !c.gone && c.handed != 0:
			moves = append(moves, smallMove{kind: moveReleases, claimant: i})
		}
	}
	waits := true
	for i := range w.under {
		if w.sendable(i) {
			moves = append(moves, w.movesOf(i)...)
			waits = waits && w.under[i].slow
		}
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

// movesOf are the ends that a request may have.
func (w *smallWorld) movesOf(i int) (moves []smallMove) {
	e := &w.under[i]
	add := func(kind moveKind) { moves = append(moves, smallMove{kind: kind, effect: i}) }
	switch {
	case !e.action.Op.Write():
		seen := map[string]bool{}
		for v, view := range w.viewsOf(e) {
			if shows := view.textOf(e.action); !seen[shows] {
				seen[shows] = true
				moves = append(moves, smallMove{kind: moveShows, effect: i, view: v})
			}
		}
	case e.landed:
		add(moveAnswers)
	default:
		add(moveLands)
	}
	if w.faults == 0 || w.bound.by != nil && !slices.Contains(w.bound.by, e.action.Op) {
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
	case e.action.Op.Write() && e.landed:
		kinds = []moveKind{moveLosesAnswer}
	case e.action.Op.Write():
		kinds = []moveKind{moveFails, moveIsLate}
	case e.action.Op == engine.OpGetInstance || e.action.Op == engine.OpGetPool:
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
	lag := w.bound.cfg.SettleTime
	if e.action.Op == engine.OpListPools || e.action.Op == engine.OpListInstances {
		lag = tuning.ListLag
	}
	return w.platform.views(e.sent, lag)
}

func (w *smallWorld) takeOvers() (moves []smallMove) {
	writes := slices.ContainsFunc(w.under, func(e smallEffect) bool { return e.action.Op.Write() })
	if w.bound.crash {
		moves = append(moves, smallMove{kind: moveCrashes})
	}
	if w.bound.clean && !writes && len(w.late) == 0 {
		moves = append(moves, smallMove{kind: moveEnds})
	}
	return moves
}

// sendable reports whether no earlier write holds the lock of a request, as the shell's
// keyed locks have it: two writes to one object do not overlap, but for removals by name.
func (w *smallWorld) sendable(i int) bool {
	lock, shared := lockOf(w.under[i].action)
	if lock == "" {
		return true
	}
	return !slices.ContainsFunc(w.under, func(e smallEffect) bool {
		other, sharing := lockOf(e.action)
		return other == lock && !(shared && sharing) && e.action.Op != w.under[i].action.Op && e.sent.Before(w.under[i].sent)
	})
}

func lockOf(a engine.Action) (lock string, shared bool) {
	switch a.Op {
	case engine.OpMark:
		return claims.Object("instance", a.InstanceID), false
	case engine.OpScale, engine.OpDrop:
		return claims.Object("pool", a.PoolID), false
	case engine.OpRemove:
		return claims.Object("pool", a.PoolID), true
	}
	return "", false
}

// next is when something is due after now.
func (w *smallWorld) next() time.Time {
	next := w.platform.next()
	if !w.core.Idle() {
		next = sooner(next, w.core.Wake())
	}
	next = sooner(next, w.sweep.at)
	for _, c := range w.claimants {
		next = sooner(next, c.again)
	}
	for _, e := range w.under {
		next = sooner(next, w.expires(e))
	}
	for _, e := range w.late {
		next = sooner(next, e.until)
	}
	return next
}

// expires is when a request ends without an answer, or is not sent any more.
func (w *smallWorld) expires(e smallEffect) time.Time {
	if e.action.Op.Write() {
		return e.sent.Add(tuning.WriteTimeout)
	}
	return e.sent.Add(tuning.ReadTimeout)
}

// idle: no caller waits, nothing is under way nor will be, and all is in order.
func (w *smallWorld) idle() bool {
	return len(w.under) == 0 && len(w.late) == 0 && w.sweep.token == 0 && w.platform.next().IsZero() && w.disorder() == "" &&
		!slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return c.token != 0 || !c.again.IsZero() })
}

// atRest: so it is, and the claimants have done all that they do.
func (w *smallWorld) atRest() bool {
	return !slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return !c.came }) && (!w.bound.releases || w.claimants[0].gone) &&
		w.idle()
}

// sortKey orders requests, so that two orders of sending make one world.
func (e smallEffect) sortKey() string {
	a := e.action
	key := []byte(string(a.Op) + a.NodeID)
	for _, n := range []int{a.PoolID, a.InstanceID, a.Count, int(e.sent.UnixNano())} {
		key = binary.AppendVarint(key, int64(n))
	}
	return string(key)
}

func (w *smallWorld) settle() {
	if len(w.under) < 2 && len(w.late) < 2 {
		return
	}
	byKey := func(a, b smallEffect) int { return strings.Compare(a.sortKey(), b.sortKey()) }
	slices.SortStableFunc(w.under, byKey)
	slices.SortStableFunc(w.late, byKey)
}
