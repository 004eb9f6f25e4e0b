package cloudprovider_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// LKE takes 2 to 4 seconds for a write. A NodeClaim that arrives in this time gets one node. So does a NodeClaim whose call of Create
// ends in this time and is repeated: a node is not bought twice, and is not given to two NodeClaims.
func TestWhatArrivesDuringAPurchaseIsBoughtOnce(t *testing.T) {
	if writes := linodesim.Realistic().WriteLKE; writes.Min < 2*time.Second {
		t.Fatalf("a write takes %s: nothing arrives in it", writes.Min)
	}
	at := func(n int, distance time.Duration) time.Duration { return time.Duration(n) * distance }
	for _, c := range []struct {
		name    string
		before  int                               // NodeClaims that have nodes, so that a count is raised instead of a pool made
		arrives func(n int) (after time.Duration) // of 12 NodeClaims
		create  time.Duration                     // that one call of Create takes at most
	}{
		{"a first one, and eleven while its pool is made", 0, func(n int) time.Duration { return at(min(n, 1), 1500*time.Millisecond) },
			time.Hour},
		{"one every 300 ms", 0, func(n int) time.Duration { return at(n, 300*time.Millisecond) }, time.Hour},
		{"one every 300 ms, while the count is raised", 3, func(n int) time.Duration { return at(n, 300*time.Millisecond) }, time.Hour},
		{"all at once, and each call ends before the answer", 0, func(int) time.Duration { return 0 }, 1200 * time.Millisecond},
		{"one every 700 ms, and calls end before the answer", 3, func(n int) time.Duration { return at(n, 700*time.Millisecond) },
			5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothTiers(t, func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) {
				const n = 12
				p := simulatedWith(t, sim, info, lkepool.Config{})
				owners, mu, group := map[string]string{}, sync.Mutex{}, sync.WaitGroup{}
				claim := func(number int, deadline time.Duration) {
					claim := numbered(number)
					for ctx.Err() == nil {
						call, done := context.WithTimeout(ctx, deadline)
						created, err := p.Create(call, claim)
						done()
						if err == nil {
							mu.Lock()
							defer mu.Unlock()
							if other := owners[created.Status.ProviderID]; other != "" {
								t.Errorf("%s and %s both have %s", other, claim.Name, created.Status.ProviderID)
							}
							owners[created.Status.ProviderID] = claim.Name
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				}
				for number := range c.before {
					group.Go(func() { claim(number, time.Hour) })
				}
				group.Wait()
				time.Sleep(5 * time.Minute)
				own := len(sim.Snapshot().Instances) - c.before
				for number := range n {
					group.Go(func() {
						time.Sleep(c.arrives(number))
						claim(c.before+number, c.create)
					})
				}
				group.Wait()
				time.Sleep(5 * time.Minute)
				requested := 0
				for _, e := range sim.Audit() {
					if e.Action == linodesim.NodeRequested && e.Actor.User != "owner" && e.Actor.User != "lke" {
						requested++
					}
				}
				if made := len(sim.Snapshot().Instances) - own; len(owners) != c.before+n || made != c.before+n || requested != c.before+n {
					t.Errorf("%d NodeClaims: %d have a node, %d nodes were bought, %d exist", c.before+n, len(owners), requested, made)
				}
			})
		})
	}
}
