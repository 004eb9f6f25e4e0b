package belief

import (
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// A removal of a node that is gone already is accepted, too. It lowers the count only if what the
// count is known from shows the node.
func TestARemovalLowersTheCountThatStandsForTheNode(t *testing.T) {
	first, second := lkepool.Slot{NodeID: "5-1", InstanceID: 7}, lkepool.Slot{NodeID: "5-2", InstanceID: 8}
	bought := func(slots ...lkepool.Slot) event.Done {
		return event.Done{Action: event.Action{Op: event.OpScale, PoolID: 5, Key: testKey, Bought: 1, Count: 3}, Pool: testPool(3, slots...)}
	}
	removal := event.Done{Action: event.Action{Op: event.OpRemove, PoolID: 5, InstanceID: 7, NodeID: first.NodeID}}
	for name, test := range map[string]struct {
		events    []event.Done
		count     int
		contested bool
	}{
		"read with the node":                    {[]event.Done{removal}, 1, false},
		"accepted twice":                        {[]event.Done{removal, removal}, 1, false},
		"bought, and the answer shows the node": {[]event.Done{bought(first, second), removal}, 2, false},
		"bought, and the answer lacks the node": {[]event.Done{bought(second), removal}, 3, true},
		"bought, and the answer lacks an ID":    {[]event.Done{bought(lkepool.Slot{NodeID: "5-1"}, second), removal}, 2, false},
		"bought after an accepted removal":      {[]event.Done{removal, bought(second)}, 3, false},
		"read without the node":                 {[]event.Done{poolShown(testPool(1, second)), removal}, 1, false},
		"read again with the node, and removed": {[]event.Done{removal, poolShown(testPool(2, first, second)), removal}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHearer()
			before := []event.Done{poolListed(testPool(2, first, second)), poolShown(testPool(2, first, second))}
			for _, d := range append(before, test.events...) {
				h.after(h.cfg.SettleTime, d)
			}
			if p := h.pool(); p.Count != test.count || p.Contested.IsZero() == test.contested {
				t.Errorf("count %d, contested until %s", p.Count, p.Contested)
			}
		})
	}
}

// Ceilings count what the pool has after the count that is being sent. What that adds is more than
// was bought where another client has lowered the one before.
func TestCeilingsCountTheCountThatIsBeingSent(t *testing.T) {
	h := newHearer()
	h.after(5*time.Minute, poolShown(testPool(3)))
	scale := event.Action{Op: event.OpScale, PoolID: 5, Key: testKey, Bought: 1, Count: 4}
	h.Start(scale)
	for _, count := range []int{3, 2, 4} {
		if h.after(5*time.Minute, poolShown(testPool(count))); h.owned() != 4 {
			t.Errorf("4 is being sent, and a read shows %d: %d owned", count, h.owned())
		}
	}
	h.Unsent(scale)
	if h.after(5*time.Minute, poolShown(testPool(2))); h.owned() != 2 {
		t.Errorf("nothing is being sent, and a read shows 2: %d owned", h.owned())
	}
}

// Of two readings that show two counts either may be the older one. The higher count holds,
// and nothing rests on it, until a read that began the settle time after shows the lower one.
func TestACountIsContestedByAReadThatMayBeOlder(t *testing.T) {
	settle := lkepool.Config{}.WithDefaults().SettleTime
	for name, test := range map[string]struct {
		after     time.Duration
		contested bool
	}{
		"a read within the settle time":           {settle - time.Millisecond, true},
		"a read that began the settle time after": {settle, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHearer()
			h.after(5*time.Minute, poolShown(testPool(1)))
			h.after(5*time.Minute, poolListed(testPool(2)))
			h.after(test.after, poolShown(testPool(1)))
			if h.pool().Contested.IsZero() == test.contested || (h.owned() == 2) != test.contested {
				t.Errorf("contested until %s, %d owned", h.pool().Contested, h.owned())
			}
		})
	}
}
