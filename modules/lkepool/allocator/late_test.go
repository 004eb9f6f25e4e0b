package allocator_test

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

// A platform that answers at once: what was read at the moment at which a sweep began
// counts as read by it.
func TestASweepEndsOnAPlatformWithoutLatency(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		platform := memory.New(memory.Config{})
		a, err := allocator.New(platform, lkepool.Config{
			Records: &claims.RecordMap{}, Clock: newBoundedClock(1), PendingTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		a.Begin(allocator.Ended)
		time.Sleep(3 * time.Minute)
		claimAll(t, a, key, 2, time.Minute)
		platform.Stall()
		who := claims.Claimant{Name: "waiting"}
		if _, err := a.Claim(within(t, 20*time.Minute),
			lkepool.Request{Claimant: who, Key: key}); claims.KindOf(err) != claims.KindInsufficientCapacity {
			t.Errorf("got %v", err)
		}
		collected, err := a.Collect(t.Context(), claims.Sweep{Alive: aliveNames(2)})
		if err != nil || len(collected.Slots) != 1 {
			t.Errorf("%+v, %v", collected, err)
		}
	})
}

// A young free node of a process that may still write is handed out at once: nothing that this process sent can take it away. A claim of
// its claimant is given back, and the missing node comes in a new pool.
func TestYoungFreeNodesAreHandedOutAtOnceAfterAProcessThatMayStillWrite(t *testing.T) {
	for _, after := range []allocator.Predecessor{allocator.MayStillWrite, allocator.Ended} {
		inBubble(t, func(t *testing.T) {
			platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond})
			first := newAllocator(t, platform, lkepool.Config{})
			nodes := claimAll(t, first, key, 2, time.Minute)
			if _, err := platform.Mark(t.Context(), nodes[1].InstanceID, nil); err != nil { // free again
				t.Fatal(err)
			}
			next := newAllocator(t, platform, lkepool.Config{})
			next.Begin(after)
			began := time.Now()
			if node := claimAll(t, next, key, 1, 5*time.Minute)[0]; node.InstanceID != nodes[0].InstanceID {
				t.Errorf("the claim is given back as %d", node.InstanceID)
			}
			for _, name := range []string{"another", "a-third"} {
				node, err := next.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: claims.Claimant{Name: name}, Key: key})
				took := time.Since(began)
				if err != nil || took > 15*time.Second || name == "another" && node.InstanceID != nodes[1].InstanceID {
					t.Errorf("%s: %d after %s, %v", name, node.InstanceID, took, err)
				}
				if grown := node.PoolID == nodes[0].PoolID; name == "a-third" && grown != (after == allocator.Ended) {
					t.Errorf("%s's node is in pool %d, the earlier one is %d", name, node.PoolID, nodes[0].PoolID)
				}
			}
		})
	}
}
