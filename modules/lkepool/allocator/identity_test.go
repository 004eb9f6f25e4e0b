package allocator_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Nodes of other clusters and of other people's pools are neither listed nor
// handed out nor collected, whatever tags they carry.
func TestForeignNodesAreLeftAlone(t *testing.T) {
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
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "claim-000"}, Key: key})
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
			if err := p.Release(t.Context(), instance.ID, claims.Claimant{}); claims.KindOf(err) != claims.KindConflict {
				t.Errorf("release of %d: %v", instance.ID, err)
			}
			if err := p.SetTags(t.Context(), instance.ID, claims.Claimant{}, nil, []string{"team=a"}); claims.KindOf(err) != claims.KindConflict {
				t.Errorf("tags of %d: %v", instance.ID, err)
			}
		}
		time.Sleep(time.Hour)
		if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: noneAlive}); err != nil || len(collected.Removed) != 1 {
			t.Errorf("collected %+v, %v", collected, err)
		}
	})
}

// Claims are compared as a whole, and never by a part of the name.
func TestNamesThatContainEachOther(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		long := strings.Repeat("n", 40)
		got := map[int]string{}
		for _, claimant := range []string{"a", "aa", "aaa", long + "-1", long + "-2", long} {
			node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: claimant}, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			if other, taken := got[node.InstanceID]; taken {
				t.Errorf("%s and %s share %d", claimant, other, node.InstanceID)
			}
			if got[node.InstanceID] = claimant; node.Claim != (claims.Tags{}).Value(claimant) {
				t.Errorf("%s has claim %q", claimant, node.Claim)
			}
		}
	})
}

// A claim whose write was not answered is found again, by the same process and
// by the next.
func TestClaimWithALostAnswerIsFoundAgain(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
				p := l.start(lkepool.Config{})
				rule := l.sim.Fail(linodesim.Rule{Method: "PUT", Route: instanceRoute, Drop: true, AfterEffect: true})
				// Whether the engine finds out in time or not is its business.
				_, first := p.Claim(within(t, 25*time.Second), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
				if l.sim.Hits(rule) == 0 {
					t.Fatalf("no answer was lost: %v", first)
				}
				l.sim.Heal(rule)
				if restart {
					p.kill()
					p = l.start(lkepool.Config{})
				}
				if _, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key}); err != nil {
					t.Fatal(err)
				}
				if l.requested() != 1 {
					t.Errorf("%d nodes were asked for", l.requested())
				}
			})
		})
	}
}

// A claimant that requests another instance type than before, because prices
// or stock have changed meanwhile, gets the node that it has, also from the next
// process.
func TestClaimantThatAsksForAnotherKeyKeepsItsNode(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		time.Sleep(time.Minute)
		node := claimAll(t, p.Allocator, key, 1, 5*time.Minute)[0]
		other := key
		other.InstanceType = "g6-dedicated-4"
		ask := func(p *process) {
			again, err := p.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: node.Claim}, Key: other})
			if err != nil || again.InstanceID != node.InstanceID || again.InstanceType != key.InstanceType {
				t.Errorf("had %d, asked for another key and got %d of type %s, %v", node.InstanceID, again.InstanceID, again.InstanceType, err)
			}
		}
		ask(p)
		p.kill()
		time.Sleep(3 * time.Minute)
		ask(l.start(lkepool.Config{}))
		if l.requested() != 1 {
			t.Errorf("%d nodes were bought", l.requested())
		}
	})
}

// User tags change while claims are written, and no claim is lost.
func TestTagsAndClaimsAtTheSameTime(t *testing.T) {
	onBothTiers(t, linodesim.Config{Profile: linodesim.Realistic()}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		nodes := claimAll(t, p.Allocator, key, 10, 10*time.Minute)
		var group sync.WaitGroup
		for round := range 5 {
			for _, node := range nodes {
				group.Go(func() {
					add := []string{fmt.Sprintf("round=%d", round)}
					if err := p.SetTags(t.Context(), node.InstanceID, claims.Claimant{}, []string{"team=a"}, add); err != nil {
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
			if err := p.SetTags(t.Context(), nodes[0].InstanceID, claims.Claimant{}, []string{tag},
				nil); claims.KindOf(err) != claims.KindInvalid {
				t.Errorf("removing %s: %v", tag, err)
			}
		}
	})
}

func TestOwns(t *testing.T) {
	onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
		p := l.start(lkepool.Config{})
		theirs := l.cluster.Pools[0].ID
		owns := func(what string, poolID int, owned, known bool) {
			t.Helper()
			if gotOwned, gotKnown := p.Owns(poolID); gotOwned != owned || gotKnown != known {
				t.Errorf("%s: owned %t, known %t; want %t, %t", what, gotOwned, gotKnown, owned, known)
			}
		}
		owns("before anything was read", theirs, false, false)
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		owns("made by this process", node.PoolID, true, true)
		owns("another owner's", theirs, false, true)
		owns("another cluster's", l.other.Pools[0].ID, false, false)
		calls := len(l.sim.Calls())
		owns("no pool", 0, false, false)
		if len(l.sim.Calls()) != calls {
			t.Error("it made a request")
		}
		if err := p.Release(t.Context(), node.InstanceID, claims.Claimant{}); err != nil {
			t.Fatal(err)
		}
		owns("deleted by this process", node.PoolID, true, true)
		second := l.start(lkepool.Config{})
		if _, known := second.Owns(theirs); known {
			t.Error("another process knows it without having read")
		}
		if _, err := second.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if owned, known := second.Owns(theirs); owned || !known {
			t.Errorf("after a restart: owned %t, known %t", owned, known)
		}
	})
}
