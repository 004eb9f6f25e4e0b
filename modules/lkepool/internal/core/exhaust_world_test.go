package core_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

// smallBound bounds a small world. It never changes.
type smallBound struct {
	name string
	size int
	// part is after how many states the search ends, 0 for never.
	part int
	cfg  lkepool.Config
	// poolSize is how many nodes a pool has at most: 1 makes the second one go to a second pool.
	poolSize int
	// claimants is how many there are. apart: all but the first come at any step after that
	// one has its node; otherwise all come at once.
	claimants int
	apart     bool
	// releases: the first claimant gives its node back, at any step after it has one.
	releases bool
	// Of what may happen to requests by are the actions that have faults, nil for all.
	fate.Bound
	by []core.Op
	// arrives is how long after its purchase a node has an instance.
	arrives time.Duration
}

func (*smallBound) SharedByClones() {}

// smallWorld is the core, the platform, two claimants, and the requests between them.
type smallWorld struct {
	bound *smallBound
	now   time.Time
	core  *core.Core
	// began is when the process that leads did.
	began     time.Time
	platform  smallPlatform
	requests  fate.Requests[core.Action, core.Done]
	claimants []smallClaimant
	sweep     smallSweep
	// excused is how many nodes may be bought besides the nodes that claimants need.
	excused int
	broken  string
}

type smallRequest = fate.Request[core.Action, core.Done]

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

// smallSweep does the work of a controller that runs every two minutes.
type smallSweep struct {
	at    time.Time
	token int
	stage core.AskKind
	alive []claims.Claimant
	runs  int
}

// The moves of claimants: one comes, and releases its node.
const (
	moveComes = fate.Own + iota
	moveReleases
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
	smallTags  = core.NewTagging(claims.Tags{})
)

func newSmallWorld(b *smallBound) *smallWorld {
	w := &smallWorld{bound: b, now: smallEpoch, requests: fate.New[core.Action, core.Done](&b.Bound)}
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
	w.core = core.New(w.bound.cfg, lkepool.Limits{PoolSize: w.bound.poolSize}, w.now, clean)
	w.began = w.now
	w.sweep = smallSweep{at: w.now.Add(smallSweepEvery)}
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
	var moves []fate.Move
	for i := range w.claimants {
		switch c := &w.claimants[i]; {
		case !c.came:
			if w.claimants[0].handed != 0 {
				moves = append(moves, fate.Move{Kind: moveComes, Claimant: i})
			}
		case i == 0 && w.bound.releases && !c.releasing && !c.gone && c.handed != 0:
			moves = append(moves, fate.Move{Kind: moveReleases, Claimant: i})
		}
	}
	ofRequests, passes := w.requests.Moves(w, w.locked)
	moves = append(moves, ofRequests...)
	if passes && !w.next().IsZero() && (!w.idle() || w.now.Sub(w.began) <= smallIdle) {
		moves = append(moves, fate.Move{Kind: fate.Waits})
	}
	return moves
}

// views are the versions that a read may show.
func (w *smallWorld) views(r *smallRequest) []fate.View[smallState] {
	lag := w.bound.cfg.SettleTime
	if !r.Single {
		lag = w.bound.cfg.ListLag
	}
	return w.platform.shown.Of(r.Sent, lag)
}

// locked reports whether an earlier write holds the lock of a request, as the shell's
// keyed locks have it: two writes to one object do not overlap, but for removals by name.
func (w *smallWorld) locked(r *smallRequest) bool {
	lock, shared := lockOf(r.Action)
	if lock == "" {
		return false
	}
	return slices.ContainsFunc(w.requests.Under, func(before smallRequest) bool {
		other, sharing := lockOf(before.Action)
		return other == lock && (!shared || !sharing) && before.Action.Op != r.Action.Op && before.Sent.Before(r.Sent)
	})
}

func lockOf(a core.Action) (lock string, shared bool) {
	switch a.Op {
	case core.OpMark:
		return claims.Object("instance", a.InstanceID), false
	case core.OpScale, core.OpRetire, core.OpDrop:
		return claims.Object("pool", a.PoolID), false
	case core.OpRemove:
		return claims.Object("pool", a.PoolID), true
	}
	return "", false
}

// next is when something is due after now.
func (w *smallWorld) next() time.Time {
	next := fate.Sooner(w.platform.next(), w.requests.Next())
	if !w.core.Idle() {
		next = fate.Sooner(next, w.core.Wake())
	}
	next = fate.Sooner(next, w.sweep.at)
	for _, c := range w.claimants {
		next = fate.Sooner(next, c.again)
	}
	return next
}

// idle: no caller waits, nothing is under way nor will be, and all is in order.
func (w *smallWorld) idle() bool {
	return w.requests.None() && w.sweep.token == 0 && w.platform.next().IsZero() && w.disorder() == "" &&
		!slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return c.token != 0 || !c.again.IsZero() })
}

// atRest: so it is, and the claimants have done all that they do.
func (w *smallWorld) atRest() bool {
	return !slices.ContainsFunc(w.claimants, func(c smallClaimant) bool { return !c.came }) && (!w.bound.releases || w.claimants[0].gone) &&
		w.idle()
}

// sortKey orders requests.
func sortKey(r *smallRequest) string {
	a := r.Action
	key := []byte(string(a.Op) + a.NodeID)
	for _, n := range []int{a.PoolID, a.InstanceID, a.Count, int(r.Sent.UnixNano())} {
		key = binary.AppendVarint(key, int64(n))
	}
	return string(key)
}

func (w *smallWorld) settle() { w.requests.Sort(sortKey) }
