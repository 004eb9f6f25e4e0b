package bench_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// restFor is how long an operator at rest is watched.
const restFor = time.Hour

// runIdle counts what an operator with so many claimed nodes sends in an hour.
func runIdle(t *testing.T, tier string, nodes int) bench.Rest {
	t.Helper()
	r := bench.Rest{Tier: tier, Nodes: nodes, Length: restFor}
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, tier, linodesim.Realistic(), *seed)
		o := newOperator(t, l, patience)
		o.fill(nodes)
		if t.Failed() {
			return
		}
		// Until all have joined, and nothing is young any more.
		o.rest(30 * time.Minute)
		before := l.tally()
		l.log.start()
		o.rest(restFor)
		calls := l.tally().since(before)
		r.Calls, r.CollectionGETs, r.Throttled = calls.calls, calls.collectionGETs, calls.throttled
		if *trace {
			for _, line := range l.log.lines {
				fmt.Println(line)
			}
		}
		for _, route := range slices.Sorted(maps.Keys(calls.routes)) {
			t.Logf("%5d %s", calls.routes[route], route)
		}
	})
	return r
}
