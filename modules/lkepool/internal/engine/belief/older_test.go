package belief

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// A direct read may be older than one before it, and than the answer to a purchase.
func TestAnOlderReadOfAPoolAddsNothing(t *testing.T) {
	pool := func(count int, nodes ...string) lkepool.Pool {
		p := testPool(count)
		for _, id := range nodes {
			p.Slots = append(p.Slots, lkepool.Slot{NodeID: id})
		}
		return p
	}
	h := newHearer()
	settle := h.cfg.SettleTime
	h.after(settle, poolListed(pool(2, "5-1", "5-2")))
	h.after(settle, poolShown(pool(2, "5-1", "5-2")))
	h.after(settle, poolShown(pool(1, "5-2"))) // a removal without an answer took effect
	scale := event.Action{Op: event.OpScale, PoolID: 5, Key: testKey, Bought: 1, Count: 2}
	h.after(time.Second, event.Done{Action: scale, Pool: pool(2, "5-2", "5-3")})
	h.after(time.Second, poolShown(pool(2, "5-1", "5-2")))
	if p := h.pool(); p.slot("5-1") != nil || p.slot("5-3") == nil {
		t.Errorf("a read from before the purchase: %+v", p.KnownSlots)
	}
	h.after(settle, poolShown(pool(3, "5-2", "5-3", "5-4")))
	if p := h.pool(); p.slot("5-4") == nil {
		t.Errorf("a read from after it: %+v", p.KnownSlots)
	}
	// Of two reads either may be the older one: ceilings count the higher count.
	h.after(time.Second, poolShown(pool(2, "5-2", "5-3")))
	if p := h.pool(); p.Count != 2 || h.owned() != 3 {
		t.Errorf("a read a second later: count %d, %d owned", p.Count, h.owned())
	}
	if h.after(settle, poolShown(pool(2, "5-2", "5-3"))); h.owned() != 2 {
		t.Errorf("the settle time after: %d owned", h.owned())
	}
}

// A reading shows the platform as it was when it was sent or at any time until its answer: a
// direct read that began the settle time after a slow list did may still be the older one.
func TestASlowListMayBeNewerThanAReadThatBeganLater(t *testing.T) {
	for name, test := range map[string]struct {
		read time.Duration // began so long after the list's answer
		kept bool
	}{
		"a read from before the answer":           {-3 * time.Second, true},
		"a read within the settle time of it":     {3 * time.Second, true},
		"a read that began the settle time after": {4 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHearer()
			first := lkepool.Slot{NodeID: "5-1", InstanceID: 7}
			pool, grown := testPool(1, first), testPool(2, first, lkepool.Slot{NodeID: "5-2"})
			instance := func(tags ...string) lkepool.Instance { return lkepool.Instance{ID: 7, PoolID: 5, Tags: tags} }
			instanceShown := event.Done{Action: event.Action{Op: event.OpGetInstance, InstanceID: 7}, Instance: instance("lke1")}
			h.between(0, time.Second, poolShown(pool))
			h.between(0, time.Second, instanceShown)

			list, answered := 5*time.Minute, 5*time.Minute+8*time.Second
			h.between(list, answered, poolListed(grown))
			h.between(list, answered, instancesListed(instance("lke1", "new")))
			h.between(answered+test.read, answered+5*time.Second, poolShown(pool))
			h.between(answered+test.read, answered+5*time.Second, instanceShown)

			n, _ := h.Nodes.Get(7)
			if slices.Contains(n.Tags, "new") != test.kept {
				t.Errorf("tags %v", n.Tags)
			}
			p := h.pool()
			if (p.slot("5-2") != nil) != test.kept || p.Contested.IsZero() == test.kept || (h.owned() == 2) != test.kept {
				t.Errorf("slots %v, contested until %s, %d owned", p.KnownSlots, p.Contested, h.owned())
			}
		})
	}
}

// A slot that a lagging list showed after an own removal was accepted is no doubt about a
// read that lacks it.
func TestARemovedSlotThatAnOldListShowsIsNotContested(t *testing.T) {
	for name, removed := range map[string]bool{"removed": true, "not removed": false} {
		t.Run(name, func(t *testing.T) {
			h := newHearer()
			second := lkepool.Slot{NodeID: "5-2", InstanceID: 8}
			pool := testPool(2, lkepool.Slot{NodeID: "5-1", InstanceID: 7}, second)
			h.after(5*time.Minute, poolShown(pool))
			if removed {
				h.after(time.Minute, event.Done{Action: event.Action{Op: event.OpRemove, PoolID: 5, InstanceID: 7, NodeID: "5-1"}})
			}
			h.after(3*time.Second, poolListed(pool))
			h.after(2*time.Second, poolShown(testPool(1, second)))
			if p := h.pool(); p.Contested.IsZero() != removed || (p.slot("5-1") == nil) != removed {
				t.Errorf("contested until %s, slots %v", p.Contested, p.KnownSlots)
			}
		})
	}
}
