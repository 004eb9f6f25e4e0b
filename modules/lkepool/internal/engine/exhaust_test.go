package engine_test

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
	exhaustWhole = flag.Bool("exhaust", false, "search all small worlds, for about ten minutes on two cores")
	exhaustMost  = flag.Int("exhaust-most", 0, "end each search after so many states; 0 is never")
)

// smallBounds are the small worlds that are searched completely.
func smallBounds() []smallBound {
	return []smallBound{
		{name: "together"},
		{name: "apart", apart: true},
		{name: "apart, release", apart: true, releases: true},
		{name: "together, 1 fault", faults: 1},
		{name: "together, crash", crash: true},
		{name: "together, clean end", clean: true},
		{name: "apart, two pools", apart: true, poolSize: 1},
		{name: "together, 2 faults", faults: 2},
		{name: "together, clean end, 1 fault", clean: true, faults: 1},
		{name: "apart, 1 fault", apart: true, faults: 1},
		{name: "apart, crash", apart: true, crash: true},
		{name: "apart, two pools, crash", apart: true, crash: true, poolSize: 1},
		{name: "apart, release, 1 fault", apart: true, releases: true, faults: 1},
		{name: "together, crash, 1 fault", crash: true, faults: 1},
	}
}

// TestExhaustion searches small worlds completely: every order in which requests end,
// every fate that they may have, and every version that a reading may show.
func TestExhaustion(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, b := range smallBounds() {
		t.Run(b.name, func(t *testing.T) { exhaust(t, b) })
	}
}

func exhaust(t *testing.T, b smallBound) {
	t.Helper()
	b.cfg = b.cfg.WithDefaults()
	if b.poolSize == 0 {
		b.poolSize = 100
	}
	if b.arrives == 0 {
		b.arrives = 2 * time.Second
	}
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
	for _, f := range r.Failed {
		t.Error(f.Why)
		for _, m := range f.Moves {
			t.Log(m)
		}
	}
}
