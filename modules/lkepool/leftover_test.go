package lkepool_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

const claimedAtTag = "karpenter.k8s.linode/claimed-at="

// twins makes two instances carry one claim, as two allocators at once would,
// and returns them, lowest ID first. Nobody alive has handed them out.
func twins(t *testing.T, l *lab, claimant string, ages [2]time.Duration) [2]int {
	t.Helper()
	p := l.start(lkepool.Config{})
	claimAll(t, p.Allocator, key, 3, 5*time.Minute)
	p.kill()
	var ids []int
	for _, instance := range l.instances() {
		if claimIn(instance.Tags) != "claim-000" {
			ids = append(ids, instance.ID)
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		for _, instance := range l.instances() {
			if instance.ID != id {
				continue
			}
			tags := slices.DeleteFunc(slices.Clone(instance.Tags), func(tag string) bool {
				return strings.HasPrefix(tag, claimTag) || strings.HasPrefix(tag, claimedAtTag)
			})
			tags = append(tags, claimTag+claimant, fmt.Sprintf(claimedAtTag+"%d", time.Now().Add(-ages[i]).Unix()))
			if err := l.sim.EditInstanceTags(id, tags); err != nil {
				t.Fatal(err)
			}
		}
	}
	time.Sleep(time.Minute)
	return [2]int{ids[0], ids[1]}
}

// Of two nodes of one claimant the one goes that Claim does not give back.
func TestSecondNodesOfOneClaimantAreCollected(t *testing.T) {
	for _, c := range []struct {
		name string
		ages [2]time.Duration
		kept int
	}{
		{"the lower was claimed later", [2]time.Duration{time.Hour, 2 * time.Hour}, 0},
		{"the higher was claimed later", [2]time.Duration{2 * time.Hour, time.Hour}, 1},
		{"copied tags", [2]time.Duration{time.Hour, time.Hour}, 0},
		{"one is young", [2]time.Duration{time.Hour, 0}, 1},
	} {
		for _, ask := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/asked=%t", c.name, ask), func(t *testing.T) {
				onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
					ids := twins(t, l, "twin", c.ages)
					p := l.start(lkepool.Config{})
					alive := func(context.Context) ([]string, error) { return []string{"claim-000", "twin"}, nil }
					// Whoever has asked twice may not have stored an answer yet.
					for range 3 {
						if collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: alive}); err != nil || len(collected.Released) != 0 {
							t.Fatalf("young: collected %+v, %v", collected.Released, err)
						}
						time.Sleep(time.Minute)
					}
					request := lkepool.Request{Claimant: lkepool.Claimant{Name: "twin"}, Key: key}
					if ask {
						if node, err := p.Claim(within(t, time.Minute), request); err != nil || node.InstanceID != ids[c.kept] {
							t.Fatalf("asked: %d of %v, %v", node.InstanceID, ids, err)
						}
					}
					time.Sleep(6 * time.Minute)
					collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: alive})
					if err != nil || len(collected.Released) != 1 || collected.Released[0].InstanceID != ids[1-c.kept] {
						t.Errorf("collected %+v of %v, %v", collected.Released, ids, err)
					}
					if node, err := p.Claim(within(t, time.Minute), request); err != nil || node.InstanceID != ids[c.kept] {
						t.Errorf("asked again: %d of %v, %v", node.InstanceID, ids, err)
					}
					if l.count() != 2 || l.requested() != 3 {
						t.Errorf("the pools hold %d, %d were asked for", l.count(), l.requested())
					}
				})
			})
		}
	}
}

// What this process handed out counts more than what tags say.
func TestHandedOutNodeIsKeptOfTwo(t *testing.T) {
	for _, thief := range []int{0, 1} {
		onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
			p := l.start(lkepool.Config{})
			time.Sleep(time.Minute)
			nodes := claimAll(t, p.Allocator, key, 2, time.Minute)
			slices.SortFunc(nodes, func(a, b lkepool.Node) int { return a.InstanceID - b.InstanceID })
			mine, theirs := nodes[1-thief], nodes[thief]
			var tags []string
			for _, tag := range theirs.Tags {
				if strings.HasPrefix(tag, claimTag) {
					tag = claimTag + mine.Claim
				}
				tags = append(tags, strings.Replace(tag, "claimed-at=9", "claimed-at=99", 1))
			}
			if err := l.sim.EditInstanceTags(theirs.InstanceID, tags); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: mine.Claim}, Key: key})
				if err != nil || node.InstanceID != mine.InstanceID {
					t.Errorf("%s had %d and got %d, %v", mine.Claim, mine.InstanceID, node.InstanceID, err)
				}
				time.Sleep(3 * time.Minute)
			}
		})
	}
}

// Places that never get an instance are removed by name, and the claimants that
// waited for them are told.
func TestPlacesThatStayPendingAreCollected(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				l.sim.StallNodes(0, 1)
				nodes := []lkepool.Node{}
				for i := range n - 1 {
					l.sim.StallNodes(0, 0)
					node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: names(n)[i], Key: key})
					if err != nil {
						t.Fatal(err)
					}
					nodes = append(nodes, node)
					l.sim.StallNodes(0, 1)
				}
				late := lkepool.Request{Claimant: names(n)[n-1], Key: key}
				began := time.Now()
				_, err := p.Claim(within(t, time.Hour), late)
				if lkepool.KindOf(err) != lkepool.KindInsufficientCapacity || time.Since(began) > 17*time.Minute {
					t.Fatalf("after %s: %v", time.Since(began), err)
				}
				var collected lkepool.Collected
				for range 20 {
					if collected, err = p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(n)}); err != nil || len(collected.Released) != 0 {
						t.Fatalf("collected %+v, %v", collected, err)
					}
					if len(collected.Places) > 0 {
						break
					}
					time.Sleep(2 * time.Minute)
				}
				if len(collected.Places) != 1 || l.count() != n-1 || len(l.instances()) != n-1 {
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

// hole is a platform that leaves the place of a Linode that somebody deletes.
var hole = linodesim.Config{Profile: linodesim.Realistic(), Behaviour: linodesim.Behaviour{LostLinode: linodesim.LeaveHole}}

// A place that names a Linode which is gone is removed like one that never got any,
// also when it is the last of its pool. Until then it counts as one that LKE fills.
func TestPlacesOfDeletedLinodesAreCollected(t *testing.T) {
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
					collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(n)})
					if err != nil || len(collected.Released) != 0 {
						t.Fatalf("collected %+v, %v", collected, err)
					}
					if places += len(collected.Places); places > 0 && time.Since(began) < 15*time.Minute {
						t.Errorf("a place was given up after %s", time.Since(began))
					}
					time.Sleep(2 * time.Minute)
				}
				if places != 1 || l.count() != n-1 || len(l.instances()) != n-1 || n == 1 && len(l.ours()) != 0 {
					t.Errorf("%d places were collected; the pools hold %d: %+v", places, l.count(), l.ours())
				}
				for range 2 {
					if _, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "another"}, Key: key}); err != nil {
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

// Who waits for such a place is told, and gets a node when it is given up.
func TestWhoWaitsForThePlaceOfADeletedLinodeIsTold(t *testing.T) {
	onBothTiers(t, hole, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 2, 10*time.Minute)
		if err := l.sim.DeleteInstance(nodes[0].InstanceID); err != nil {
			t.Fatal(err)
		}
		began, late := time.Now(), lkepool.Request{Claimant: lkepool.Claimant{Name: "late"}, Key: key}
		_, err := p.Claim(within(t, time.Hour), late)
		if took := time.Since(began); lkepool.KindOf(err) != lkepool.KindInsufficientCapacity || took < 15*time.Minute || took > 17*time.Minute {
			t.Fatalf("after %s: %v", took, err)
		}
		for range 2 { // seen empty a moment after it was
			if _, err := p.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(2)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		if l.count() != 1 {
			t.Fatalf("the pools hold %d, one of them a place that stays empty", l.count())
		}
		if _, err := p.Claim(within(t, 5*time.Minute), late); err != nil {
			t.Error(err)
		}
		if l.count() != 2 || l.requested() != 3 {
			t.Errorf("the pools hold %d, %d were asked for", l.count(), l.requested())
		}
	})
}

// A list that lacks a Linode does not prove that it is gone.
func TestPlacesOfUnlistedLinodesStay(t *testing.T) {
	onBothTiers(t, hole, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		claimAll(t, p.Allocator, key, 2, 10*time.Minute)
		time.Sleep(time.Minute)
		l.sim.Fail(linodesim.Rule{Method: "GET", Route: "/linode/instances", Stale: time.Hour})
		p.Claim(within(t, 2*time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "unlisted"}, Key: key}) //nolint:errcheck // it may be found, or not
		for range 20 {
			collected, err := p.Collect(t.Context(), lkepool.Sweep{Alive: func(context.Context) ([]string, error) {
				return append(names(2), "unlisted"), nil
			}})
			if err != nil || len(collected.Places) != 0 || len(collected.Released) != 0 {
				t.Errorf("collected %+v, %v", collected, err)
			}
			time.Sleep(2 * time.Minute)
		}
		if l.count() != 3 || len(l.instances()) != 3 {
			t.Errorf("the pools hold %d, with %d instances", l.count(), len(l.instances()))
		}
	})
}
