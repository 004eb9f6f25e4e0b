package known

import (
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/tuning"
)

// instanceReadings applies readings of instances.
type instanceReadings struct{ *Known }

// mergeInstances applies a list of instances.
func (k instanceReadings) mergeInstances(d event.Done) {
	k.instance.began, k.instance.shown = d.Began, make(map[int]bool, len(d.Instances))
	complete := !d.Began.Before(k.began.Add(k.cfg.ListLag))
	for _, reading := range d.Instances {
		k.instance.shown[reading.ID] = true
		if reading.Foreign {
			continue
		}
		if _, known := k.nodes.get(reading.ID); !known {
			k.meetListed(reading)
		}
		k.show(k.meet(reading.ID), d, reading)
	}
	// Instances that the first complete list shows may be older than this process. Instances that only later lists show are not.
	k.supply.witnessed = k.supply.witnessed || complete
	k.pruneNodes()
	k.countComing()
	k.survey()
}

// meetListed notes an instance that a list shows for the first time. An instance of a pool that this process made is younger than the
// process, as an instance is that an earlier complete list lacked.
func (k instanceReadings) meetListed(reading lkepool.Instance) {
	n := k.meet(reading.ID)
	if p, known := k.pools.get(reading.PoolID); k.supply.witnessed || known && p.Made() {
		k.arrive(n, reading.PoolID)
	}
}

// mergeInstance applies a direct read of an instance.
func (k instanceReadings) mergeInstance(d event.Done) {
	n, known := k.nodes.get(d.Action.InstanceID)
	switch {
	case !known:
	case isMissing(d.Err) && n.rec.Shown.IsZero() && d.Began.Before(n.First().Add(k.cfg.SettleTime)):
		// The 404 may be older than the instance, which a pool has just shown.
	case isMissing(d.Err):
		n.rec.Miss(d.Began, k.now, k.instance.began, k.bounds())
		k.countAt(n.home)
	case d.Err == nil:
		k.show(n, d, d.Instance)
		k.countAt(n.home)
	}
}

// arrive notes that this process saw an instance arrive.
func (k instanceReadings) arrive(n *Node, poolID int) {
	if n.rec.Shown.IsZero() && n.claim.Source == record.None {
		n.rec.Origin = record.Arrived
	}
	k.supply.arrived(k.Known, poolID)
}

// show applies a reading of an instance: its value, its pool, and its claim.
func (k instanceReadings) show(n *Node, d event.Done, reading lkepool.Instance) {
	direct := d.Action.Op != event.OpListInstances
	if n.rec.Value.State == lkepool.Leaving {
		reading.State = lkepool.Leaving // no older reading takes it back
	}
	in := record.Reading[lkepool.Instance]{Began: d.Began, Answered: k.now, Direct: direct, Value: reading}
	verdict := n.rec.Merge(in, k.bounds(), differs)
	if verdict == record.Ignored && !n.rec.Gone.IsZero() {
		return
	}
	if reading.State == lkepool.Leaving {
		n.rec.Value.State = lkepool.Leaving // at once, because no instance that leaves comes back
	}
	if reading.PoolID != 0 && n.home == 0 {
		k.setHome(n, reading.PoolID)
	}
	k.witness(n)
	k.showClaim(n, d, reading, direct)
	k.compare(n)
}

// differs compares the record of an instance with a reading of it. A reading that lacks tags may be older than the reading that
// showed them.
func differs(known, read lkepool.Instance) record.Difference {
	lacks := slices.ContainsFunc(known.Tags, func(tag string) bool { return !slices.Contains(read.Tags, tag) })
	if lacks || known.PoolID != 0 && read.PoolID == 0 {
		return record.Less
	}
	if known.Name == read.Name && known.State == read.State && known.Status == read.Status && len(known.Tags) == len(read.Tags) &&
		known.PoolID == read.PoolID {
		return record.Same
	}
	return record.More
}

// showClaim applies the claim that a reading shows. A tag counts at once. The absence of a tag counts only if it shows that an own write
// had no effect: in a direct read that began when the write could not take effect any more. Example: the write of a claim's tag gets no
// answer at 10:00:00. A read that begins at 10:02:04 or later and shows no claim frees the instance.
func (k instanceReadings) showClaim(n *Node, d event.Done, reading lkepool.Instance, direct bool) {
	who, busy := k.who(reading.Tags), k.request(Target{Op: event.OpMark, ID: n.ID()}).Busy > 0
	c := n.claim
	switch {
	case k.tags.Removing(reading.Tags) && !c.Vouched():
		n.rec.Remove(k.now) // an earlier leader announced its removal
		fallthrough
	case !who.None() && who.Is(c.Claimant) && c.Source > record.None:
		if c.Source == record.Sent && who.Is(c.Claimant) {
			k.setClaim(n, record.Claim{Claimant: c.Claimant, Source: record.Own, Since: k.now})
			k.tagsWork()
		}
	case c.Outranks(record.Tag):
	case c.Source == record.Sent && (busy || !direct || d.Began.Before(n.rec.Aside)):
	case who.None():
		if c.Source == record.Sent {
			k.setClaim(n, record.Claim{})
		}
	default:
		k.setClaim(n, record.Claim{Claimant: who, Source: record.Tag, Since: k.now})
	}
}

// pruneNodes forgets instances and requests after a list of instances, so that the record is as large as the cluster. It forgets
// instances that are gone, instances without a claimant that nothing lists any more, and old requests.
func (k instanceReadings) pruneNodes() {
	listed := map[int]bool{}
	for _, p := range k.pools.rows {
		for _, s := range p.rec.Value.Slots {
			listed[s.InstanceID] = true
		}
	}
	for _, n := range slices.Clone(k.nodes.rows) {
		if !listed[n.ID()] && !k.instance.shown[n.ID()] && k.request(Target{Op: event.OpGetInstance, ID: n.ID()}).Busy == 0 &&
			k.request(Target{Op: event.OpMark, ID: n.ID()}).Busy == 0 && k.forgettable(n) {
			k.forgetNode(n)
		}
	}
	for t, r := range k.requests {
		if r.Busy == 0 && latest(r.Started, r.Ended).Before(k.now.Add(-tuning.GoneMemory)) {
			delete(k.requests, t)
		}
	}
}

// forgettable reports whether the record of an instance that neither a pool nor the newest list shows can be dropped: the instance has
// been gone for GoneMemory, or it has no claimant. An instance that a direct read did not find within GoneMemory is kept, because the
// proof that it is gone may be under way. An instance that its pool stopped listing within ListLag is kept, too: a late list may show it
// again, and it would seem to take the place of a node on its way.
func (k instanceReadings) forgettable(n *Node) bool {
	r, old := &n.rec, k.instance.began.Add(-tuning.GoneMemory)
	switch {
	case !r.Gone.IsZero() && r.Gone.Before(old), !r.Removed.IsZero() && r.Removed.Before(old):
		return true
	}
	proving := !r.Missing.IsZero() && !r.Missing.Before(old)
	late := !n.left.IsZero() && k.instance.began.Before(n.left.Add(k.cfg.ListLag))
	return n.claim.Source == record.None && r.Removing.IsZero() && !proving && !late && !k.instance.began.Before(n.First().Add(k.cfg.ListLag))
}

// describe returns an instance as a caller sees it.
func (k instanceReadings) describe(n *Node) lkepool.Node {
	v := n.rec.Value
	node := lkepool.Node{PoolID: n.home, Node: claims.Node{
		InstanceID: v.ID, Name: v.Name, InstanceType: v.InstanceType, Region: v.Region, Status: v.Status, Health: k.health(n),
		Created: v.Created, Tags: slices.Clone(v.Tags),
	}}
	if n.claim.Held() {
		node.Claim = n.claim.Claimant.Value
	}
	if p, ok := k.pools.get(n.home); ok {
		node.NodeID, node.Template = p.SlotOf(v.ID), p.rec.Value.Template.Clone()
		if node.InstanceType == "" {
			node.InstanceType = p.rec.Value.InstanceType
		}
	}
	return node
}
