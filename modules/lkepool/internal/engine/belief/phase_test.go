package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// Whatever is tried, and in whatever order: a node that was seen claimed is not free again,
// one that is condemned is neither free nor held, and a node that is gone is nothing else.
func TestPhasesOnlyGoForward(t *testing.T) {
	for _, from := range []Phase{Held, Condemned, gone} {
		for next := Free; next <= gone; next++ {
			n := &Node{Phase: from}
			n.Claim.Since = time.Unix(1, 0)
			if forward := next >= from || from == Held && next == Writing; n.become(next) != forward {
				t.Errorf("from %d to %d: %t, want %t", from, next, !forward, forward)
			}
			if n.become(Free) && next != Free {
				t.Errorf("from %d over %d to free", from, next)
			}
		}
	}
	for from := Usable; from <= ended; from++ {
		for next := Usable; next <= ended; next++ {
			p := &Pool{Phase: from}
			if forward := next >= from || from == Frozen && next == Usable; p.become(next) != forward {
				t.Errorf("a pool from %d to %d: %t, want %t", from, next, !forward, forward)
			}
		}
	}
}

// A removal was accepted, the object was proven gone, and a later list shows it: it was
// not removed, or not yet. It is what it was, condemned.
func TestWhatWasRemovedAndComesBackStaysCondemned(t *testing.T) {
	h := newHearer()
	instances := instancesListed(lkepool.Instance{ID: 7, Tags: []string{lkepool.ManagedTag}})
	pools := poolListed(testPool(2, lkepool.Slot{NodeID: "5-1", InstanceID: 7}))
	h.after(0, pools)
	h.after(0, instances)
	h.after(time.Second, event.Done{Action: event.Action{Op: event.OpDrop, PoolID: 5, InstanceID: 7}})
	for range 2 {
		missed := instanceMissed()
		h.after(5*time.Minute, missed)
		h.after(0, event.Done{Action: readPool, Err: missed.Err})
	}
	_, poolKnown := h.Pools.Get(5)
	if _, known := h.Nodes.Get(7); known || poolKnown || !h.GoneNode(7) {
		t.Fatal("two 404s after an accepted removal are proof")
	}
	h.after(time.Second, instances)
	h.after(0, pools)
	if _, known := h.Nodes.Get(7); known {
		t.Fatal("a list that may be older than the proof refutes it")
	}
	h.after(5*time.Minute, instances)
	h.after(0, pools)
	n, known := h.Nodes.Get(7)
	p, poolKnown := h.Pools.Get(5)
	if !known || !poolKnown {
		t.Fatal("a list that is younger than the proof does not refute it")
	}
	if n.Phase != Condemned || p.Phase != Doomed || n.Removed.IsZero() || p.Removed.IsZero() {
		t.Errorf("the node is in phase %d, the pool in phase %d", n.Phase, p.Phase)
	}
}
