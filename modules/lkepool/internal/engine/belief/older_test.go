package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// A direct read may be older than one before it, and than the answer to a purchase.
func TestAnOlderReadOfAPoolAddsNothing(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	pool := func(count int, nodes ...string) lkepool.Pool {
		p := lkepool.Pool{ID: 5, Count: count, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag}}
		for _, id := range nodes {
			p.Slots = append(p.Slots, lkepool.Slot{NodeID: id})
		}
		return p
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	after := func(pause time.Duration, a event.Action, shown lkepool.Pool) *Pool {
		now = now.Add(pause)
		b.At(now)
		d := event.Done{Action: a, Began: now, Pool: shown}
		if a.Op == event.OpListPools {
			d.Pools = []lkepool.Pool{shown}
		}
		b.Merge(d)
		p, _ := b.Pools.Get(5)
		return p
	}
	read, settle := event.Action{Op: event.OpGetPool, PoolID: 5}, b.cfg.SettleTime
	after(settle, event.Action{Op: event.OpListPools}, pool(2, "5-1", "5-2"))
	after(settle, read, pool(2, "5-1", "5-2"))
	after(settle, read, pool(1, "5-2")) // a removal without an answer took effect
	after(time.Second, event.Action{Op: event.OpScale, PoolID: 5, Key: key, Bought: 1, Count: 2}, pool(2, "5-2", "5-3"))
	if p := after(time.Second, read, pool(2, "5-1", "5-2")); p.slot("5-1") != nil || p.slot("5-3") == nil {
		t.Errorf("a read from before the purchase: %+v", p.KnownSlots)
	}
	if p := after(settle, read, pool(3, "5-2", "5-3", "5-4")); p.slot("5-4") == nil {
		t.Errorf("a read from after it: %+v", p.KnownSlots)
	}
	// Of two reads either may be the older one: ceilings count the higher count.
	if p := after(time.Second, read, pool(2, "5-2", "5-3")); p.Count != 2 || b.Owning()[key.InstanceType] != 3 {
		t.Errorf("a read a second later: count %d, %d owned", p.Count, b.Owning()[key.InstanceType])
	}
	if after(settle, read, pool(2, "5-2", "5-3")); b.Owning()[key.InstanceType] != 2 {
		t.Errorf("the settle time after: %d owned", b.Owning()[key.InstanceType])
	}
}
