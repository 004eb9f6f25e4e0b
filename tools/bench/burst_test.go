package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// A burst that has not ended by then never will.
const patience = time.Hour

// runBurst measures one burst of n claimants.
func runBurst(t *testing.T, tier string, profile linodesim.Profile, n int, seed uint64) bench.Burst {
	t.Helper()
	var b bench.Burst
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, tier, profile, seed)
		o := newOperator(t, l, *createDeadline)
		time.Sleep(time.Minute) // the process has been up for a while
		before, began := l.tally(), time.Now()
		l.log.start()
		attempts := o.burst(t, n)
		took, calls := time.Since(began), l.tally().since(before)
		requested, asked := l.requested()
		b = bench.Burst{
			Tier: tier, Profile: profile.Name, N: n,
			Calls: calls.calls, CollectionGETs: calls.collectionGETs, Throttled: calls.throttled,
			Requested: requested, Present: l.present(),
			Took: took, Visible: l.sim.Floor(began).Last.Sub(began), Asked: asked.Sub(began), Attempts: attempts,
		}
		if *trace {
			for _, line := range l.log.lines {
				fmt.Println(line)
			}
		}
		for route, n := range calls.routes {
			t.Logf("%5d %s", n, route)
		}
	})
	return b
}

// burst lets n NodeClaims come at once, and returns when all have instances.
func (o *operator) burst(t *testing.T, n int) (attempts int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		core   = newCore()
		owners = map[string]string{}
	)
	for i := range n {
		group.Go(func() {
			claim := nodeClaim(i)
			id, tries := core.launch(ctx, t, o, claim)
			mu.Lock()
			defer mu.Unlock()
			attempts = max(attempts, tries)
			if other := owners[id]; other != "" {
				t.Errorf("%s and %s both got %s", other, claim.Name, id)
			}
			owners[id] = claim.Name
		})
	}
	group.Wait()
	return attempts
}
