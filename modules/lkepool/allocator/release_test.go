package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// A pool of three of which the list shows one must lose one node.
func TestShortListDoesNotDropThePool(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		platform := memory.New(memory.Config{})
		allocator := newAllocator(t, platform, lkepool.Config{})
		node := claimAll(t, allocator, key, 1, time.Minute)[0]
		if _, err := platform.Scale(t.Context(), node.PoolID, 3); err != nil {
			t.Fatal(err)
		}
		short := &shortList{Platform: platform, only: node.InstanceID}
		if err := newAllocator(t, short, lkepool.Config{}).Release(t.Context(), node.InstanceID, claims.Claimant{}); err != nil {
			t.Fatal(err)
		}
		if count, _ := size(t, platform); count != 2 || platform.Calls()["Drop"] != 0 {
			t.Errorf("count is %d, calls %v", count, platform.Calls())
		}
	})
}

// shortList shows only one node of each pool.
type shortList struct {
	*memory.Platform
	only int
}

func (s *shortList) Pool(ctx context.Context, id int) (lkepool.Pool, error) {
	pool, err := s.Platform.Pool(ctx, id)
	pool.Slots = slices.DeleteFunc(pool.Slots, func(slot lkepool.Slot) bool { return slot.InstanceID != s.only })
	return pool, err
}

// Releases and claims of one key at the same time must not lose each other's
// change of the count.
func TestReleasesAndClaimsOfOneKeyAtTheSameTime(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 10, 10*time.Minute)
		time.Sleep(2 * time.Minute)
		var group sync.WaitGroup
		group.Go(func() { releaseAll(t, p.Allocator, nodes) })
		for i := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if _, err := p.Claim(within(t, 10*time.Minute),
					lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("new-%d", i)}, Key: key}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if l.count() != 10 || l.requested() != 20 {
			t.Errorf("the pools hold %d, %d were asked for", l.count(), l.requested())
		}
	})
}

// Only a 404 proves that an instance does not exist.
func TestOnlyA404IsNotFound(t *testing.T) {
	for _, status := range []int{401, 403, 429, 500, 502, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				node := claimAll(t, p.Allocator, key, 1, time.Minute)[0]
				time.Sleep(time.Minute)
				l.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: status}})
				if _, err := p.Get(t.Context(), node.InstanceID); err == nil || claims.KindOf(err) == claims.KindNotFound {
					t.Errorf("get: %v", err)
				}
				if err := p.Release(t.Context(), node.InstanceID, claims.Claimant{}); err == nil || claims.KindOf(err) == claims.KindNotFound {
					t.Errorf("release: %v", err)
				}
				if nodes, err := p.List(t.Context()); err == nil {
					t.Errorf("list: %v", nodes)
				}
			})
		})
	}
}

// A node that is gone is reported as gone, or the claimant never ends.
func TestReleasedInstanceIsReportedAsGone(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		node := claimAll(t, p.Allocator, key, 1, time.Minute)[0]
		time.Sleep(time.Minute)
		releaseOne(t, p.Allocator, node.InstanceID)
		if err := l.start(lkepool.Config{}).Release(t.Context(), node.InstanceID,
			claims.Claimant{}); claims.KindOf(err) != claims.KindNotFound {
			t.Errorf("a new process: %v", err)
		}
		if err := p.Release(t.Context(), 0, claims.Claimant{}); claims.KindOf(err) != claims.KindInvalid {
			t.Errorf("no ID: %v", err)
		}
	})
}

// Releasing names the node. No count is ever lowered, no Linode ever deleted.
func TestReleaseNamesTheNode(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 6, 10*time.Minute)
		time.Sleep(2 * time.Minute)
		releaseAll(t, p.Allocator, nodes[:3])
		kept := map[int]bool{}
		for _, instance := range l.instances() {
			kept[instance.ID] = true
		}
		for _, node := range nodes[3:] {
			if !kept[node.InstanceID] {
				t.Errorf("%d was lost", node.InstanceID)
			}
		}
		for _, call := range l.sim.Calls() {
			if call.Method == "DELETE" && call.Route == instanceRoute {
				t.Errorf("a Linode was deleted: %+v", call)
			}
		}
	})
}

// Nodes that go at the same time take their pool with them.
func TestConcurrentReleasesLeaveNoEmptyPool(t *testing.T) {
	for _, last := range []linodesim.Behaviour{{}, {LastNode: linodesim.RefuseLastDelete}, {LastNode: linodesim.RemovePool}} {
		onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic(), Behaviour: last}, func(t *testing.T, l *lab) {
			p := l.start(lkepool.Config{})
			nodes := claimAll(t, p.Allocator, key, 8, 10*time.Minute)
			time.Sleep(2 * time.Minute)
			var group sync.WaitGroup
			for i, node := range nodes {
				group.Go(func() {
					time.Sleep(time.Duration(i) * 70 * time.Millisecond)
					releaseOne(t, p.Allocator, node.InstanceID)
				})
			}
			group.Wait()
			if pools := l.ours(); len(pools) != 0 {
				t.Errorf("left: %+v", pools)
			}
		})
	}
}

// Instances that were deleted or recycled, or never booted, are noticed.
func TestDeadInstancesAreNoticed(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		l.sim.NeverBoot(0, 1)
		nodes := claimAll(t, p.Allocator, key, 4, 10*time.Minute)
		time.Sleep(12 * time.Minute)
		deleted, recycled := nodes[0].InstanceID, 0
		for _, pool := range l.ours() {
			for _, node := range pool.Nodes {
				if node.InstanceID != deleted && recycled == 0 {
					recycled = node.InstanceID
					if err := l.sim.RecycleNode(l.cluster.ID, node.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := l.sim.DeleteInstance(deleted); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		// Absence is proven by two 404s with two minutes and a list between them: this list begins the proof.
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + 5*time.Second)
		list, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stopped := 0
		for _, node := range list {
			if node.InstanceID == deleted || node.InstanceID == recycled {
				t.Errorf("%d is listed: %+v", node.InstanceID, node)
			}
			if node.Health == claims.Stopped {
				stopped++
			}
		}
		if want := stoppedAmong(l.instances()); stopped != want {
			t.Errorf("%d of %d dead instances are reported", stopped, want)
		}
		for _, id := range []int{deleted, recycled} {
			if _, err := p.Get(t.Context(), id); claims.KindOf(err) != claims.KindNotFound {
				t.Errorf("get %d: %v", id, err)
			}
		}
	})
}

func stoppedAmong(instances []linodesim.Instance) int {
	n := 0
	for _, instance := range instances {
		if instance.Status == linodesim.StatusOffline && claimIn(instance.Tags) != "" {
			n++
		}
	}
	return n
}
