package lkepool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

var key = lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}

func newAllocator(t *testing.T, backend lkepool.Backend, cfg lkepool.Config) *lkepool.Allocator {
	t.Helper()
	allocator, err := lkepool.New(backend, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return allocator
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context { return contextWithin(t, d) }

func contextWithin(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// claimAll claims for n claimants at once and returns what they got.
func claimAll(t *testing.T, allocator *lkepool.Allocator, key lkepool.Key, n int, patience time.Duration) []lkepool.Node {
	t.Helper()
	nodes := make([]lkepool.Node, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			var err error
			request := lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("claim-%03d", i)}, Key: key}
			if nodes[i], err = allocator.Claim(within(t, patience), request); err != nil {
				t.Errorf("%s: %v", request.Claimant, err)
			}
		})
	}
	group.Wait()
	return nodes
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("claim-%03d", i))
	}
	return all
}

func distinct(t *testing.T, nodes []lkepool.Node) {
	t.Helper()
	seen := map[int]string{}
	for _, node := range nodes {
		if other, twice := seen[node.InstanceID]; twice {
			t.Errorf("instance %d was given to %s and %s", node.InstanceID, other, node.Claim)
		}
		seen[node.InstanceID] = node.Claim
	}
}

func size(p *memory.Platform) (count, instances int) {
	o := p.State()
	for _, pool := range o.Pools {
		count += pool.Count
		instances += len(pool.Members)
	}
	return count, instances + len(o.Loose)
}

func slowIDs(seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return 30*time.Second + time.Duration(random.Int64N(int64(30*time.Second)))
	}
}

func TestBurstGetsExactlyAsManyNodes(t *testing.T) {
	for _, n := range []int{1, 10, 100, 500} {
		for _, lag := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprintf("n=%d lag=%s", n, lag), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					platform := memory.New(memory.Config{
						InstanceAfter: slowIDs(uint64(n)), ListedAfter: lag, CallTakes: 200 * time.Millisecond,
					})
					allocator := newAllocator(t, platform, lkepool.Config{})
					began := time.Now()
					nodes := claimAll(t, allocator, key, n, 5*time.Minute)
					distinct(t, nodes)
					if count, instances := size(platform); count != n || instances != n {
						t.Errorf("pools have count %d and %d instances", count, instances)
					}
					calls := platform.Calls()
					t.Logf("calls %v in %s", calls, time.Since(began))
					if calls["Mark"] != n {
						t.Errorf("%d writes for %d claims", calls["Mark"], n)
					}
				})
			})
		}
	}
}

func TestClaimIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := memory.New(memory.Config{InstanceAfter: slowIDs(1), CallTakes: 100 * time.Millisecond})
		first := claimAll(t, newAllocator(t, platform, lkepool.Config{}), key, 10, 5*time.Minute)
		again := claimAll(t, newAllocator(t, platform, lkepool.Config{}), key, 10, time.Minute)
		for i := range first {
			if first[i].InstanceID != again[i].InstanceID {
				t.Errorf("%s had %d and then got %d", first[i].Claim, first[i].InstanceID, again[i].InstanceID)
			}
		}
		if count, _ := size(platform); count != 10 {
			t.Errorf("count is %d", count)
		}
	})
}

func TestDeadlineLeavesTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := memory.New(memory.Config{InstanceAfter: slowIDs(1), CallTakes: 100 * time.Millisecond})
		allocator := newAllocator(t, platform, lkepool.Config{})
		request := lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key}
		tries := 0
		for {
			tries++
			node, err := allocator.Claim(within(t, 10*time.Second), request)
			if err == nil {
				if node.Claim != "a" {
					t.Errorf("got %+v", node)
				}
				break
			}
			if lkepool.KindOf(err) != lkepool.KindProvisioning || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("try %d: %v", tries, err)
			}
			time.Sleep(time.Second)
		}
		if count, _ := size(platform); count != 1 || tries < 3 {
			t.Errorf("count is %d after %d tries", count, tries)
		}
	})
}

func TestReleaseTakesThePoolWithTheLastNode(t *testing.T) {
	for _, lag := range []time.Duration{0, time.Minute} {
		t.Run(lag.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				platform := memory.New(memory.Config{
					InstanceAfter: slowIDs(1), ListedAfter: lag, CallTakes: 100 * time.Millisecond, GoneAfter: 5 * time.Second,
				})
				allocator := newAllocator(t, platform, lkepool.Config{})
				nodes := claimAll(t, allocator, key, 10, 5*time.Minute)
				time.Sleep(2 * time.Minute)
				var group sync.WaitGroup
				for _, node := range nodes {
					group.Go(func() {
						if err := allocator.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
				if len(platform.State().Pools) != 0 {
					t.Errorf("left: %+v", platform.State().Pools)
				}
				for _, node := range nodes {
					if err := allocator.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); err != nil {
						t.Errorf("released again: %v", err)
					}
				}
				time.Sleep(time.Minute)
				for _, node := range nodes {
					if err := allocator.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); lkepool.KindOf(err) != lkepool.KindNotFound {
						t.Errorf("released when gone: %v", err)
					}
					if _, err := allocator.Get(t.Context(), node.InstanceID); lkepool.KindOf(err) != lkepool.KindNotFound {
						t.Errorf("got when gone: %v", err)
					}
				}
				calls := platform.Calls()
				if calls["Drop"] != 1 || calls["Remove"] != 9 {
					t.Errorf("calls %v", calls)
				}
			})
		})
	}
}

func TestCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond})
		allocator := newAllocator(t, platform, lkepool.Config{})
		time.Sleep(time.Minute)
		nodes := claimAll(t, allocator, key, 5, time.Minute)
		// Two are taken by hand: nobody waits for them.
		platform.Edit(nodes[0].PoolID, func(p *lkepool.Pool) {})
		alive := func(context.Context) ([]string, error) { return names(3), nil }
		collected, err := allocator.Collect(t.Context(), lkepool.Sweep{Alive: alive})
		if err != nil || len(collected.Released) != 0 {
			t.Fatalf("young claims were collected: %+v, %v", collected, err)
		}
		time.Sleep(6 * time.Minute)
		collected, err = allocator.Collect(t.Context(), lkepool.Sweep{Alive: alive})
		if err != nil || len(collected.Released) != 2 {
			t.Fatalf("got %+v, %v", collected, err)
		}
		list, err := allocator.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var claims []string
		for _, node := range list {
			claims = append(claims, node.Claim)
		}
		slices.Sort(claims)
		if !slices.Equal(claims, names(3)) {
			t.Errorf("left: %v", claims)
		}
	})
}
