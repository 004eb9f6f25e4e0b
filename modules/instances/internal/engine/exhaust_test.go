package engine

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/explore"
)

var (
	exhaustWhole = flag.Bool("exhaust", false, "search the large ones of the small worlds, too")
	exhaustMost  = flag.Int("exhaust-most", 300_000, "end each search after so many states; 0 is never")
)

// The sizes of searches: those of the short tests, of all tests, and of `make exhaust`.
const (
	sizeShort = iota
	sizeTest
	sizeWhole
)

// smallBound bounds a small world. It never changes.
type smallBound struct {
	name string
	size int
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
	// faults is how many requests at most fail, are slow, or are answered 404 wrongly.
	faults int
	// only are the faults that there are, nil for all; by are the requests that have them, nil for all.
	only []moveKind
	by   []Op
	// crash: the process dies at any step, once; clean: it ends without a write under way.
	crash, clean bool
}

func (*smallBound) SharedByClones() {}

// smallBounds are the small worlds. Those of sizeWhole may be searched in part: see
// -exhaust-most.
func smallBounds() []smallBound {
	late := []moveKind{moveIsLate}
	unanswered := []moveKind{moveIsLate, moveLosesAnswer}
	parts := []Op{OpAddDisk, OpAttach, OpBoot, OpTag}
	return []smallBound{
		{name: "together", size: sizeShort},
		{name: "apart", apart: true, size: sizeShort},
		{name: "alone, a data disk", alone: true, disks: 1, size: sizeShort},
		{name: "together, 1 fault", faults: 1, size: sizeTest},
		{name: "apart, release", apart: true, releases: true, size: sizeTest},
		{name: "an heir of the name", heir: true, releases: true, size: sizeTest},
		{name: "alone, tags, 1 fault", alone: true, edits: true, faults: 1, size: sizeTest},
		{name: "alone, crash", alone: true, crash: true, size: sizeTest},
		{name: "apart, 1 fault", apart: true, faults: 1, size: sizeWhole},
		{name: "together, clean end", clean: true, size: sizeWhole},
		{name: "together, crash", crash: true, size: sizeWhole},
		{name: "apart, crash", apart: true, crash: true, size: sizeWhole},
		{name: "an heir of the name, 1 fault", heir: true, releases: true, faults: 1, size: sizeWhole},
		{name: "alone, quits, 1 fault", alone: true, quits: true, faults: 1, size: sizeWhole},
		{name: "alone, a data disk, 1 step without an answer", alone: true, disks: 1, faults: 1, only: unanswered, by: parts, size: sizeWhole},
		{name: "alone, a data disk, crash", alone: true, disks: 1, crash: true, size: sizeWhole},
		{name: "alone, tags, crash, 1 late write", alone: true, edits: true, crash: true, faults: 1, only: late, size: sizeWhole},
		{name: "alone, release, crash, 1 late write", alone: true, releases: true, crash: true, faults: 1, only: late, size: sizeWhole},
		{name: "together, 2 faults", faults: 2, size: sizeWhole},
		{name: "together, crash, 1 fault", crash: true, faults: 1, size: sizeWhole},
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
	r := explore.Search[*smallWorld, smallMove]{
		Start: func() *smallWorld { return newSmallWorld(&b) }, Workers: runtime.GOMAXPROCS(0), Most: *exhaustMost, Recheck: 5000,
		// What one turn leaves behind and the next does not read.
		Ignore: []string{"belief.Terms.Now", "event.Effect.Reason"},
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
