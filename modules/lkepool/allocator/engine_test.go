package allocator_test

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

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// poolsOf are the platform's pools.
func poolsOf(t *testing.T, p *memory.Platform) []lkepool.Pool {
	t.Helper()
	pools, err := p.Pools(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return pools
}

// size returns the sum of the pools' counts, and the number of instances.
func size(t *testing.T, p *memory.Platform) (count, instances int) {
	t.Helper()
	for _, pool := range poolsOf(t, p) {
		count += pool.Count
	}
	all, err := p.Instances(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return count, len(all)
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
			if n > 100 && lag > 0 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("n=%d lag=%s", n, lag), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					platform := memory.New(memory.Config{
						InstanceAfter: slowIDs(uint64(n)), ListedAfter: lag, CallTakes: 200 * time.Millisecond,
					})
					allocator := newAllocator(t, platform, lkepool.Config{})
					began := time.Now()
					nodes := claimAll(t, allocator, key, n, 5*time.Minute)
					distinct(t, nodes)
					if count, instances := size(t, platform); count != n || instances != n {
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
		if count, _ := size(t, platform); count != 10 {
			t.Errorf("count is %d", count)
		}
	})
}

func TestDeadlineLeavesTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := memory.New(memory.Config{InstanceAfter: slowIDs(1), CallTakes: 100 * time.Millisecond})
		allocator := newAllocator(t, platform, lkepool.Config{})
		request := lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}
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
			if claims.KindOf(err) != claims.KindProvisioning || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("try %d: %v", tries, err)
			}
			time.Sleep(time.Second)
		}
		if count, _ := size(t, platform); count != 1 || tries < 3 {
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
						if err := allocator.Release(t.Context(), node.InstanceID, claims.Claimant{}); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
				if pools := poolsOf(t, platform); len(pools) != 0 {
					t.Errorf("left: %+v", pools)
				}
				for _, node := range nodes {
					if err := allocator.Release(t.Context(), node.InstanceID, claims.Claimant{}); err != nil {
						t.Errorf("released again: %v", err)
					}
				}
				time.Sleep(time.Minute)
				for _, node := range nodes {
					if err := allocator.Release(t.Context(), node.InstanceID, claims.Claimant{}); claims.KindOf(err) != claims.KindNotFound {
						t.Errorf("released when gone: %v", err)
					}
					if _, err := allocator.Get(t.Context(), node.InstanceID); claims.KindOf(err) != claims.KindNotFound {
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
		claimAll(t, allocator, key, 5, time.Minute)
		alive := aliveNames(3)
		collected, err := allocator.Collect(t.Context(), claims.Sweep{Alive: alive})
		if err != nil || len(collected.Removed) != 0 {
			t.Fatalf("young claims were collected: %+v, %v", collected, err)
		}
		time.Sleep(6 * time.Minute)
		collected, err = allocator.Collect(t.Context(), claims.Sweep{Alive: alive})
		if err != nil || len(collected.Removed) != 2 {
			t.Fatalf("got %+v, %v", collected, err)
		}
		if left := claimsOf(t, allocator); !slices.Equal(left, names(3)) {
			t.Errorf("left: %v", left)
		}
	})
}
