package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

const (
	// A burst that has not ended by then never will.
	patience = time.Hour
	// upFor is how long a process has led when a burst comes: longer than lists
	// may lag, because until then the engine reads each instance before it
	// claims it.
	upFor = 3 * time.Minute
	// claimedBefore is how many nodes a restarted process finds.
	claimedBefore = 10
)

// scene is which claimants come, and to what.
type scene struct {
	tier    string
	profile linodesim.Profile
	n       int
	seed    uint64
	// keys: each claimant has its own key, instead of one key for all claimants.
	keys bool
	// restarted: the process began to lead up to two minutes ago, by the seed, in
	// a cluster that has claimed nodes.
	restarted bool
	// lag is how far lists are behind.
	lag time.Duration
	// spread is the time over which the claimants arrive.
	spread time.Duration
	// class is the class of the nodes in instance mode, "" in lke mode.
	class string
}

// runBurst measures one burst.
func runBurst(t *testing.T, s scene) bench.Burst {
	t.Helper()
	var b bench.Burst
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, s.tier, s.profile, s.seed)
		if s.lag > 0 {
			l.sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: s.lag}})
		}
		o := s.start(t, l)
		if t.Failed() {
			return
		}
		present, began := l.present(), time.Now()
		b = l.measure(t, o, s)
		bought := l.boughtSince(began)
		b.Requested, b.Present, b.Purchases = bought.nodes, l.present()-present, bought.purchases
		b.Visible, b.Asked = l.sim.Floor(began).Last.Sub(began)+s.unseen(), bought.last.Sub(began)
	})
	return b
}

// measure lets the claimants come, and counts what that costs.
func (l *lab) measure(t *testing.T, o *operator, s scene) bench.Burst {
	t.Helper()
	before, began := l.tally(), time.Now()
	l.log.start()
	attempts := o.burst(t, s)
	took, calls := time.Since(began), l.tally().since(before)
	if *trace {
		for _, line := range l.log.lines {
			fmt.Println(line)
		}
	}
	for route, n := range calls.routes {
		t.Logf("%5d %s", n, route)
	}
	return bench.Burst{
		Tier: s.tier, Profile: s.profile.Name, N: s.n, Took: took, Attempts: attempts,
		Calls: calls.calls, CollectionGETs: calls.collectionGETs, Throttled: calls.throttled,
	}
}

// unseen is for how long lagging lists hide a node where only a list shows it:
// on Enterprise, and with many keys, whose pools are too many to read them one
// by one.
func (s scene) unseen() time.Duration {
	if s.tier == linodesim.Enterprise || s.keys {
		return s.lag
	}
	return 0
}

// start makes the operator that the claimants come to.
func (s scene) start(t *testing.T, l *lab) *operator {
	t.Helper()
	if s.restarted {
		newOperator(t, l, patience).fill(claimedBefore)
		time.Sleep(30 * time.Minute) // until all have joined
		l.lead(claims.MayStillWrite, &claims.RecordMap{})
	}
	o := newOperator(t, l, *createDeadline)
	for _, claim := range s.claims() {
		pool := claim.Labels[karpv1.NodePoolLabelKey]
		if pool == poolName {
			continue
		}
		if err := o.kube.Create(t.Context(), nodePool(pool)); err != nil {
			t.Fatal(err)
		}
	}
	if s.restarted {
		time.Sleep(time.Duration(s.seed%3) * 50 * time.Second)
	} else {
		time.Sleep(upFor)
	}
	return o
}

// claims returns new claimants.
func (s scene) claims() []*karpv1.NodeClaim {
	claims := make([]*karpv1.NodeClaim, s.n)
	for i := range claims {
		pool := poolName
		if s.keys {
			pool = fmt.Sprintf("pool-%03d", i)
		}
		claims[i] = nodeClaim(pool, claimedBefore+i)
	}
	return claims
}

// burst lets the claimants come, and returns when all have instances.
func (o *operator) burst(t *testing.T, s scene) (attempts int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		core    = newCore()
		owners  = map[string]string{}
		arrival = rand.New(rand.NewPCG(s.seed, 1))
	)
	for _, claim := range s.claims() {
		after := time.Duration(arrival.Float64() * float64(s.spread))
		group.Go(func() {
			if after > 0 {
				pause(ctx, after)
			}
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
