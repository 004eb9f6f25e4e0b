package lkepool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// Each test of this file is named after a defect that was seen in providers of
// this kind, and fails on it. Where both tiers are concerned, both are tested.

func onBothTiers(t *testing.T, cfg linodesim.Config, test func(*testing.T, *lab)) {
	t.Helper()
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				l := newLab(t, tier, cfg)
				test(t, l)
				l.audit()
				// Writes that nobody waits for any more end by themselves.
				time.Sleep(5 * time.Minute)
			})
		})
	}
}

func nobody(context.Context) ([]string, error) { return nil, nil }

func aliveNames(n int) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return names(n), nil }
}

// One slow claimant, asked for again and again, must not grow the pool.
func TestPitfall01RepeatedClaimsScaleOnce(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		for try := range 30 {
			_, err := p.Claim(within(t, 5*time.Second), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
			if err == nil {
				break
			}
			if lkepool.KindOf(err) != lkepool.KindProvisioning {
				t.Fatalf("try %d: %v", try, err)
			}
		}
		if l.requested() != 1 {
			t.Errorf("%d nodes were asked for", l.requested())
		}
	})
}

// Nodes that are on their way count.
func TestPitfall02PendingNodesCount(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 3 * time.Second)
				if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: key}); err != nil {
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

// A pool of three of which the list shows one must lose one node.
func TestPitfall03ThePoolsCountDecidesNotItsList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		platform := memory.New(memory.Config{})
		allocator := newAllocator(t, platform, lkepool.Config{})
		node := claimAll(t, allocator, key, 1, time.Minute)[0]
		if _, err := platform.Scale(t.Context(), node.PoolID, 3); err != nil {
			t.Fatal(err)
		}
		short := &shortList{Platform: platform, only: node.InstanceID}
		if err := newAllocator(t, short, lkepool.Config{}).Release(t.Context(), node.InstanceID, lkepool.Claimant{}); err != nil {
			t.Fatal(err)
		}
		if count, _ := size(platform); count != 2 || platform.Calls()["Drop"] != 0 {
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
func TestPitfall04ReleaseAndClaimShareALock(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 10, 10*time.Minute)
		time.Sleep(2 * time.Minute)
		var group sync.WaitGroup
		group.Go(func() { releaseAll(t, p.Allocator, nodes) })
		for i := range 10 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("new-%d", i)}, Key: key}); err != nil {
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
func TestPitfall05OnlyA404IsNotFound(t *testing.T) {
	for _, status := range []int{401, 403, 429, 500, 502, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				node := claimAll(t, p.Allocator, key, 1, time.Minute)[0]
				time.Sleep(time.Minute)
				l.sim.Fail(linodesim.Rule{Status: status})
				if _, err := p.Get(t.Context(), node.InstanceID); err == nil || lkepool.KindOf(err) == lkepool.KindNotFound {
					t.Errorf("get: %v", err)
				}
				if err := p.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); err == nil || lkepool.KindOf(err) == lkepool.KindNotFound {
					t.Errorf("release: %v", err)
				}
				if nodes, err := p.List(t.Context()); err == nil {
					t.Errorf("list: %v", nodes)
				}
			})
		})
	}
}

// What is gone is reported as gone, or the claimant never ends.
func TestPitfall06GoneIsReported(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		node := claimAll(t, p.Allocator, key, 1, time.Minute)[0]
		time.Sleep(time.Minute)
		releaseOne(t, p.Allocator, node.InstanceID)
		if err := l.start(lkepool.Config{}).Release(t.Context(), node.InstanceID, lkepool.Claimant{}); lkepool.KindOf(err) != lkepool.KindNotFound {
			t.Errorf("a new process: %v", err)
		}
		if err := p.Release(t.Context(), 0, lkepool.Claimant{}); lkepool.KindOf(err) != lkepool.KindInvalid {
			t.Errorf("no ID: %v", err)
		}
	})
}

// Free nodes carry no claim on either tier, and are collected nevertheless.
func TestPitfall07FreeNodesAreCollected(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 2, time.Minute)
		count := 5
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(2)})
		if err != nil || len(collected.Released) != 3 || l.count() != 2 {
			t.Errorf("got %+v, %v; count %d", collected, err, l.count())
		}
	})
}

// The age of the claim counts, not that of the instance.
func TestPitfall08ClaimsAreNotAsOldAsTheirInstance(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 1, time.Minute)
		count := 2
		if err := l.sim.EditPool(l.cluster.ID, l.ours()[0].ID, linodesim.PoolEdit{Count: &count}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := p.Claim(t.Context(), lkepool.Request{Claimant: lkepool.Claimant{Name: "late"}, Key: key}); err != nil {
			t.Fatal(err)
		}
		collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(1)})
		if err != nil || len(collected.Released) != 0 {
			t.Errorf("got %+v, %v", collected, err)
		}
		// Nor does a process that knows nothing but the API do so.
		fresh := l.start(lkepool.Config{})
		if collected, err := fresh.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(1)}); err != nil || len(collected.Released) != 0 {
			t.Errorf("got %+v, %v", collected, err)
		}
	})
}

// Nodes of other clusters and of other people's pools are neither listed nor
// handed out nor collected, whatever tags they carry.
func TestPitfall09And13ForeignNodesAreLeftAlone(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		for _, instance := range l.sim.Snapshot().Instances {
			tags := append(slices.Clone(instance.Tags), claimTag+"claim-000", lkepool.ManagedTag, fmt.Sprintf("nodepool=%d", l.cluster.Pools[0].ID))
			if instance.ClusterID == l.other.ID {
				tags = append(tags, fmt.Sprintf("lke%d", l.cluster.ID))
			}
			slices.Sort(tags)
			if err := l.sim.EditInstanceTags(instance.ID, slices.Compact(tags)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		p := l.start(lkepool.Config{})
		if nodes, err := p.List(t.Context()); err != nil || len(nodes) != 0 {
			t.Errorf("listed %+v, %v", nodes, err)
		}
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "claim-000"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		for _, instance := range l.sim.Snapshot().Instances {
			if instance.ID == node.InstanceID && (instance.ClusterID != l.cluster.ID || instance.PoolID == l.cluster.Pools[0].ID) {
				t.Errorf("handed out %+v", instance)
			}
			if instance.ID == node.InstanceID {
				continue
			}
			if err := p.Release(t.Context(), instance.ID, lkepool.Claimant{}); lkepool.KindOf(err) != lkepool.KindConflict {
				t.Errorf("release of %d: %v", instance.ID, err)
			}
			if err := p.SetTags(t.Context(), instance.ID, nil, []string{"team=a"}); lkepool.KindOf(err) != lkepool.KindConflict {
				t.Errorf("tags of %d: %v", instance.ID, err)
			}
		}
		time.Sleep(time.Hour)
		if collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: nobody}); err != nil || len(collected.Released) != 1 {
			t.Errorf("collected %+v, %v", collected, err)
		}
	})
}

// Claims are compared as a whole, and never by a part of the name.
func TestPitfall10NamesThatContainEachOther(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		long := strings.Repeat("n", 40)
		got := map[int]string{}
		for _, claimant := range []string{"a", "aa", "aaa", long + "-1", long + "-2", long} {
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claimant, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			if other, taken := got[node.InstanceID]; taken {
				t.Errorf("%s and %s share %d", claimant, other, node.InstanceID)
			}
			if got[node.InstanceID] = claimant; node.Claim != lkepool.ClaimValue(claimant) {
				t.Errorf("%s has claim %q", claimant, node.Claim)
			}
		}
	})
}

// A claim whose write was not answered is found again, by the same process and
// by the next.
func TestPitfall11LostAnswersOfClaims(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				rule := l.sim.Fail(linodesim.Rule{Method: "PUT", Route: instanceRoute, Drop: true, AfterEffect: true})
				// Whether the engine finds out in time or not is its business.
				_, first := p.Claim(within(t, 13*time.Second), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
				if l.sim.Hits(rule) == 0 {
					t.Fatalf("no answer was lost: %v", first)
				}
				l.sim.Heal(rule)
				if restart {
					p.kill()
					p = l.start(lkepool.Config{})
				}
				if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key}); err != nil {
					t.Fatal(err)
				}
				if l.requested() != 1 {
					t.Errorf("%d nodes were asked for", l.requested())
				}
			})
		})
	}
}

// Releasing names the node. No count is ever lowered, no Linode ever deleted.
func TestPitfall12NoCountIsLowered(t *testing.T) {
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

// User tags change while claims are written, and no claim is lost.
func TestPitfall14TagsAndClaimsAtTheSameTime(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 10, 10*time.Minute)
		var group sync.WaitGroup
		for round := range 5 {
			for _, node := range nodes {
				group.Go(func() {
					add := []string{fmt.Sprintf("round=%d", round)}
					if err := p.SetTags(t.Context(), node.InstanceID, []string{"team=a"}, add); err != nil {
						t.Error(err)
					}
				})
			}
			group.Go(func() { claimAll(t, p.Allocator, key, 10+round, 10*time.Minute) })
		}
		group.Wait()
		for _, instance := range l.instances() {
			rounds := 0
			for _, tag := range instance.Tags {
				if strings.HasPrefix(tag, "round=") {
					rounds++
				}
			}
			if claimIn(instance.Tags) == "" || rounds != 5 && claimIn(instance.Tags) < "claim-010" {
				t.Errorf("%d has %v", instance.ID, instance.Tags)
			}
		}
		for _, tag := range []string{claimTag + "x", "karpenter.k8s.linode/claimed-at=1", "nodepool=5"} {
			if err := p.SetTags(t.Context(), nodes[0].InstanceID, []string{tag}, nil); lkepool.KindOf(err) != lkepool.KindInvalid {
				t.Errorf("removing %s: %v", tag, err)
			}
		}
	})
}

// A changed template is another pool, whatever it is that changed.
func TestPitfall15ATemplateHasItsOwnPool(t *testing.T) {
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
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
			if err != nil {
				t.Fatal(err)
			}
			pools[node.PoolID]++
			if node.FirewallID != k.Template.FirewallID || len(node.Taints) != len(k.Template.Taints) || node.Labels["example.com/team"] != k.Template.Labels["example.com/team"] {
				t.Errorf("node %+v for key %+v", node, k)
			}
		}
		if len(pools) != len(keys) {
			t.Errorf("%d keys have %d pools", len(keys), len(pools))
		}
	})
}

// A refused scale-up is reported to those who cannot be served, at once, and
// to nobody else.
func TestPitfall24RefusalsAreReported(t *testing.T) {
	for _, c := range []struct {
		name     string
		refuse   func(*lab)
		want     lkepool.Kind
		refusals int // of what is asked for: all five; where some might fit, half of them, and half of these
	}{
		{"no capacity", func(l *lab) { l.sim.RefuseCapacity(linodesim.NoCapacity{Type: key.InstanceType}) }, lkepool.KindInsufficientCapacity, 1},
		{"account limit", func(l *lab) { l.sim.SetAccountLimit(2) }, lkepool.KindQuotaExceeded, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				var group sync.WaitGroup
				group.Go(func() {
					if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "early"}, Key: key}); err != nil {
						t.Errorf("what was on its way was refused: %v", err)
					}
				})
				time.Sleep(10 * time.Second)
				c.refuse(l)
				began := time.Now()
				for i := range 5 {
					group.Go(func() {
						_, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key})
						if lkepool.KindOf(err) != c.want || time.Since(began) > 30*time.Second {
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
// others are told.
func TestRoomBelowTheAccountsLimitIsUsed(t *testing.T) {
	for name, before := range map[string]int{"in a new pool": 0, "in a pool that grows": 2} {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				for i := range before {
					if _, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("early-%d", i)}, Key: key}); err != nil {
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
						switch _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: fmt.Sprintf("late-%d", i)}, Key: key}); lkepool.KindOf(err) {
						case "":
							served.Add(1)
						case lkepool.KindQuotaExceeded:
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
func TestPitfall23OtherRefusalsAreInvalid(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		k := key
		k.InstanceType = "g6-nanode-1"
		_, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: k})
		e, ok := errors.AsType[*lkepool.Error](err)
		if !ok || e.Kind != lkepool.KindInvalid || e.Field != "type" {
			t.Errorf("got %v", err)
		}
	})
}

// Waiting ends with the context, promptly, even while the API hangs.
func TestPitfall26WaitingEndsWithTheContext(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 1, time.Minute)
		time.Sleep(2 * time.Minute)
		l.sim.Fail(linodesim.Rule{Delay: time.Hour})
		for name, call := range map[string]func(context.Context) error{
			"claim": func(ctx context.Context) error {
				_, err := p.Claim(ctx, lkepool.Request{Claimant: lkepool.Claimant{Name: "b"}, Key: key})
				return err
			},
			"release": func(ctx context.Context) error { return p.Release(ctx, nodes[0].InstanceID, lkepool.Claimant{}) },
			"list":    func(ctx context.Context) error { _, err := p.List(ctx); return err },
			"get":     func(ctx context.Context) error { _, err := p.Get(ctx, nodes[0].InstanceID); return err },
			"collect": func(ctx context.Context) error { _, err := p.Collect(ctx, lkepool.Sweep{Alive: nobody}); return err },
			"tags":    func(ctx context.Context) error { return p.SetTags(ctx, nodes[0].InstanceID, nil, []string{"team=a"}) },
		} {
			began := time.Now()
			if err := call(within(t, 7*time.Second)); err == nil || time.Since(began) != 7*time.Second {
				t.Errorf("%s: after %s: %v", name, time.Since(began), err)
			}
		}
	})
}

// What LKE would refuse is refused before anything is sent.
func TestPitfall27BadRequestsAreRefusedUnsent(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		for _, c := range badRequests() {
			_, err := p.Claim(within(t, time.Minute), c.request)
			e, ok := errors.AsType[*lkepool.Error](err)
			if !ok || e.Kind != lkepool.KindInvalid || !strings.HasPrefix(e.Field, c.field) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if total, _, _ := l.calls(); total != 0 {
			t.Errorf("%d requests were sent", total)
		}
		long := lkepool.Request{Claimant: lkepool.Claimant{Name: strings.Repeat("c", 200)}, Key: key}
		long.Key.NodePool = strings.Repeat("p", 63)
		long.PoolTags = []string{lkepool.Tag("karpenter.sh/nodepool", long.Key.NodePool)}
		if _, err := p.Claim(within(t, time.Minute), long); err != nil {
			t.Errorf("long names: %v", err)
		}
	})
}

type badRequest struct {
	name, field string
	request     lkepool.Request
}

func badRequests() []badRequest {
	with := func(change func(*lkepool.Request)) lkepool.Request {
		r := lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key}
		change(&r)
		return r
	}
	return []badRequest{
		{"no claimant", "Request.Claimant", with(func(r *lkepool.Request) { r.Claimant = "" })},
		{"no instance type", "Key.InstanceType", with(func(r *lkepool.Request) { r.Key.InstanceType = "" })},
		{"no NodePool", "Key.NodePool", with(func(r *lkepool.Request) { r.Key.NodePool = "" })},
		{"NodePool too long", "Key.NodePool", with(func(r *lkepool.Request) { r.Key.NodePool = strings.Repeat("p", 64) })},
		{"reserved label", "Key.Template.Labels", with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"kubernetes.io/os": "linux"} })},
		{"label key too long", "Key.Template.Labels", with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{strings.Repeat("k", 64): ""} })},
		{"label value", "Key.Template.Labels", with(func(r *lkepool.Request) { r.Key.Template.Labels = map[string]string{"team": "-a"} })},
		{"taint effect", "Key.Template.Taints[0]", with(func(r *lkepool.Request) { r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Effect: "Sometimes"}} })},
		{"taint value", "Key.Template.Taints[0]", with(func(r *lkepool.Request) {
			r.Key.Template.Taints = []lkepool.Taint{{Key: "a", Value: "kubernetes.io", Effect: "NoSchedule"}}
		})},
		{"tag too long", "Request.Tags[1]", with(func(r *lkepool.Request) { r.Tags = []string{"team=a", strings.Repeat("t", 51)} })},
		{"tag too short", "Request.PoolTags[0]", with(func(r *lkepool.Request) { r.PoolTags = []string{"ab"} })},
		{"tag of the engine", "Request.Tags[0]", with(func(r *lkepool.Request) { r.Tags = []string{claimTag + "b"} })},
		{"tag of LKE", "Request.Tags[0]", with(func(r *lkepool.Request) { r.Tags = []string{"nodepool=7"} })},
		{"disk encryption", "Key.Template.DiskEncryption", with(func(r *lkepool.Request) { r.Key.Template.DiskEncryption = "maybe" })},
		{"firewall", "Key.Template.FirewallID", with(func(r *lkepool.Request) { r.Key.Template.FirewallID = -1 })},
	}
}

// Instances that were deleted or recycled, or never booted, are noticed.
func TestPitfall33DeadInstancesAreNoticed(t *testing.T) {
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
		list, err := p.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stopped := 0
		for _, node := range list {
			if node.InstanceID == deleted || node.InstanceID == recycled {
				t.Errorf("%d is listed: %+v", node.InstanceID, node)
			}
			if node.Health == lkepool.Stopped {
				stopped++
			}
		}
		if want := stoppedAmong(l.instances()); stopped != want {
			t.Errorf("%d of %d dead instances are reported", stopped, want)
		}
		for _, id := range []int{deleted, recycled} {
			if _, err := p.Get(t.Context(), id); lkepool.KindOf(err) != lkepool.KindNotFound {
				t.Errorf("get %d: %v", id, err)
			}
		}
	})
}

func stoppedAmong(instances []world.Instance) int {
	n := 0
	for _, instance := range instances {
		if instance.Status == world.StatusOffline && claimIn(instance.Tags) != "" {
			n++
		}
	}
	return n
}

// The collector wakes up together with the claimants after a time of
// throttling, and takes nothing that they have, are getting, or wait for.
func TestPitfall34CollectorAndClaimantsAwakeTogether(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		var group sync.WaitGroup
		group.Go(func() { claimAll(t, p.Allocator, key, 100, 20*time.Minute) })
		time.Sleep(5 * time.Second)
		rule := l.sim.Fail(linodesim.Rule{Status: 429, RetryAfter: 30 * time.Second})
		time.Sleep(7 * time.Minute)
		l.sim.Heal(rule)
		// Nobody is in the caller's cache yet.
		for range 20 {
			group.Go(func() {
				collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: nobody})
				if err != nil && lkepool.KindOf(err) != lkepool.KindRateLimited || len(collected.Released) != 0 {
					t.Errorf("collected %d, %v", len(collected.Released), err)
				}
			})
			time.Sleep(3 * time.Second)
		}
		group.Wait()
		if l.requested() != 100 || l.count() != 100 {
			t.Errorf("%d were asked for, the pools hold %d", l.requested(), l.count())
		}
	})
}

// Nodes that go at the same time take their pool with them.
func TestPitfall37ConcurrentReleasesLeaveNoEmptyPool(t *testing.T) {
	for _, last := range []linodesim.Behaviour{{}, {LastNode: world.RefuseLastDelete}, {LastNode: world.RemovePool}} {
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
