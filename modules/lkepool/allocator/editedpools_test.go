package allocator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

func handEdits() map[string]linodesim.PoolEdit {
	return map[string]linodesim.PoolEdit{
		"taint":      {Taints: &[]linodesim.Taint{{Key: "by-hand", Value: "", Effect: "NoSchedule"}}},
		"label":      {Labels: &map[string]string{"example.com/team": "b"}},
		"autoscaler": {Autoscaler: &api.LKEAutoscalerUpdate{Enabled: new(true), Min: new(1), Max: new(10)}},
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
					node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: fmt.Sprintf("c%d", i)}, Key: k})
					if i >= 3 {
						if claims.KindOf(err) != claims.KindConflict {
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
				alive := aliveOf("c0", "c1", "c2")
				if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: alive}); err != nil || len(collected.Removed) != 0 {
					t.Errorf("collected %+v, %v", collected, err)
				}
			})
		})
	}
}

// A free node of a pool whose taints were edited does not fit the key.
func TestFreeNodeOfAnEditedPoolIsNotHandedOut(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				pool := claimAll(t, p.Allocator, k, 1, time.Minute)[0].PoolID
				two := 2
				if err := l.sim.EditPool(l.cluster.ID, pool, linodesim.PoolEdit{Count: &two}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Minute)
				claimsOf(t, p.Allocator) // the process has seen it free
				if err := l.sim.EditPool(l.cluster.ID, pool, edit); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute)
				node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "late"}, Key: k})
				if err != nil || node.PoolID == pool {
					t.Errorf("got %d of the edited pool %d, %v", node.InstanceID, node.PoolID, err)
				}
			})
		})
	}
}

// At rest, a pool that was edited by hand costs no writes at all.
func TestEditedPoolsAreLeftAlone(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				nodes := claimAll(t, p.Allocator, k, 3, time.Minute)
				if err := l.sim.EditPool(l.cluster.ID, nodes[0].PoolID, edit); err != nil {
					t.Fatal(err)
				}
				before, _, _ := l.calls()
				for range 30 {
					if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: aliveNames(3)}); err != nil || len(collected.Removed) != 0 {
						t.Errorf("collected %+v, %v", collected, err)
					}
					if list, err := p.List(t.Context()); err != nil || len(list) != 3 {
						t.Errorf("listed %d, %v", len(list), err)
					}
					time.Sleep(2 * time.Minute)
				}
				// One more, because the list contradicted what was known of the pool.
				if after, _, _ := l.calls(); after-before > 121 {
					t.Errorf("%d calls for 60 pairs of lists", after-before)
				}
				// Claimants with a node keep it, and give it back.
				for i, node := range nodes {
					got, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: names(3)[i]}, Key: k})
					if err != nil || got.InstanceID != node.InstanceID {
						t.Errorf("asked again: %d, %v", got.InstanceID, err)
					}
				}
				releaseAll(t, p.Allocator, nodes)
			})
		})
	}
}

// Another client edits every pool of a key as soon as it is there, while
// claimants wait for its nodes: after a few pools they are refused that there is a
// conflict. Nothing is changed back, and what came for nothing is collected.
func TestPoolsEditedWhileClaimantsWait(t *testing.T) {
	k := key
	k.Template.Labels = map[string]string{"example.com/team": "a"}
	for name, edit := range handEdits() {
		t.Run(name, func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Slow()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				time.Sleep(time.Minute)
				ctx, stop := context.WithCancel(t.Context())
				var editor, group sync.WaitGroup
				editor.Go(func() { l.editAll(ctx, edit) })
				for i, claimant := range names(4) {
					group.Go(func() {
						time.Sleep(time.Duration(i) * 20 * time.Second)
						_, err := p.Claim(within(t, 30*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: claimant}, Key: k})
						if claims.KindOf(err) != claims.KindConflict {
							t.Errorf("%s: %v", claimant, err)
						}
					})
				}
				group.Wait()
				if total, _, _ := l.calls(); total > 60 || len(l.ours()) != 3 || l.requested() > 12 {
					t.Errorf("%d calls, %d pools, %d nodes asked for", total, len(l.ours()), l.requested())
				}
				time.Sleep(15 * time.Minute)
				for range 3 {
					if _, err := p.Collect(t.Context(), claims.Sweep{Alive: noneAlive}); err != nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Minute)
				}
				stop()
				editor.Wait()
				if l.count() != 0 {
					t.Errorf("the pools still hold %d", l.count())
				}
				for _, e := range l.sim.Audit() {
					// The engine changes nothing but the tag of a pool that it deletes then.
					retired := strings.Replace(e.Before, "/lke-managed=true]", "/lke-managed=true karpenter.k8s.linode/retired=true]", 1)
					if e.Action == linodesim.PoolEdited && e.Actor.User == engine && e.After != retired {
						t.Errorf("edited by the engine: %+v", e)
					}
				}
				if _, err := p.Claim(within(t, 10*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "later"}, Key: k}); err != nil {
					t.Errorf("when it is over: %v", err)
				}
			})
		})
	}
}

// editAll edits the engine's pools again and again.
func (l *lab) editAll(ctx context.Context, edit linodesim.PoolEdit) {
	for ctx.Err() == nil {
		for _, pool := range l.ours() {
			if err := l.sim.EditPool(l.cluster.ID, pool.ID, edit); err != nil {
				l.t.Error(err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}
