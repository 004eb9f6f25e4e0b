package belief

import (
	"slices"
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

// A reading shows the platform as it was when it was sent or at any time until its answer: a
// direct read that began the settle time after a slow list did may still be the older one.
func TestASlowListMayBeNewerThanAReadThatBeganLater(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		read time.Duration // began so long after the list's answer
		kept bool
	}{
		"a read from before the answer":           {-3 * time.Second, true},
		"a read within the settle time of it":     {3 * time.Second, true},
		"a read that began the settle time after": {4 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, start, true)
			apply := func(began, answered time.Duration, d event.Done) {
				d.Began = start.Add(began)
				b.At(start.Add(answered))
				b.Merge(d)
			}
			pool := lkepool.Pool{ID: 5, Count: 1, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
				Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}}}
			grown := pool
			grown.Count, grown.Slots = 2, append(slices.Clone(pool.Slots), lkepool.Slot{NodeID: "5-2"})
			instance := func(tags ...string) lkepool.Instance { return lkepool.Instance{ID: 7, PoolID: 5, Tags: tags} }
			readPool, readInstance := event.Action{Op: event.OpGetPool, PoolID: 5}, event.Action{Op: event.OpGetInstance, InstanceID: 7}
			apply(0, time.Second, event.Done{Action: readPool, Pool: pool})
			apply(0, time.Second, event.Done{Action: readInstance, Instance: instance("lke1")})

			list, answered := 5*time.Minute, 5*time.Minute+8*time.Second
			apply(list, answered, event.Done{Action: event.Action{Op: event.OpListPools}, Pools: []lkepool.Pool{grown}})
			apply(list, answered, event.Done{Action: event.Action{Op: event.OpListInstances}, Instances: []lkepool.Instance{instance("lke1", "new")}})
			apply(answered+test.read, answered+5*time.Second, event.Done{Action: readPool, Pool: pool})
			apply(answered+test.read, answered+5*time.Second, event.Done{Action: readInstance, Instance: instance("lke1")})

			n, _ := b.Nodes.Get(7)
			if slices.Contains(n.Tags, "new") != test.kept {
				t.Errorf("tags %v", n.Tags)
			}
			p, _ := b.Pools.Get(5)
			if (p.slot("5-2") != nil) != test.kept || p.Contested.IsZero() == test.kept || b.Owning()[key.InstanceType] != p.most.count ||
				(p.most.count == 2) != test.kept {
				t.Errorf("slots %v, contested until %s, at most %d", p.KnownSlots, p.Contested, p.most.count)
			}
		})
	}
}

// A slot that a lagging list showed after an own removal was accepted is no doubt about a
// read that lacks it.
func TestARemovedSlotThatAnOldListShowsIsNotContested(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	for name, removed := range map[string]bool{"removed": true, "not removed": false} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
			apply := func(pause time.Duration, d event.Done) {
				now = now.Add(pause)
				d.Began = now
				b.At(now)
				b.Merge(d)
			}
			pool := lkepool.Pool{ID: 5, Count: 2, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
				Slots: []lkepool.Slot{{NodeID: "5-1", InstanceID: 7}, {NodeID: "5-2", InstanceID: 8}}}
			without := pool
			without.Count, without.Slots = 1, pool.Slots[1:]
			apply(5*time.Minute, event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Pool: pool})
			if removed {
				apply(time.Minute, event.Done{Action: event.Action{Op: event.OpRemove, PoolID: 5, InstanceID: 7, NodeID: "5-1"}})
			}
			apply(3*time.Second, event.Done{Action: event.Action{Op: event.OpListPools}, Pools: []lkepool.Pool{pool}})
			apply(2*time.Second, event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Pool: without})
			if p, _ := b.Pools.Get(5); p.Contested.IsZero() != removed || (p.slot("5-1") == nil) != removed {
				t.Errorf("contested until %s, slots %v", p.Contested, p.KnownSlots)
			}
		})
	}
}
