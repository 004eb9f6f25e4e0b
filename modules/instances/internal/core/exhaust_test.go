package core

import (
	"cmp"
	"flag"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
)

var (
	exhaustWhole = flag.Bool("exhaust", false, "search the large ones of the small worlds, too")
	exhaustMost  = flag.Int("exhaust-most", 0, "end each search after so many states; by default the largest ends after half a million")
)

// The sizes of searches: for the short tests, for all tests, and for `make exhaust`.
const (
	sizeShort = iota
	sizeTest
	sizeWhole
)

// smallBound bounds a small world. It never changes.
type smallBound struct {
	name string
	size int
	// part is after how many states the search ends, 0 for never.
	part int
	// apart: the second claimant comes at any step after the first has its instance;
	// otherwise both come at once. heir: it has the name of the first, and comes when that
	// has begun to release its instance.
	apart, heir bool
	// disks is how many data disks the first claimant's instance has, alone: there is no second claimant.
	disks int
	alone bool
	// edits: the tags of the first claimant's instance are changed twice.
	edits bool
	// releases: the first claimant deletes its instance, at any step after it has one;
	// quits: it ends without that.
	releases, quits bool
	// Of what may happen to requests by are the kinds of requests that have faults, nil for all.
	fate.Bound
	by []Op
}

func (*smallBound) SharedByClones() {}

// smallBounds are the small worlds.
func smallBounds() []smallBound {
	late := []fate.Kind{fate.IsLate}
	unanswered := []fate.Kind{fate.IsLate, fate.LosesAnswer}
	parts := []Op{OpAddDisk, OpAttach, OpBoot, OpTag}
	return []smallBound{
		{name: "together", size: sizeShort},
		{name: "apart", apart: true, size: sizeShort},
		{name: "alone, a data disk", alone: true, disks: 1, size: sizeShort},
		{name: "together, 1 fault", Bound: fate.Bound{Faults: 1}, size: sizeTest},
		{name: "together, clean end", Bound: fate.Bound{Clean: true}, size: sizeTest},
		{name: "together, crash", Bound: fate.Bound{Crash: true}, size: sizeTest},
		{name: "apart, release", apart: true, releases: true, size: sizeTest},
		{name: "apart, 1 fault", apart: true, Bound: fate.Bound{Faults: 1}, size: sizeTest},
		{name: "apart, crash", apart: true, Bound: fate.Bound{Crash: true}, size: sizeTest},
		{name: "an heir of the name", heir: true, releases: true, size: sizeTest},
		{name: "alone, quits, 1 fault", alone: true, quits: true, Bound: fate.Bound{Faults: 1}, size: sizeTest},
		{name: "alone, tags, 1 fault", alone: true, edits: true, Bound: fate.Bound{Faults: 1}, size: sizeTest},
		{name: "alone, a data disk, 1 step without an answer", alone: true, disks: 1, Bound: fate.Bound{Faults: 1, Only: unanswered},
			by: parts, size: sizeTest},
		{name: "alone, tags, crash, 1 late write", alone: true, edits: true, Bound: fate.Bound{Crash: true, Faults: 1, Only: late},
			size: sizeTest},
		{name: "alone, release, crash, 1 late write", alone: true, releases: true, Bound: fate.Bound{Crash: true, Faults: 1, Only: late},
			size: sizeTest},
		{name: "alone, a data disk, crash", alone: true, disks: 1, Bound: fate.Bound{Crash: true}, size: sizeWhole},
		{name: "alone, a data disk, crash, 1 late write", alone: true, disks: 1, Bound: fate.Bound{Crash: true, Faults: 1, Only: late},
			part: 500_000, size: sizeWhole},
		{name: "apart, release, 1 fault", apart: true, releases: true, Bound: fate.Bound{Faults: 1}, size: sizeWhole},
		{name: "apart, 2 faults", apart: true, Bound: fate.Bound{Faults: 2}, size: sizeWhole},
		{name: "apart, crash, 1 fault", apart: true, Bound: fate.Bound{Crash: true, Faults: 1}, size: sizeWhole},
		{name: "together, 2 faults", Bound: fate.Bound{Faults: 2}, size: sizeWhole},
		{name: "together, crash, 1 fault", Bound: fate.Bound{Crash: true, Faults: 1}, size: sizeWhole},
		{name: "an heir of the name, 1 fault", heir: true, releases: true, Bound: fate.Bound{Faults: 1}, size: sizeWhole},
	}
}

// TestExhaustion searches small worlds completely: every order in which requests end,
// every fate that they may have, and every version that a reading may show.
func TestExhaustion(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	size := sizeTest
	switch {
	case *exhaustWhole:
		size = sizeWhole
	case testing.Short():
		size = sizeShort
	}
	for _, b := range smallBounds() {
		if b.size <= size {
			t.Run(b.name, func(t *testing.T) { exhaust(t, b) })
		}
	}
}

func exhaust(t *testing.T, b smallBound) {
	t.Helper()
	b.LateEffect = Settings{}.WithDefaults().LateEffect
	explore.Search[*smallWorld, fate.Move]{
		Start: func() *smallWorld { return newSmallWorld(&b) }, Workers: runtime.GOMAXPROCS(0), Most: cmp.Or(*exhaustMost, b.part), Recheck: 5000,
		// Fields that a turn writes and that no later turn reads.
		Ignore: []string{"known.terms.now", "event.Effect.Reason"},
	}.Test(t, *exhaustWhole)
}
