package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// Pods may run on a node without a claim. The node goes only after
// Vacate was called for it and agreed, whatever the result for other nodes.
func TestNodesGoWhenTheyAreVacant(t *testing.T) {
	errBroken := errors.New("cannot say")
	for name, c := range map[string]struct {
		vacate func(node claims.Node) (bool, error)
		left   []string // after one sweep with three claims left behind
		err    claims.Kind
	}{
		"all":       {func(claims.Node) (bool, error) { return true, nil }, nil, ""},
		"none":      {func(claims.Node) (bool, error) { return false, nil }, []string{"claim-002", "claim-003", "claim-004"}, ""},
		"one stays": {func(n claims.Node) (bool, error) { return n.Claim != "claim-003", nil }, []string{"claim-003"}, ""},
		"one unknown": {func(n claims.Node) (bool, error) { return true, pick(n.Claim == "claim-003", errBroken) }, []string{"claim-003"},
			claims.KindUnavailable},
		"all unknown": {func(claims.Node) (bool, error) { return false, errBroken }, []string{"claim-002", "claim-003", "claim-004"},
			claims.KindUnavailable},
		"answers slow": {func(claims.Node) (bool, error) { time.Sleep(time.Minute); return true, nil }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond})
				allocator := newAllocator(t, platform, lkepool.Config{})
				claimAll(t, allocator, key, 5, time.Minute)
				time.Sleep(6 * time.Minute)
				var mu sync.Mutex
				var asked []string
				collected, err := allocator.Collect(t.Context(),
					claims.Sweep{Alive: aliveNames(2), Vacate: func(_ context.Context, node claims.Node) (bool, error) {
						mu.Lock()
						asked = append(asked, node.Claim)
						mu.Unlock()
						return c.vacate(node)
					}})
				if claims.KindOf(err) != c.err || (c.err != "") != errors.Is(err, errBroken) {
					t.Errorf("error %v", err)
				}
				slices.Sort(asked)
				if !slices.Equal(asked, []string{"claim-002", "claim-003", "claim-004"}) {
					t.Errorf("asked about %v", asked)
				}
				if len(collected.Removed) != 3-len(c.left) {
					t.Errorf("released %+v", collected.Removed)
				}
				if left := claimsOf(t, allocator); !slices.Equal(left, append(names(2), c.left...)) {
					t.Errorf("left: %v", left)
				}
				// The next sweep finds what stayed.
				collected, err = allocator.Collect(t.Context(), claims.Sweep{Alive: aliveNames(2)})
				if err != nil || len(collected.Removed) != len(c.left) {
					t.Errorf("then released %+v, %v", collected.Removed, err)
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

// A free node is not kept from a claimant because it is being emptied: it is
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
				claimsOf(t, allocator) // first seen now
				time.Sleep(10 * time.Minute)
				var mu sync.Mutex
				var taken lkepool.Node
				var asked []int
				collected, err := allocator.Collect(t.Context(),
					claims.Sweep{Alive: aliveNames(1), Vacate: func(ctx context.Context, node claims.Node) (bool, error) {
						mu.Lock()
						asked = append(asked, node.InstanceID)
						first := len(asked) == 1
						mu.Unlock()
						var err error
						if first {
							taken, err = allocator.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: "late"}, Key: key})
						}
						return true, err
					}})
				if err != nil || len(asked) != 2 {
					t.Fatalf("asked about %v, %v", asked, err)
				}
				if !slices.Contains(asked, taken.InstanceID) {
					t.Errorf("%d was handed out, and not one of %v", taken.InstanceID, asked)
				}
				if len(collected.Removed) != 1 || collected.Removed[0].InstanceID == taken.InstanceID {
					t.Errorf("released %+v, and %d was handed out", collected.Removed, taken.InstanceID)
				}
				if count, instances := size(t, platform); count != 2 || instances != 2 {
					t.Errorf("left: count %d, %d instances", count, instances)
				}
			})
		})
	}
}
