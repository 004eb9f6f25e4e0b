package engine_test

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/explore"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

var (
	exhaustWhole = flag.Bool("exhaust", false, "search the large ones of the small worlds, too")
	exhaustMost  = flag.Int("exhaust-most", 1_000_000, "end each search after so many states; 0 is never")
)

// A write that is not answered, and takes effect later or never.
var (
	late     = []moveKind{moveIsLate}
	removals = []engine.Op{engine.OpRemove, engine.OpDrop}
	counts   = []engine.Op{engine.OpScale}
	writes   = []engine.Op{engine.OpCreate, engine.OpScale, engine.OpMark, engine.OpRemove, engine.OpDrop}
)

// The sizes of searches: those of the short tests, of all tests, and of `make exhaust`.
const (
	sizeShort = iota
	sizeTest
	sizeWhole
)

// smallBounds are the small worlds. Those of sizeWhole may be searched in part: see
// -exhaust-most.
func smallBounds() []smallBound {
	return []smallBound{
		{name: "together", size: sizeShort},
		{name: "apart", apart: true, size: sizeShort},
		{name: "apart, two pools", apart: true, poolSize: 1, size: sizeShort},
		{name: "apart, release", apart: true, releases: true, size: sizeTest},
		{name: "together, 1 fault", faults: 1, size: sizeTest},
		{name: "together, clean end", clean: true, size: sizeTest},
		{name: "apart, clean end", apart: true, clean: true, size: sizeTest},
		{name: "apart, 1 fault", apart: true, faults: 1, size: sizeWhole},
		{name: "together, crash", crash: true, size: sizeWhole},
		{name: "apart, crash", apart: true, crash: true, size: sizeWhole},
		{name: "apart, two pools, crash", apart: true, crash: true, poolSize: 1, size: sizeWhole},
		{name: "apart, release, a removal that is late", apart: true, releases: true, faults: 1, only: late, by: removals, size: sizeWhole},
		{name: "three apart, a count that is late", claimants: 3, apart: true, faults: 1, only: late, by: counts, size: sizeWhole},
		{name: "together, 2 writes with a fault", faults: 2, by: writes, size: sizeWhole},
		{name: "together, clean end, 1 fault", clean: true, faults: 1, size: sizeWhole},
		{name: "together, crash, 1 write with a fault", crash: true, faults: 1, by: writes, size: sizeWhole},
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
	b.poolSize, b.claimants, b.arrives = cmp.Or(b.poolSize, 100), cmp.Or(b.claimants, 2), cmp.Or(b.arrives, 2*time.Second)
	r := explore.Search[*smallWorld, smallMove]{
		Start: func() *smallWorld { return newSmallWorld(&b) }, Workers: runtime.GOMAXPROCS(0), Most: *exhaustMost, Recheck: 5000,
		// What one turn leaves behind and the next does not read.
		Ignore: []string{"decide.turn.actions", "decide.turn.now", "decide.turn.wakeAt", "decide.reader.reading", "event.Action.Reason"},
		Every:  30 * time.Second, Progress: func(r explore.Report) {
			if *exhaustWhole {
				fmt.Printf("%s: %s, %s\n", b.name, r, r.Took.Round(time.Second))
			}
		},
	}.Run()
	t.Log(r)
	if !r.Complete && !*exhaustWhole {
		t.Error("the search is not complete")
	}
	for _, f := range r.Failed {
		t.Error(f.Why)
		for _, m := range f.Moves {
			t.Log(m)
		}
	}
}
