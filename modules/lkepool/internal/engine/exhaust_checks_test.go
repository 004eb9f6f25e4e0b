package engine_test

import (
	"fmt"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine"
)

// What must hold at every step of a small world: see ENGINE's invariants in the package
// doc's guarantees. Writes are judged when they take effect, answers when they are given.

// holder is the claimant that exists, was given the instance, and has not released it.
func (w *smallWorld) holder(id int) *smallClaimant {
	for i := range w.claimants {
		if c := &w.claimants[i]; c.handed == id && !c.gone && !c.releasing {
			return c
		}
	}
	return nil
}

// tagged is the claimant that exists and whose claim the tags carry.
func (w *smallWorld) tagged(tags []string) *smallClaimant {
	id := smallTags.ClaimIn(tags)
	for i := range w.claimants {
		if c := &w.claimants[i]; !id.None() && c.came && !c.gone && !c.releasing && smallTags.ID(c.who).Is(id) {
			return c
		}
	}
	return nil
}

// checkHanded is I1 and I2.
func (w *smallWorld) checkHanded(c *smallClaimant, n lkepool.Node) {
	i := w.platform.instance(n.InstanceID)
	if i == nil {
		w.fail("%s is given instance %d, which never existed", c.who.Name, n.InstanceID)
		return
	}
	if other := w.holder(i.id); other != nil && other != c {
		w.fail("I1: %s is given instance %d of %s", c.who.Name, i.id, other.who.Name)
	}
	if w.platform.instance(c.handed).lives() && c.handed != i.id {
		w.fail("I2: %s is given instance %d and has %d", c.who.Name, i.id, c.handed)
	}
	if who := w.tagged(i.tags); i.lives() && who != c {
		w.fail("I1: %s is given instance %d, which does not carry its claim", c.who.Name, i.id)
	}
}

// checkSent is I9 when a count is sent: no other one is under way.
func (w *smallWorld) checkSent(a engine.Action) {
	for _, r := range w.requests.Under {
		if r.Action.Op == engine.OpScale && r.Action.PoolID == a.PoolID && r.Action.Count != a.Count {
			w.fail("I9: two counts for pool %d are on their way: %d and %d", a.PoolID, r.Action.Count, a.Count)
		}
	}
}

// checkWrite is I1, I6 and I9 when a write takes effect.
func (w *smallWorld) checkWrite(a engine.Action) {
	switch a.Op {
	case engine.OpScale:
		if of := w.platform.pool(a.PoolID); of != nil && a.Count < len(of.slots) {
			w.fail("I9: count %d is written to pool %d, which has %d", a.Count, of.id, len(of.slots))
		}
	case engine.OpMark:
		w.checkMark(a)
	case engine.OpRemove:
		if of := w.platform.pool(a.PoolID); of != nil {
			if at := slices.IndexFunc(of.slots, func(s smallSlot) bool { return s.nodeID == a.NodeID }); at >= 0 {
				w.checkRemoval(a, of.slots[at].instance)
			}
		}
	case engine.OpDrop:
		if of := w.platform.pool(a.PoolID); of != nil {
			for _, slot := range of.slots {
				w.checkRemoval(a, slot.instance)
			}
		}
	}
}

func (w *smallWorld) checkMark(a engine.Action) {
	i := w.platform.instance(a.InstanceID)
	if !i.lives() {
		return
	}
	who := w.tagged(a.Tags)
	if other := w.holder(i.id); other != nil && other != who {
		w.fail("I1: instance %d of %s is tagged for another", i.id, other.who.Name)
	}
	if before := w.tagged(i.tags); before != nil && before != who && before.handed == 0 {
		w.fail("I1: the claim of %s on instance %d is overwritten", before.who.Name, i.id)
	}
}

// checkRemoval is I6.
func (w *smallWorld) checkRemoval(a engine.Action, id int) {
	i := w.platform.instance(id)
	if !i.lives() {
		return
	}
	if c := w.holder(id); c != nil {
		w.fail("I6: %s removes instance %d of %s", a.Op, id, c.who.Name)
	}
	c := w.tagged(i.tags)
	if c == nil || c.handed != 0 {
		return
	}
	for _, other := range w.platform.instances {
		if other.id != id && other.lives() && w.tagged(other.tags) == c {
			return // one of two
		}
	}
	w.fail("I6: %s removes instance %d, which is claimed for %s", a.Op, id, c.who.Name)
}

// checkBought is I5: a node for each claimant, one for each purchase whose answer was
// lost, and after a take-over one for each claimant, because lists may not show yet what
// the process before bought or claimed.
func (w *smallWorld) checkBought() {
	needs := 0
	for _, c := range w.claimants {
		if c.came {
			needs++
		}
	}
	if w.platform.bought > needs+w.excused {
		w.fail("I5: %d nodes were bought for %d claimants, and %d more are excused", w.platform.bought, needs, w.excused)
	}
}

// disorder reports a state that I3 does not allow at rest.
func (w *smallWorld) disorder() string {
	for _, c := range w.claimants {
		switch i := w.platform.instance(c.handed); {
		case !c.came || c.gone:
		case !i.lives():
			return fmt.Sprintf("I3: %s has no node", c.who.Name)
		case w.tagged(i.tags) == nil:
			return fmt.Sprintf("rule 4: instance %d does not carry the claim of %s", i.id, c.who.Name)
		}
	}
	for _, of := range w.platform.pools {
		if of.gone {
			continue
		}
		if len(of.slots) == 0 {
			return fmt.Sprintf("I3: pool %d is empty", of.id)
		}
		for _, slot := range of.slots {
			if c := w.holder(slot.instance); c == nil {
				return fmt.Sprintf("I3: %s with instance %d has no claimant", slot.nodeID, slot.instance)
			}
		}
	}
	return ""
}
