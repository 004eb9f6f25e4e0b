package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// A removal of what is gone already is accepted, too. It lowers the count only if what the
// count is known from shows the node.
func TestARemovalLowersTheCountThatStandsForTheNode(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	pool := func(count int, slots ...lkepool.Slot) lkepool.Pool {
		return lkepool.Pool{ID: 5, Count: count, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag},
			Slots: slots}
	}
	first, second := lkepool.Slot{NodeID: "5-1", InstanceID: 7}, lkepool.Slot{NodeID: "5-2", InstanceID: 8}
	read, scale := event.Action{Op: event.OpGetPool, PoolID: 5}, event.Action{Op: event.OpScale, PoolID: 5, Key: key, Bought: 1, Count: 3}
	removal := event.Done{Action: event.Action{Op: event.OpRemove, PoolID: 5, InstanceID: 7, NodeID: first.NodeID}}
	for name, test := range map[string]struct {
		events    []event.Done
		count     int
		contested bool
	}{
		"read with the node":                    {[]event.Done{removal}, 1, false},
		"accepted twice":                        {[]event.Done{removal, removal}, 1, false},
		"bought, and the answer shows the node": {[]event.Done{{Action: scale, Pool: pool(3, first, second)}, removal}, 2, false},
		"bought, and the answer lacks the node": {[]event.Done{{Action: scale, Pool: pool(3, second)}, removal}, 3, true},
		"bought, and the answer lacks an ID":    {[]event.Done{{Action: scale, Pool: pool(3, lkepool.Slot{NodeID: "5-1"}, second)}, removal}, 2, false},
		"bought after an accepted removal":      {[]event.Done{removal, {Action: scale, Pool: pool(3, second)}}, 3, false},
		"read without the node":                 {[]event.Done{{Action: read, Pool: pool(1, second)}, removal}, 1, false},
		"read again with the node, and removed": {[]event.Done{removal, {Action: read, Pool: pool(2, first, second)}, removal}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
			list := event.Done{Action: event.Action{Op: event.OpListPools}, Pools: []lkepool.Pool{pool(2, first, second)}}
			for _, d := range append([]event.Done{list, {Action: read, Pool: pool(2, first, second)}}, test.events...) {
				now = now.Add(b.cfg.SettleTime)
				d.Began = now
				b.At(now)
				b.Merge(d)
			}
			if p, _ := b.Pools.Get(5); p.Count != test.count || p.Contested.IsZero() == test.contested {
				t.Errorf("count %d, contested until %s", p.Count, p.Contested)
			}
		})
	}
}

// A count that is being sent is what the pool will have, also when another client lowers the
// one before: what it adds to that is more than was bought.
func TestCeilingsCountTheCountThatIsBeingSent(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
	read := func(count int) {
		now = now.Add(5 * time.Minute)
		b.At(now)
		b.Merge(event.Done{Action: event.Action{Op: event.OpGetPool, PoolID: 5}, Began: now, Pool: lkepool.Pool{
			ID: 5, Count: count, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag}}})
	}
	read(3)
	scale := event.Action{Op: event.OpScale, PoolID: 5, Key: key, Bought: 1, Count: 4}
	b.Start(scale)
	for _, count := range []int{3, 2, 4} {
		if read(count); b.Owning()[key.InstanceType] != 4 {
			t.Errorf("4 is being sent, and a read shows %d: %d owned", count, b.Owning()[key.InstanceType])
		}
	}
	b.Unsent(scale)
	if read(2); b.Owning()[key.InstanceType] != 2 {
		t.Errorf("nothing is being sent, and a read shows 2: %d owned", b.Owning()[key.InstanceType])
	}
}

// Of two readings that show two counts either may be the older one. The higher count holds,
// and nothing rests on it, until a read that began the settle time after shows the lower one.
func TestACountIsContestedByAReadThatMayBeOlder(t *testing.T) {
	key := lkepool.Key{InstanceType: "g6-standard-2"}
	settle := lkepool.Config{}.WithDefaults().SettleTime
	for name, test := range map[string]struct {
		after     time.Duration
		contested bool
	}{
		"a read within the settle time":           {settle - time.Millisecond, true},
		"a read that began the settle time after": {settle, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			b := New(lkepool.Config{}.WithDefaults(), lkepool.Limits{PoolSize: 100}, now, true)
			shows := func(pause time.Duration, op event.Op, count int) *Pool {
				now = now.Add(pause)
				b.At(now)
				pool := lkepool.Pool{ID: 5, Count: count, InstanceType: key.InstanceType, Tags: []string{key.Tag(claims.Tags{}), lkepool.ManagedTag}}
				b.Merge(event.Done{Action: event.Action{Op: op, PoolID: 5}, Began: now, Pool: pool, Pools: []lkepool.Pool{pool}})
				p, _ := b.Pools.Get(5)
				return p
			}
			shows(5*time.Minute, event.OpGetPool, 1)
			shows(5*time.Minute, event.OpListPools, 2)
			p := shows(test.after, event.OpGetPool, 1)
			if want := b.Owning()[key.InstanceType] == 2; p.Contested.IsZero() == test.contested || want != test.contested {
				t.Errorf("contested until %s, %d owned", p.Contested, b.Owning()[key.InstanceType])
			}
		})
	}
}
