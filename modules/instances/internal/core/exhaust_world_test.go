package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// smallWorld is the core, the platform, one claimant or two, and the requests between them.
type smallWorld struct {
	bound    *smallBound
	settings Settings
	now      time.Time
	core     *Core
	// began is when the process that leads did.
	began     time.Time
	platform  smallPlatform
	calls     []*smallCall
	requests  fate.Requests[Effect, Result]
	claimants []smallClaimant
	// sweep is when the next one begins, sweeping counts the calls of the last.
	sweep    time.Time
	sweeping int
	broken   string
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

type smallRequest = fate.Request[Effect, Result]

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

// The moves of claimants: one comes, releases its instance, or ends without that.
const (
	moveComes = fate.Own + iota
	moveReleases
	moveQuits
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
		bound: b, settings: Settings{Cluster: "demo"}.WithDefaults(), now: smallEpoch, requests: fate.New[Effect, Result](&b.Bound),
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
func (w *smallWorld) Moves() []fate.Move {
	if w.broken != "" || w.atRest() {
		return nil
	}
	// No two writes to an instance are under way: see checkSent.
	ofRequests, passes := w.requests.Moves(w, func(*smallRequest) bool { return false })
	moves := append(w.movesOfClaimants(), ofRequests...)
	if passes && !w.next().IsZero() && (!w.idle() || w.now.Sub(w.began) <= smallIdle) {
		moves = append(moves, fate.Move{Kind: fate.Waits})
	}
	return moves
}

func (w *smallWorld) movesOfClaimants() (moves []fate.Move) {
	first := &w.claimants[0]
	for n := range w.claimants {
		if c := &w.claimants[n]; !c.came && (w.bound.heir && first.releasing || !w.bound.heir && first.handed != 0) {
			moves = append(moves, fate.Move{Kind: moveComes, Claimant: n})
		}
	}
	if w.bound.releases && !first.releasing && first.handed != 0 && !first.editing {
		moves = append(moves, fate.Move{Kind: moveReleases})
	}
	if w.bound.quits && first.lives() {
		moves = append(moves, fate.Move{Kind: moveQuits})
	}
	return moves
}

// views are the versions that a read may show.
func (w *smallWorld) views(r *smallRequest) []fate.View[smallState] {
	lag := w.settings.SettleTime
	if !r.Single {
		lag = w.settings.ListLag
	}
	return w.platform.shown.Of(r.Sent, lag)
}

// next is when something is due after now.
func (w *smallWorld) next() time.Time {
	next := fate.Sooner(fate.Sooner(w.platform.next(), w.sweep), w.requests.Next())
	for _, c := range w.claimants {
		next = fate.Sooner(fate.Sooner(next, c.again), c.editNext)
	}
	for _, c := range w.calls {
		next = fate.Sooner(next, c.until)
	}
	return next
}

// idle is true if no caller waits, no request is under way or due, and no invariant is broken.
func (w *smallWorld) idle() bool {
	return len(w.calls) == 0 && w.requests.None() && w.platform.next().IsZero() && w.disorder() == "" &&
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
	w.requests.Sort(sortKey)
	w.renumber()
}

// sortKey orders requests.
func sortKey(r *smallRequest) string {
	e := &r.Action
	key := []byte(string(e.Op) + e.Text + e.Who.Value + e.Who.UID + e.Disk + strings.Join(e.Tags, ","))
	for _, n := range []int{e.ID, e.DiskID, int(r.Sent.UnixNano()), int(r.Until.UnixNano())} {
		key = binary.AppendVarint(key, int64(n))
	}
	return string(key)
}

// renumber replaces the numbers by which calls ignore what failed before them by their ranks: only their order counts.
func (w *smallWorld) renumber() {
	numbers := seqsIn(reflect.ValueOf(w.core).Elem(), nil)
	for _, c := range w.calls {
		numbers = seqsIn(reflect.ValueOf(c.Call).Elem(), numbers)
	}
	slices.SortFunc(numbers, func(a, b *event.Seq) int { return cmp.Compare(*a, *b) })
	last, rank := event.Seq(0), event.Seq(0) // 0 is never
	for _, n := range numbers {
		if *n != last {
			last, rank = *n, rank+1
		}
		*n = rank
	}
}

// seqsIn adds the addresses of all numbers of calls and results in a value, each once.
func seqsIn(v reflect.Value, all []*event.Seq) []*event.Seq {
	if !hasSeq(v.Type()) {
		return all
	}
	switch v.Kind() {
	case reflect.Int:
		if at := (*event.Seq)(v.Addr().UnsafePointer()); !slices.Contains(all, at) {
			all = append(all, at)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			all = seqsIn(v.Elem(), all)
		}
	case reflect.Struct:
		for n := range v.NumField() {
			all = seqsIn(v.Field(n), all)
		}
	case reflect.Slice:
		for n := range v.Len() {
			all = seqsIn(v.Index(n), all)
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			all = seqsIn(each.Value(), all)
		}
	}
	return all
}

// seqTypes remembers which types contain numbers.
var seqTypes sync.Map

// hasSeq reports whether values of a type contain numbers of calls and results.
func hasSeq(of reflect.Type) bool {
	if has, known := seqTypes.Load(of); known {
		return has.(bool)
	}
	has := of == reflect.TypeFor[event.Seq]()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		has = has || hasSeq(of.Elem())
	case reflect.Struct:
		for n := range of.NumField() {
			has = has || hasSeq(of.Field(n).Type)
		}
	}
	seqTypes.Store(of, has)
	return has
}
