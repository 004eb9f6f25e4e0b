package allocator_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// supplied is a claimant a with a node, whose slot others make free while b and
// c come.
func supplied(t *testing.T, cfg linodesim.Config, test func(t *testing.T, l *lab, p *process, a lkepool.Node)) {
	t.Helper()
	onBothTiers(t, cfg, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		a, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		test(t, l, p, a)
	})
}

// A Linode that a person deletes leaves a slot that LKE fills again. One node may
// be bought for it, because one list without it proves nothing; a surplus node is
// then collected.
func TestSlotOfADeletedInstanceCounts(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		var group sync.WaitGroup
		for i, claimant := range []string{"b", "c"} {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 15 * time.Second)
				if _, err := p.Claim(within(t, time.Hour), lkepool.Request{Claimant: claims.Claimant{Name: claimant}, Key: key}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(12 * time.Second)
		if err := l.sim.DeleteInstance(a.InstanceID); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if l.requested() > 3 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
		for range 8 {
			if _, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveOf("b", "c")}); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Minute)
		}
		if l.count() != 2 || len(l.instances()) != 2 {
			t.Errorf("in the end the pools hold %d, with %d instances", l.count(), len(l.instances()))
		}
	})
}

// A node that LKE replaces while the pool is read right before the purchase.
func TestSlotOfARecycledNodeCounts(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Route: poolRoute, Delay: 10 * time.Second})
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Second)
		// Only one node is there yet.
		if node := l.ours()[0].Nodes[0]; node.InstanceID != a.InstanceID || l.sim.RecycleNode(l.cluster.ID, node.ID) != nil {
			t.Errorf("%+v was not replaced", node)
		}
		time.Sleep(10 * time.Second)
		if l.sim.Hits(rule) == 0 {
			t.Error("the pool was not read")
		}
		l.sim.Heal(rule)
		group.Wait()
		if l.requested() != 1 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
	})
}

// A count that a person raises while the pool is read right before the purchase
// is not lowered again, and what it supplies is not bought.
func TestCountRaisedMeanwhileIsKept(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Route: poolRoute, Delay: 10 * time.Second, Times: 1})
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "b"}, Key: key}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Second)
		count := 4
		if err := l.sim.EditPool(l.cluster.ID, a.PoolID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Error(err)
		}
		group.Wait()
		if l.sim.Hits(rule) != 1 || l.requested() != 1 || l.count() != 4 {
			t.Errorf("%d nodes were asked for, the pools hold %d", l.requested(), l.count())
		}
	})
}

// An instance that its pool listed and lists no more holds no slot, although the
// list of instances, which is out of date, shows it: another has come for it.
func TestReplacedInstanceHoldsNoSlot(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		claimAll(t, p.Allocator, key, 3, time.Minute)
		id := l.sim.Fail(linodesim.Rule{Method: "GET", Route: instancesRoute, View: linodesim.View{Stale: time.Hour}})
		if err := l.sim.RecycleNode(l.cluster.ID, l.ours()[0].Nodes[0].ID); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, func() { l.sim.Heal(id) })
		time.Sleep(1500 * time.Millisecond)
		if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "another"}, Key: key}); err != nil {
			t.Fatal(err)
		}
		if l.requested() != 3 || l.count() != 3 {
			t.Errorf("%d nodes were asked for, and the pools hold %d", l.requested(), l.count())
		}
	})
}

// hole is a platform that leaves the slot of a Linode that a person deletes.
var hole = linodesim.Config{Profile: linodesim.Realistic(), Behaviour: linodesim.Behaviour{LostLinode: linodesim.LeaveHole}}

// Places that never get an instance are removed by name, and the claimants that
// waited for them are refused.
func TestSlotsThatStayPendingAreCollected(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				l.sim.StallNodes(0, 1)
				nodes := []lkepool.Node{}
				for i := range n - 1 {
					l.sim.StallNodes(0, 0)
					node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: names(n)[i]}, Key: key})
					if err != nil {
						t.Fatal(err)
					}
					nodes = append(nodes, node)
					l.sim.StallNodes(0, 1)
				}
				late := lkepool.Request{Claimant: claims.Claimant{Name: names(n)[n-1]}, Key: key}
				began := time.Now()
				_, err := p.Claim(within(t, time.Hour), late)
				if claims.KindOf(err) != claims.KindInsufficientCapacity || time.Since(began) > 17*time.Minute {
					t.Fatalf("after %s: %v", time.Since(began), err)
				}
				var collected claims.Collected
				for range 20 {
					if collected, err = p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(n)}); err != nil || len(collected.Removed) != 0 {
						t.Fatalf("collected %+v, %v", collected, err)
					}
					if len(collected.Slots) > 0 {
						break
					}
					time.Sleep(2 * time.Minute)
				}
				if len(collected.Slots) != 1 || l.count() != n-1 || len(l.instances()) != n-1 {
					t.Fatalf("collected %+v; the pools hold %d", collected, l.count())
				}
				if n == 1 && len(l.ours()) != 0 {
					t.Errorf("left empty: %+v", l.ours())
				}
				for _, node := range nodes {
					if _, err := p.Get(t.Context(), node.InstanceID); err != nil {
						t.Errorf("%d: %v", node.InstanceID, err)
					}
				}
				if _, err := p.Claim(within(t, 5*time.Minute), late); err != nil {
					t.Errorf("asked again: %v", err)
				}
				if l.count() != n || l.requested() != n+1 {
					t.Errorf("the pools hold %d, %d were asked for", l.count(), l.requested())
				}
			})
		})
	}
}

// A slot that names a Linode which is gone is removed like one that never got any,
// also when it is the last of its pool. Until then it counts as one that LKE fills.
func TestSlotsOfDeletedLinodesAreCollected(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onBothTiers(t, hole, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				nodes := claimAll(t, p.Allocator, key, n, 10*time.Minute)
				if err := l.sim.DeleteInstance(nodes[0].InstanceID); err != nil {
					t.Fatal(err)
				}
				began, places := time.Now(), 0
				for time.Since(began) < 30*time.Minute {
					collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(n)})
					if err != nil || len(collected.Removed) != 0 {
						t.Fatalf("collected %+v, %v", collected, err)
					}
					if places += len(collected.Slots); places > 0 && time.Since(began) < 15*time.Minute {
						t.Errorf("a slot was given up after %s", time.Since(began))
					}
					time.Sleep(2 * time.Minute)
				}
				if places != 1 || l.count() != n-1 || len(l.instances()) != n-1 || n == 1 && len(l.ours()) != 0 {
					t.Errorf("%d slots were collected; the pools hold %d: %+v", places, l.count(), l.ours())
				}
				for range 2 {
					if _, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "another"}, Key: key}); err != nil {
						t.Error(err)
					}
				}
				if l.requested() != n+1 {
					t.Errorf("%d nodes were asked for, want %d", l.requested(), n+1)
				}
			})
		})
	}
}

// Such a slot keeps no claimant waiting for longer than PendingTimeout, and is
// collected.
func TestSlotOfADeletedLinodeDoesNotStarveClaimants(t *testing.T) {
	onBothTiers(t, hole, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 2, 10*time.Minute)
		if err := l.sim.DeleteInstance(nodes[0].InstanceID); err != nil {
			t.Fatal(err)
		}
		began, late := time.Now(), lkepool.Request{Claimant: claims.Claimant{Name: "late"}, Key: key}
		_, err := p.Claim(within(t, time.Hour), late)
		if took := time.Since(began); err != nil && claims.KindOf(err) != claims.KindInsufficientCapacity || took > 17*time.Minute {
			t.Fatalf("after %s: %v", took, err)
		}
		for range 12 { // it takes two minutes more to prove that the Linode is gone
			if _, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveOf("claim-001", "late")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		if _, err := p.Claim(within(t, 5*time.Minute), late); err != nil {
			t.Error(err)
		}
		if l.count() != 2 || len(l.instances()) != 2 || l.requested() > 4 {
			t.Errorf("the pools hold %d, with %d instances; %d were asked for", l.count(), len(l.instances()), l.requested())
		}
	})
}

// A list that lacks a Linode does not prove that it is gone: its slot is not
// removed as an empty one. A free node that its claimant has not requested again
// may be collected.
func TestSlotsOfUnlistedLinodesStay(t *testing.T) {
	onBothTiers(t, hole, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 2, 10*time.Minute)
		time.Sleep(time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: "/linode/instances", View: linodesim.View{Stale: time.Hour}})
		//nolint:errcheck // it may be found, or not
		p.Claim(within(t, 2*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "unlisted"}, Key: key})
		for range 20 {
			collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveOf("claim-000", "claim-001", "unlisted")})
			if err != nil || len(collected.Slots) != 0 ||
				slices.ContainsFunc(collected.Removed, func(n claims.Node) bool { return n.Claim != "" }) {
				t.Errorf("collected %+v, %v", collected, err)
			}
			time.Sleep(2 * time.Minute)
		}
		if l.count() < 2 || len(l.instances()) != l.count() {
			t.Errorf("the pools hold %d, with %d instances", l.count(), len(l.instances()))
		}
	})
}
