package lkepool_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// staleLists makes both lists show the state of this moment for a while.
func (l *lab) staleLists(d time.Duration) {
	for _, route := range []string{poolsRoute, instancesRoute} {
		id := l.sim.Fail(linodesim.Rule{Method: "GET", Route: route, Stale: time.Hour})
		time.AfterFunc(d, func() { l.sim.Heal(id) })
	}
}

func TestLostCreationIsNotRepeated(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "POST", Route: poolsRoute, Drop: true, AfterEffect: true, Times: 1})
		l.staleLists(4 * time.Second)
		claimAll(t, p.Allocator, key, 5, 5*time.Minute)
		if l.requested() != 5 || len(l.ours()) != 1 {
			t.Errorf("%d nodes were asked for, in %d pools", l.requested(), len(l.ours()))
		}
	})
}

func TestOwnWritesAreBelievedBeforeLists(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		began := time.Now()
		l.staleLists(3 * time.Second)
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l.tier == linodesim.Standard && time.Since(began) > 3*time.Second {
			// On Enterprise an instance is found by the list alone.
			t.Errorf("the lists were current again, after %s", time.Since(began))
		}
		if !slices.ContainsFunc(nodes, func(n lkepool.Node) bool { return n.InstanceID == node.InstanceID && n.Claim == "a" }) {
			t.Errorf("the list %+v lacks %d", nodes, node.InstanceID)
		}
	})
}

// A process that starts while its predecessor's writes are not to be seen yet.
func TestNewProcessDoesNotTrustTheFirstList(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		l.staleLists(3 * time.Second)
		first, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		second, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil || second.InstanceID != first.InstanceID || l.requested() != 1 {
			t.Errorf("had %d, got %d, %v; %d nodes were asked for", first.InstanceID, second.InstanceID, err, l.requested())
		}
	})
}

// A free node of the first list may have been claimed since by the predecessor.
func TestNewProcessDoesNotStealWhatLooksFree(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Instant()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		claimAll(t, p.Allocator, key, 1, time.Minute)
		count := 2
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		l.staleLists(3 * time.Second)
		first, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		second, err := l.start(lkepool.Config{}).Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "b"}, Key: key})
		if err != nil || second.InstanceID == first.InstanceID {
			t.Errorf("a has %d, b got %d, %v", first.InstanceID, second.InstanceID, err)
		}
	})
}

// The sweep holds the key's lock from its decision to the removal.
func TestCollectAndClaimOfTheSameNode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var (
			allocator *lkepool.Allocator
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
					if got, err = allocator.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "late"}, Key: key}); err != nil {
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
		time.Sleep(10 * time.Minute)
		armed = true
		if _, err := allocator.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(1)}); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		list, err := allocator.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(n lkepool.Node) bool { return n.InstanceID == got.InstanceID && n.Health == lkepool.Healthy }) {
			t.Errorf("%d was handed out and collected", got.InstanceID)
		}
	})
}

func handEdits() map[string]linodesim.PoolEdit {
	return map[string]linodesim.PoolEdit{
		"taint":      {Taints: &[]linodesim.Taint{{Key: "by-hand", Value: "", Effect: "NoSchedule"}}},
		"label":      {Labels: &map[string]string{"example.com/team": "b"}},
		"autoscaler": {Autoscaler: &world.Autoscaler{Enabled: true, Min: 1, Max: 10}},
	}
}

// Pools edited by hand keep their nodes and get no new claimants; nothing is
// changed back, and no more than a few are made instead.
func TestPoolsEditedByHand(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				pools := map[int]bool{}
				for i := range 5 {
					node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
					if i >= 3 {
						if lkepool.KindOf(err) != lkepool.KindConflict {
							t.Errorf("claim %d: %v", i, err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if pools[node.PoolID] {
						t.Errorf("claim %d landed in the edited pool %d", i, node.PoolID)
					}
					pools[node.PoolID] = true
					if err := l.sim.EditPool(l.cluster.ID, node.PoolID, edit); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Minute)
				}
				if l.requested() != 3 || len(l.ours()) != 3 {
					t.Errorf("%d nodes were asked for, in %d pools", l.requested(), len(l.ours()))
				}
				alive := func(context.Context) ([]string, error) { return []string{"c0", "c1", "c2"}, nil }
				if collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: alive}); err != nil || len(collected.Released) != 0 {
					t.Errorf("collected %+v, %v", collected, err)
				}
			})
		})
	}
}

// supplied is a claimant a with a node, whose place others make free while b and
// c come.
func supplied(t *testing.T, cfg linodesim.Config, test func(t *testing.T, l *lab, p *process, a lkepool.Node)) {
	t.Helper()
	onBothTiers(t, cfg, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		a, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		test(t, l, p, a)
	})
}

// A Linode that somebody deletes leaves a place that LKE fills again. No poll of
// a pool shows it, and it is not bought again.
func TestPlaceOfADeletedInstanceCounts(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		var group sync.WaitGroup
		for i, claimant := range []string{"b", "c"} {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 15 * time.Second)
				if _, err := p.Claim(within(t, time.Hour), lkepool.Request{Claimant: claimant, Key: key}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(12 * time.Second)
		if err := l.sim.DeleteInstance(a.InstanceID); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if l.requested() != 2 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
	})
}

// A node that LKE replaces while the pool is read right before the purchase.
func TestPlaceOfARecycledNodeCounts(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Route: poolRoute, Delay: 10 * time.Second})
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "b"}, Key: key}); err != nil {
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

// A count that somebody raises while the pool is read right before the purchase
// is not lowered again, and what it supplies is not bought.
func TestCountRaisedMeanwhileIsKept(t *testing.T) {
	supplied(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab, p *process, a lkepool.Node) {
		rule := l.sim.Fail(linodesim.Rule{Method: "GET", Route: poolRoute, Delay: 10 * time.Second, Times: 1})
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "b"}, Key: key}); err != nil {
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

// An instance that its pool listed and lists no more holds no place, although the
// list of instances, which is out of date, shows it: another has come for it.
func TestAReplacedInstanceHoldsNoPlace(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Fast()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		claimAll(t, p.Allocator, key, 3, time.Minute)
		id := l.sim.Fail(linodesim.Rule{Method: "GET", Route: instancesRoute, Stale: time.Hour})
		if err := l.sim.RecycleNode(l.cluster.ID, l.ours()[0].Nodes[0].ID); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, func() { l.sim.Heal(id) })
		time.Sleep(1500 * time.Millisecond)
		if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "another"}, Key: key}); err != nil {
			t.Fatal(err)
		}
		if l.requested() != 3 || l.count() != 3 {
			t.Errorf("%d nodes were asked for, and the pools hold %d", l.requested(), l.count())
		}
	})
}
