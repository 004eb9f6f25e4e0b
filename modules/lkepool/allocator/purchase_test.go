package allocator_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Repeated calls of Claim for one slow claimant must not grow the pool.
func TestRepeatedClaimsBuyOnce(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		for try := range 30 {
			_, err := p.Claim(within(t, 5*time.Second), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
			if err == nil {
				break
			}
			if claims.KindOf(err) != claims.KindProvisioning {
				t.Fatalf("try %d: %v", try, err)
			}
		}
		if l.requested() != 1 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
	})
}

// Nodes that are on their way count.
func TestNodesOnTheirWayCount(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 3 * time.Second)
				if _, err := p.Claim(within(t, 10*time.Minute),
					lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if l.requested() != 10 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
	})
}

// A change of any field of the template needs another pool.
func TestTemplateHasItsOwnPool(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		keys := []lkepool.Key{key, key, key, key}
		keys[1].Template.Labels = map[string]string{"example.com/team": "a"}
		keys[2].Template.Taints = []lkepool.Taint{{Key: "example.com/only", Value: "a", Effect: "NoSchedule"}}
		keys[3].NodePool = "another"
		if l.tier == linodesim.Enterprise {
			firewall := key
			firewall.Template.FirewallID = l.sim.AddFirewall(linodesim.FirewallSpec{Label: "fence"})
			keys = append(keys, firewall)
		}
		pools := map[int]int{}
		for i, k := range keys {
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
			if err != nil {
				t.Fatal(err)
			}
			pools[node.PoolID]++
			if node.FirewallID != k.Template.FirewallID || len(node.Taints) != len(k.Template.Taints) ||
				node.Labels["example.com/team"] != k.Template.Labels["example.com/team"] {
				t.Errorf("node %+v for key %+v", node, k)
			}
		}
		if len(pools) != len(keys) {
			t.Errorf("%d keys have %d pools", len(keys), len(pools))
		}
	})
}

// refusing is an account whose limits both tiers enforce by refusals; by default LKE Enterprise accepts them without an error.
var refusing = linodesim.Behaviour{RefuseBeyondLimits: true}

// A refused scale-up is reported to the claimants that cannot be served, at once, and
// to no others.
func TestRefusedPurchasesAreReported(t *testing.T) {
	for _, c := range []struct {
		name     string
		refuse   func(*lab)
		want     claims.Kind
		refusals int // of a purchase: of all five; where some might fit, half of them, and half of these
	}{
		{"no capacity", func(l *lab) { l.sim.RefuseCapacity(linodesim.NoCapacity{Type: key.InstanceType}) }, claims.KindInsufficientCapacity, 1},
		{"account limit", func(l *lab) { l.sim.SetAccountLimit(2) }, claims.KindQuotaExceeded, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Slow(), Behaviour: refusing}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				var group sync.WaitGroup
				group.Go(func() {
					if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "early"}, Key: key}); err != nil {
						t.Errorf("what was on its way was refused: %v", err)
					}
				})
				time.Sleep(10 * time.Second)
				c.refuse(l)
				began := time.Now()
				for i := range 5 {
					group.Go(func() {
						_, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key})
						if claims.KindOf(err) != c.want || time.Since(began) > 30*time.Second {
							t.Errorf("after %s: %v", time.Since(began), err)
						}
					})
				}
				group.Wait()
				refusals := 0
				for _, call := range l.sim.Calls() {
					if call.Status == 400 {
						refusals += call.N
					}
				}
				if refusals != c.refusals {
					t.Errorf("the platform was asked %d times, want %d", refusals, c.refusals)
				}
			})
		})
	}
}

// What the account has room for is had, in a new pool and in one that grows, and the
// others are refused.
func TestRoomBelowTheAccountsLimitIsUsed(t *testing.T) {
	for name, before := range map[string]int{"in a new pool": 0, "in a pool that grows": 2} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic(), Behaviour: refusing}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				for i := range before {
					if _, err := p.Claim(within(t, 5*time.Minute),
						lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("early-%d", i)}, Key: key}); err != nil {
						t.Fatal(err)
					}
				}
				const room, late = 7, 20
				own := len(l.sim.Snapshot().Instances)
				l.sim.SetAccountLimit(own + room)
				var group sync.WaitGroup
				var served, refused atomic.Int32
				for i := range late {
					group.Go(func() {
						switch _, err := p.Claim(within(t, 10*time.Minute),
							lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key}); claims.KindOf(err) {
						case "":
							served.Add(1)
						case claims.KindQuotaExceeded:
							refused.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				group.Wait()
				if served.Load() != room || refused.Load() != late-room {
					t.Errorf("%d were served and %d refused, want %d and %d", served.Load(), refused.Load(), room, late-room)
				}
				if l.count() != before+room || l.requested() != before+room {
					t.Errorf("%d were asked for, the pools hold %d, want %d", l.requested(), l.count(), before+room)
				}
			})
		})
	}
}

// A wrong request is not a lack of capacity (23 is the operator's half).
func TestWrongRequestIsNotALackOfCapacity(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		k := key
		k.InstanceType = "g6-nanode-1"
		_, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: k})
		e, ok := errors.AsType[*claims.Error](err)
		if !ok || e.Kind != claims.KindInvalid || e.Field != "type" {
			t.Errorf("got %v", err)
		}
	})
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
