package allocator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// twins makes two instances carry one claim, as two allocators at once would,
// and returns them, lowest ID first. No process that runs has handed them out.
func twins(t *testing.T, l *lab, claimant string) [2]int {
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
	for _, id := range ids {
		for _, instance := range l.instances() {
			if instance.ID != id {
				continue
			}
			tags := slices.DeleteFunc(slices.Clone(instance.Tags), func(tag string) bool {
				return strings.HasPrefix(tag, claimTag)
			})
			tags = append(tags, claimTag+claimant)
			if err := l.sim.EditInstanceTags(id, tags); err != nil {
				t.Fatal(err)
			}
		}
	}
	time.Sleep(time.Minute)
	return [2]int{ids[0], ids[1]}
}

// If one claimant has two nodes, Claim gives one of them back and Collect removes the other. The caller's records decide which one stays;
// without a record the lower ID stays.
func TestSecondNodesOfOneClaimantAreCollected(t *testing.T) {
	for _, c := range []struct {
		name   string
		stored bool
		kept   int
	}{
		{"the records name the lower", true, 0},
		{"the records name the higher", true, 1},
		{"no record", false, 0},
	} {
		for _, ask := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/asked=%t", c.name, ask), func(t *testing.T) {
				onBothTiers(t, linodesim.Config{}, func(t *testing.T, l *lab) {
					ids := twins(t, l, "twin")
					var records claims.RecordMap
					if c.stored {
						records.Store(ids[c.kept], claims.Claimant{Name: "twin"})
					}
					p := l.start(lkepool.Config{Records: &records})
					alive := aliveOf("claim-000", "twin")
					// A claimant that called Claim twice may not have stored an answer yet.
					for range 3 {
						if collected, err := p.Collect(t.Context(), claims.Sweep{Alive: alive}); err != nil || len(collected.Removed) != 0 {
							t.Fatalf("young: collected %+v, %v", collected.Removed, err)
						}
						time.Sleep(time.Minute)
					}
					request := lkepool.Request{Claimant: claims.Claimant{Name: "twin"}, Key: key}
					if ask {
						if node, err := p.Claim(within(t, time.Minute), request); err != nil || node.InstanceID != ids[c.kept] {
							t.Fatalf("asked: %d of %v, %v", node.InstanceID, ids, err)
						}
					}
					time.Sleep(6 * time.Minute)
					collected, err := p.Collect(t.Context(), claims.Sweep{Alive: alive})
					if err != nil || len(collected.Removed) != 1 || collected.Removed[0].InstanceID != ids[1-c.kept] {
						t.Errorf("collected %+v of %v, %v", collected.Removed, ids, err)
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

// A node that this process handed out outranks tags.
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
				node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: mine.Claim}, Key: key})
				if err != nil || node.InstanceID != mine.InstanceID {
					t.Errorf("%s had %d and got %d, %v", mine.Claim, mine.InstanceID, node.InstanceID, err)
				}
				time.Sleep(3 * time.Minute)
			}
		})
	}
}
