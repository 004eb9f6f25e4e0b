package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// poolReadings applies readings of pools.
type poolReadings struct{ *Known }

// mergePools applies a list of pools. If the list lacks a pool or contradicts its record, the engine reads the pool.
func (k poolReadings) mergePools(d event.Done) {
	k.pool.began, k.pool.shown = d.Began, make(map[int]bool, len(d.Pools))
	for _, reading := range d.Pools {
		k.pool.shown[reading.ID] = true
		k.showPool(d, reading, false)
	}
	for _, p := range slices.Clone(k.pools.rows) {
		busy := k.request(Target{Op: event.OpGetPool, ID: p.ID()}).Busy > 0
		switch old := d.Began.Add(-tuning.GoneMemory); {
		case k.pool.shown[p.ID()] || busy:
		case !p.Ours() && !p.rec.Shown.IsZero(), !p.rec.Gone.IsZero() && p.rec.Gone.Before(old),
			p.rec.Shown.IsZero() && len(k.homed(p.ID())) == 0:
			k.pools.drop(p.ID())
		case p.Ours() && p.rec.Gone.IsZero() && !d.Began.Before(p.first.Add(k.cfg.ListLag)):
			p.look = true
		}
	}
	k.forgetKeys()
	k.countComing()
	k.survey()
}

// mergePool applies a direct read of a pool.
func (k poolReadings) mergePool(d event.Done) {
	p := k.meetPool(d.Action.PoolID)
	switch {
	case isMissing(d.Err):
		p.rec.Miss(d.Began, k.now, k.pool.began, k.bounds())
		p.look = p.look && p.rec.Missing.IsZero()
	case d.Err == nil:
		k.showPool(d, d.Pool, true)
	}
	k.countAt(p.ID())
}

// showPool applies a reading of a pool. Instances that it shows count at once.
func (k poolReadings) showPool(d event.Done, reading lkepool.Pool, direct bool) {
	p := k.meetPool(reading.ID)
	fresh := p.rec.Shown.IsZero()
	in := record.Reading[lkepool.Pool]{Began: d.Began, Answered: k.now, Direct: direct, Value: reading}
	in.Value.Slots = slices.Clone(reading.Slots)
	before := p.rec.Value
	wrote := p.rec.Wrote
	seen := !p.rec.Read.IsZero() && !p.rec.Read.Before(k.settled()) || p.Made()
	switch verdict := p.rec.Merge(in, k.bounds(), differ); verdict {
	case record.Replaced:
		p.hash, p.look = k.tags.KeyHash(reading.Tags), false
		k.noteLeft(before.Slots, p)
		if direct && !fresh && !wrote.IsZero() && reading.Count < before.Count {
			p.rec.Lose(k.now, k.bounds()) // another client lowered the count, or the answer to our write was wrong
		}
	case record.Agreed:
		k.addSlots(p, d.Began, direct, reading.Slots)
		p.look = p.look && (!direct || d.Began.Before(wrote.Add(k.cfg.SettleTime)))
	case record.Contradicted:
		k.contradicted(p, direct, reading.Count)
	case record.Ignored:
	}
	if fresh {
		k.foundPool(p, k.request(Target{Op: event.OpCreate, Name: p.hash}).Busy > 0)
	}
	for _, s := range reading.Slots {
		k.showSlot(p, s, seen)
	}
}

// contradicted notes a reading that contradicts the record. A count that it shows is kept if it is higher: our write had an effect after
// all, and the read that decides for the slots may be older than that.
func (k poolReadings) contradicted(p *Pool, direct bool, count int) {
	p.look = true
	if direct && count > p.rec.Value.Count {
		p.rec.Value.Count, p.rec.Shown = count, k.now
	}
}

// addSlots adds the slots that a reading shows for the first time, up to the count of the pool. A slot is not added if its instance is
// being removed; only a reading that began long after the accepted removal shows that the removal had no effect. A slot is not added either
// if the pool has stopped listing its instance, and the reading may be older than that. A list that is older than this reading lacks the
// new slots: it contradicts the record from now on, because Shown is set.
func (k poolReadings) addSlots(p *Pool, began time.Time, direct bool, shown []lkepool.Slot) {
	late := k.cfg.ListLag
	if direct {
		late = k.cfg.SettleTime
	}
	for _, s := range shown {
		n, known := k.nodes.get(s.InstanceID)
		removed := known && (n.leavesAt(began, max(late, tuning.RemovalResend)) || !n.left.IsZero() && began.Before(n.left.Add(late)))
		if len(p.rec.Value.Slots) < p.rec.Value.Count && p.slot(s.NodeID) == nil && !removed {
			p.rec.Value.Slots = append(slices.Clip(p.rec.Value.Slots), s)
			p.rec.Shown = k.now
		}
	}
}

// noteLeft notes the instances that a pool listed before, and does not list any more.
func (k poolReadings) noteLeft(before []lkepool.Slot, p *Pool) {
	for _, s := range before {
		if n, known := k.nodes.get(s.InstanceID); known && n.home == p.ID() && p.SlotOf(n.ID()) == "" {
			n.left = k.now
		}
	}
}

// showSlot applies an instance that a reading shows in a slot. seen: all instances that the pool had when this process began to lead are
// known.
func (k poolReadings) showSlot(p *Pool, s lkepool.Slot, seen bool) {
	if s.InstanceID == 0 {
		return
	}
	mine := p.slot(s.NodeID)
	n, known := k.nodes.get(s.InstanceID)
	vacant := mine != nil && mine.InstanceID == 0
	if vacant && (!known || !n.Leaving() && n.rec.Missing.IsZero()) {
		mine.InstanceID, p.rec.Shown = s.InstanceID, k.now
	}
	switch {
	case known && n.rec.Gone.IsZero():
		k.setHome(n, p.ID())
		if p.SlotOf(n.ID()) == s.NodeID {
			n.left = time.Time{}
		}
	case known:
	case mine == nil && p.Ours():
		p.look = true // the slot is newer than the record, or gone: a direct read decides
	default:
		n = k.meet(s.InstanceID)
		k.setHome(n, p.ID())
		if seen && !k.limits.NodesLag {
			instanceReadings(k).arrive(n, p.ID())
		}
	}
}
