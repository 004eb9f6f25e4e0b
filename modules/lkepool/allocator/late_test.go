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
		a, err := allocator.New(platform, lkepool.Config{Clock: newBoundedClock(1)})
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

// What a process that may still write has made is neither handed out nor made larger
// for LateEffect; claims are given back at once.
func TestNothingInheritedIsHandedOutWhileWritesMayLand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		platform := memory.New(memory.Config{CallTakes: 100 * time.Millisecond})
		first := newAllocator(t, platform, lkepool.Config{})
		nodes := claimAll(t, first, key, 2, time.Minute)
		if _, err := platform.Mark(t.Context(), nodes[1].InstanceID, nil); err != nil { // free again
			t.Fatal(err)
		}
		for after, least := range map[allocator.Predecessor]time.Duration{allocator.MayStillWrite: 2 * time.Minute, allocator.Ended: 0} {
			next := newAllocator(t, platform, lkepool.Config{})
			next.Begin(after)
			began := time.Now()
			if node := claimAll(t, next, key, 1, 5*time.Minute)[0]; node.InstanceID != nodes[0].InstanceID || time.Since(began) > 30*time.Second {
				t.Errorf("the claim is given back as %d after %s", node.InstanceID, time.Since(began))
			}
			who := claims.Claimant{Name: "another"}
			node, err := next.Claim(within(t, 5*time.Minute), lkepool.Request{Claimant: who, Key: key})
			if err != nil || node.InstanceID != nodes[1].InstanceID || time.Since(began) < least {
				t.Errorf("%d after %s, %v", node.InstanceID, time.Since(began), err)
			}
			if _, err := platform.Mark(t.Context(), nodes[1].InstanceID, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
