package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// A list takes nothing away, but what it lacks is read.
func TestAListThatLacksASlotIsLookedInto(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	apply := func(d event.Done) *Pool {
		now = now.Add(5 * time.Minute)
		d.Began = now
		b.At(now)
		b.Merge(d)
		p, _ := b.Pools.Get(5)
		return p
	}
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	pool := lkepool.Pool{ID: 5, Count: 1, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
		Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}}}
	lacking := pool
	lacking.Slots = nil
	list := event.Action{Op: event.OpListPools}
	apply(event.Done{Action: list, Pools: []lkepool.Pool{pool}})
	if p := apply(event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Pool: pool}); p.Doubtful() || !p.Direct.Agrees {
		t.Errorf("a read that shows the same: look %t, agrees %t", p.Look, p.Direct.Agrees)
	}
	p := apply(event.Done{Action: list, Pools: []lkepool.Pool{lacking}})
	if !p.Doubtful() || len(p.KnownSlots) != 1 {
		t.Errorf("a list without its slot: look %t, slots %v", p.Look, p.KnownSlots)
	}
	p = apply(event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Pool: lacking})
	if p.Direct.Agrees || len(p.KnownSlots) != 0 {
		t.Errorf("a read without its slot: agrees %t, slots %v", p.Direct.Agrees, p.KnownSlots)
	}
}
