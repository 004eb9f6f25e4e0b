package allocator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// Free nodes carry no claim on either tier, and are collected nevertheless.
func TestFreeNodesAreCollected(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 2, time.Minute)
		count := 5
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		// Their age is measured from when this process saw them first.
		time.Sleep(6 * time.Minute)
		collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(2)})
		if err != nil || len(collected.Removed) != 0 {
			t.Errorf("collected as soon as seen: %+v, %v", collected, err)
		}
		time.Sleep(6 * time.Minute)
		collected, err = p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(2)})
		if err != nil || len(collected.Removed) != 3 || l.count() != 2 {
			t.Errorf("got %+v, %v; count %d", collected, err, l.count())
		}
	})
}

// The age of the claim counts, not the age of the instance.
func TestYoungClaimOnAnOldInstanceIsKept(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 1, time.Minute)
		count := 2
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := p.Claim(t.Context(), lkepool.Request{Claimant: claims.Claimant{Name: "late"}, Key: key}); err != nil {
			t.Fatal(err)
		}
		collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(1)})
		if err != nil || len(collected.Removed) != 0 {
			t.Errorf("got %+v, %v", collected, err)
		}
		// Nor does a process that knows nothing but the API do so.
		fresh := l.start(lkepool.Config{})
		if collected, err := fresh.Collect(t.Context(), claims.Sweep{Alive: aliveNames(1)}); err != nil || len(collected.Removed) != 0 {
			t.Errorf("got %+v, %v", collected, err)
		}
	})
}

// The collector wakes up together with the claimants after a time of
// throttling, and takes nothing that they have, are getting, or wait for,
// although the caller's cache lacks all who got their node in the last minutes.
func TestCollectorAndClaimantsAwakeTogether(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		const n, lag = 100, 4 * time.Minute
		cache := &lateCache{lag: lag}
		p := l.start(lkepool.Config{Observer: claims.Observer{Claim: cache.note}})
		time.Sleep(time.Minute)
		var group sync.WaitGroup
		group.Go(func() { claimAll(t, p.Allocator, key, n, 20*time.Minute) })
		time.Sleep(5 * time.Second)
		rule := l.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 429, RetryAfter: 30 * time.Second}})
		time.Sleep(7 * time.Minute)
		l.sim.Heal(rule)
		for range 20 {
			group.Go(func() {
				collected, err := p.Collect(t.Context(), claims.Sweep{Alive: cache.alive})
				// A read that the limiter delays beyond its timeout is Unavailable.
				kind := claims.KindOf(err)
				if err != nil && kind != claims.KindRateLimited && kind != claims.KindUnavailable || len(collected.Removed) != 0 {
					t.Errorf("collected %d, %v", len(collected.Removed), err)
				}
			})
			time.Sleep(3 * time.Second)
		}
		group.Wait()
		if l.requested() != n || l.count() != n {
			t.Errorf("%d were asked for, the pools hold %d", l.requested(), l.count())
		}
	})
}

// lateCache contains the claimants that got their node, each after a while.
type lateCache struct {
	lag time.Duration

	mu  sync.Mutex
	got map[claims.Claimant]time.Time
}

func (c *lateCache) note(end claims.ClaimEnd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end.Err == nil {
		if c.got == nil {
			c.got = map[claims.Claimant]time.Time{}
		}
		c.got[end.Claimant] = time.Now()
	}
}

func (c *lateCache) alive(context.Context) ([]claims.Claimant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []claims.Claimant
	for claimant, at := range c.got {
		if time.Since(at) >= c.lag {
			all = append(all, claimant)
		}
	}
	return all, nil
}

// The sweep holds the key's lock from its decision to the removal.
func TestCollectAndClaimOfTheSameNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var (
			allocator *allocator.Allocator
			group     sync.WaitGroup
			armed     bool
			got       lkepool.Node
		)
		platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond, Before: func(method string) error {
			if armed && method == "Pool" {
				// The sweep has looked at the node for the last time.
				armed = false
				group.Go(func() {
					var err error
					if got, err = allocator.Claim(within(t, time.Minute),
						lkepool.Request{Claimant: claims.Claimant{Name: "late"}, Key: key}); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(20 * time.Second)
			}
			return nil
		}})
		allocator = newAllocator(t, platform, lkepool.Config{})
		node := claimAll(t, allocator, key, 1, time.Minute)[0]
		if _, err := platform.Scale(t.Context(), node.PoolID, 2); err != nil {
			t.Fatal(err)
		}
		// The first sweep is the first that sees the free node: its age counts from then.
		if collected, err := allocator.Collect(t.Context(), claims.Sweep{Alive: aliveNames(1)}); err != nil || len(collected.Removed) != 0 {
			t.Fatalf("%+v, %v", collected, err)
		}
		time.Sleep(10 * time.Minute)
		armed = true
		if _, err := allocator.Collect(t.Context(), claims.Sweep{Alive: aliveNames(1)}); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		list, err := allocator.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(n lkepool.Node) bool { return n.InstanceID == got.InstanceID && n.Health == claims.Healthy }) {
			t.Errorf("%d was handed out and collected", got.InstanceID)
		}
	})
}
