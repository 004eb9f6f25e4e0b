package lkepool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// Pitfall 35: what nobody claims may run pods all the same. A node goes when it
// may, another one meanwhile, and none that was not asked about.
func TestPitfall35NodesGoWhenTheyAreVacant(t *testing.T) {
	errBroken := errors.New("cannot say")
	for name, c := range map[string]struct {
		vacate func(node lkepool.Node) (bool, error)
		left   []string // after one sweep with three claims left behind
		err    lkepool.Kind
	}{
		"all":          {func(lkepool.Node) (bool, error) { return true, nil }, nil, ""},
		"none":         {func(lkepool.Node) (bool, error) { return false, nil }, []string{"claim-002", "claim-003", "claim-004"}, ""},
		"one stays":    {func(n lkepool.Node) (bool, error) { return n.Claim != "claim-003", nil }, []string{"claim-003"}, ""},
		"one unknown":  {func(n lkepool.Node) (bool, error) { return true, pick(n.Claim == "claim-003", errBroken) }, []string{"claim-003"}, lkepool.KindUnavailable},
		"all unknown":  {func(lkepool.Node) (bool, error) { return false, errBroken }, []string{"claim-002", "claim-003", "claim-004"}, lkepool.KindUnavailable},
		"answers slow": {func(lkepool.Node) (bool, error) { time.Sleep(time.Minute); return true, nil }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond})
				allocator := newAllocator(t, platform, lkepool.Config{})
				claimAll(t, allocator, key, 5, time.Minute)
				time.Sleep(6 * time.Minute)
				var mu sync.Mutex
				var asked []string
				collected, err := allocator.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(2), Vacate: func(_ context.Context, node lkepool.Node) (bool, error) {
					mu.Lock()
					asked = append(asked, node.Claim)
					mu.Unlock()
					return c.vacate(node)
				}})
				if lkepool.KindOf(err) != c.err || (c.err != "") != errors.Is(err, errBroken) {
					t.Errorf("error %v", err)
				}
				slices.Sort(asked)
				if !slices.Equal(asked, []string{"claim-002", "claim-003", "claim-004"}) {
					t.Errorf("asked about %v", asked)
				}
				if len(collected.Released) != 3-len(c.left) {
					t.Errorf("released %+v", collected.Released)
				}
				if left := claimsOf(t, allocator); !slices.Equal(left, append(names(2), c.left...)) {
					t.Errorf("left: %v", left)
				}
				// The next sweep finds what stayed.
				collected, err = allocator.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(2)})
				if err != nil || len(collected.Released) != len(c.left) {
					t.Errorf("then released %+v, %v", collected.Released, err)
				}
			})
		})
	}
}

func pick(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

func claimsOf(t *testing.T, allocator *lkepool.Allocator) []string {
	t.Helper()
	list, err := allocator.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var claims []string
	for _, node := range list {
		claims = append(claims, node.Claim)
	}
	slices.Sort(claims)
	return claims
}

// A free node is not kept from a claimant because somebody is emptying it: it is
// handed out, and the sweep leaves it alone, also when it may go by then.
func TestNodesAreHandedOutWhileTheyAreVacated(t *testing.T) {
	for _, lag := range []time.Duration{0, time.Minute} {
		t.Run(fmt.Sprintf("lag=%s", lag), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				platform := memory.New(memory.Config{ListedAfter: lag, CallTakes: 100 * time.Millisecond})
				nodes := claimAll(t, newAllocator(t, platform, lkepool.Config{}), key, 3, time.Minute)
				for _, node := range nodes[1:] {
					platform.EditInstance(node.InstanceID, func(i *lkepool.Instance) { i.Tags = nil })
				}
				allocator := newAllocator(t, platform, lkepool.Config{})
				time.Sleep(10 * time.Minute)
				var mu sync.Mutex
				var taken lkepool.Node
				var asked []int
				collected, err := allocator.Collect(t.Context(), lkepool.Sweep{Alive: aliveNames(1), Vacate: func(ctx context.Context, node lkepool.Node) (bool, error) {
					mu.Lock()
					asked = append(asked, node.InstanceID)
					first := len(asked) == 1
					mu.Unlock()
					var err error
					if first {
						taken, err = allocator.Claim(ctx, lkepool.Request{Claimant: lkepool.Claimant{Name: "late"}, Key: key})
					}
					return true, err
				}})
				if err != nil || len(asked) != 2 {
					t.Fatalf("asked about %v, %v", asked, err)
				}
				if !slices.Contains(asked, taken.InstanceID) {
					t.Errorf("%d was handed out, and not one of %v", taken.InstanceID, asked)
				}
				if len(collected.Released) != 1 || collected.Released[0].InstanceID == taken.InstanceID {
					t.Errorf("released %+v, and %d was handed out", collected.Released, taken.InstanceID)
				}
				if count, instances := size(platform); count != 2 || instances != 2 {
					t.Errorf("left: count %d, %d instances", count, instances)
				}
			})
		})
	}
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
		node, err := p.Claim(within(t, time.Minute), lkepool.Request{Claimant: lkepool.Claimant{Name: "a"}, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		owns("made by this process", node.PoolID, true, true)
		owns("somebody's", theirs, false, true)
		owns("another cluster's", l.other.Pools[0].ID, false, false)
		calls := len(l.sim.Calls())
		owns("no pool", 0, false, false)
		if len(l.sim.Calls()) != calls {
			t.Error("it made a request")
		}
		if err := p.Release(t.Context(), node.InstanceID, lkepool.Claimant{}); err != nil {
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
