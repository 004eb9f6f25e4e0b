package core_test

import (
	"cmp"
	"flag"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/explore/fate"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core"
)

var (
	exhaustWhole = flag.Bool("exhaust", false, "search the large ones of the small worlds, too")
	exhaustMost  = flag.Int("exhaust-most", 0, "end each search after so many states; by default the largest ones end after half a million")
)

// A write that is not answered, and takes effect later or never.
var (
	late     = []fate.Kind{fate.IsLate}
	removals = []core.Op{core.OpRemove, core.OpRetire, core.OpDrop}
	counts   = []core.Op{core.OpScale}
	writes   = []core.Op{core.OpCreate, core.OpScale, core.OpMark, core.OpRemove, core.OpRetire, core.OpDrop}
)

// The sizes of searches: for the short tests, for all tests, and for `make exhaust`.
const (
	sizeShort = iota
	sizeTest
	sizeWhole
)

// sizePart is how many states are searched of a world that is too large for all of them.
const sizePart = 500_000

// smallBounds are the small worlds.
func smallBounds() []smallBound {
	return []smallBound{
		{name: "together", size: sizeShort},
		{name: "apart", apart: true, size: sizeShort},
		{name: "apart, two pools", apart: true, poolSize: 1, size: sizeShort},
		{name: "apart, release", apart: true, releases: true, size: sizeTest},
		{name: "together, 1 fault", Bound: fate.Bound{Faults: 1}, size: sizeTest},
		{name: "together, clean end", Bound: fate.Bound{Clean: true}, size: sizeTest},
		{name: "apart, clean end", apart: true, Bound: fate.Bound{Clean: true}, size: sizeTest},
		{name: "apart, 1 fault", apart: true, Bound: fate.Bound{Faults: 1}, size: sizeWhole},
		{name: "together, crash", Bound: fate.Bound{Crash: true}, size: sizeWhole},
		{name: "apart, crash", apart: true, Bound: fate.Bound{Crash: true}, size: sizeWhole},
		{name: "apart, two pools, crash", apart: true, poolSize: 1, Bound: fate.Bound{Crash: true}, part: sizePart, size: sizeWhole},
		{name: "apart, release, a removal that is late", apart: true, releases: true, Bound: fate.Bound{Faults: 1, Only: late}, by: removals,
			size: sizeWhole},
		{name: "three apart, a count that is late", claimants: 3, apart: true, Bound: fate.Bound{Faults: 1, Only: late}, by: counts,
			part: sizePart, size: sizeWhole},
		{name: "together, 2 writes with a fault", Bound: fate.Bound{Faults: 2}, by: writes, part: sizePart, size: sizeWhole},
		{name: "together, clean end, 1 fault", Bound: fate.Bound{Faults: 1, Clean: true}, part: sizePart, size: sizeWhole},
		{name: "together, crash, 1 write with a fault", Bound: fate.Bound{Faults: 1, Crash: true}, by: writes, part: sizePart,
			size: sizeWhole},
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
		if b.size > size {
			continue
		}
		t.Run(b.name, func(t *testing.T) { exhaust(t, b) })
	}
}

func exhaust(t *testing.T, b smallBound) {
	t.Helper()
	b.cfg = b.cfg.WithDefaults()
	b.cfg.Records = noRecords{}
	b.LateEffect = b.cfg.LateEffect
	b.poolSize, b.claimants, b.arrives = cmp.Or(b.poolSize, 100), cmp.Or(b.claimants, 2), cmp.Or(b.arrives, 2*time.Second)
	explore.Search[*smallWorld, fate.Move]{
		Start: func() *smallWorld { return newSmallWorld(&b) }, Workers: runtime.GOMAXPROCS(0), Most: cmp.Or(*exhaustMost, b.part), Recheck: 5000,
		// What one turn leaves behind and the next does not read.
		Ignore: []string{"known.settings.now", "event.Action.Reason"},
	}.Test(t, *exhaustWhole)
}

// noRecords is a caller that stores none of its claims.
type noRecords struct{}

func (noRecords) Holder(int) (claims.Claimant, bool) { return claims.Claimant{}, false }
