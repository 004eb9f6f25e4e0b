package belief

import (
	"errors"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// Whatever is tried, and in whatever order: a node that was seen claimed is not free again,
// one that is condemned is neither free nor held, and what is gone is nothing else.
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
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	apply := func(after time.Duration, d event.Done) {
		now = now.Add(after)
		d.Began = now
		b.At(now)
		b.Merge(d)
	}
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	pool := lkepool.Pool{ID: 5, Count: 2, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
		Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}}}
	instances := event.Done{Action: event.Action{Op: event.OpListInstances}, Instances: []lkepool.Instance{{ID: 7, Tags: []string{lkepool.ManagedTag}}}}
	pools := event.Done{Action: event.Action{Op: event.OpListPools}, Pools: []lkepool.Pool{pool}}
	apply(0, pools)
	apply(0, instances)
	apply(time.Second, event.Done{Action: event.Action{Op: event.OpDrop, PoolID: 5, InstanceID: 7}})
	missing := &claims.Error{Kind: claims.KindNotFound, Op: "get", Err: errors.New("not found")}
	for range 2 {
		apply(5*time.Minute, event.Done{Action: event.Action{Op: event.OpGetInstance, InstanceID: 7}, Err: missing})
		apply(0, event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Err: missing})
	}
	_, poolKnown := b.Pools.Get(5)
	if _, known := b.Nodes.Get(7); known || poolKnown || !b.GoneNode(7) {
		t.Fatal("two 404s after an accepted removal are proof")
	}
	apply(time.Second, instances)
	apply(0, pools)
	if _, known := b.Nodes.Get(7); known {
		t.Fatal("a list that may be older than the proof refutes it")
	}
	apply(5*time.Minute, instances)
	apply(0, pools)
	n, known := b.Nodes.Get(7)
	p, poolKnown := b.Pools.Get(5)
	if !known || !poolKnown {
		t.Fatal("a list that is younger than the proof does not refute it")
	}
	if n.Phase != Condemned || p.Phase != Doomed || n.Removed.IsZero() || p.Removed.IsZero() {
		t.Errorf("the node is in phase %d, the pool in phase %d", n.Phase, p.Phase)
	}
}
