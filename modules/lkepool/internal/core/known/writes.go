package known

import (
	"errors"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
)

// writeAnswers applies the ends of own writes.
type writeAnswers struct{ *Known }

// mergePurchase applies the end of a purchase.
func (k writeAnswers) mergePurchase(d event.Done) News {
	key := k.keyed(d.Action.Key.Hash())
	if d.Err != nil {
		return k.purchaseFailed(key, d)
	}
	p := k.meetPool(d.Pool.ID)
	if d.Action.Op == event.OpCreate {
		p.rec.Origin = record.Arrived
		for _, n := range k.homed(p.ID()) { // a list has shown it before the answer came
			n.rec.Origin = record.Arrived
		}
	}
	value := k.answerPool(p, d.Pool)
	p.hash, p.look = k.tags.KeyHash(value.Tags), false
	if key.room > 0 {
		key.room = d.Action.Bought // the limit may allow as many nodes again
	}
	k.supply.grown(k.Known)
	for _, s := range value.Slots {
		poolReadings(k).showSlot(p, s, true)
	}
	k.countAt(p.ID())
	return News{}
}

// answerPool applies the pool in the answer to an own write.
func (k writeAnswers) answerPool(p *Pool, value lkepool.Pool) lkepool.Pool {
	before := p.rec.Value.Slots
	value.Slots = slices.Clone(value.Slots)
	p.rec.Answer(value, k.now)
	poolReadings(k).noteLeft(before, p)
	return value
}

// purchaseFailed handles a purchase that ended in an error. If the purchase may have had its effect, the engine looks for it before it buys
// anything else for the key. It sets the pool aside: missing nodes then come in another pool. Example: the PUT of count 4 gets no answer at
// 10:00:00. Nothing is bought for the key before 10:00:04, and the pool is not made larger before 10:02:04.
func (k writeAnswers) purchaseFailed(key *Key, d event.Done) (news News) {
	if p, ok := k.pools.get(d.Action.PoolID); ok {
		if mayHaveEffect(d.Err) {
			p.rec.Lose(k.now, k.bounds())
			p.look = true
			key.notBefore = k.now.Add(k.cfg.SettleTime)
		}
		if isMissing(d.Err) {
			p.look = true
		}
	} else if mayHaveEffect(d.Err) {
		// Creating has no idempotency token: the pool is looked for by its tag. While another creation of the key
		// is lost, too, the pause is the lag of lists: a list that began later has to show both pools.
		wait, hash := k.cfg.SettleTime, d.Action.Key.Hash()
		if k.lostFor(hash) > 0 || claims.EffectOf(d.Err) == claims.EffectApplied {
			wait = k.cfg.ListLag
		}
		key.notBefore = k.now.Add(wait)
		k.lost = append(k.lost, lostCreation{hash: hash, instanceType: d.Action.Key.InstanceType, nodes: d.Action.Bought,
			until: k.now.Add(k.cfg.LateEffect + k.cfg.ListLag)})
	}
	switch add := d.Action.Bought; {
	case claims.KindOf(d.Err) == claims.KindQuotaExceeded && add > 1:
		// LKE refuses the whole purchase if a part of it does not fit, and its answer does not contain how many nodes would fit. So
		// the next purchase is at most half as large.
		key.room = add / 2
		k.request(TargetOf(d.Action)).Until = k.now
		return News{}
	case Lasting(d.Err):
		key.room = 0
		news = News{Refused: d.Err, Key: d.Action.Key}
	}
	return news
}

// mergeMark applies the end of a write of tags.
func (k writeAnswers) mergeMark(d event.Done) News {
	n, known := k.nodes.get(d.Action.InstanceID)
	if !known {
		return News{}
	}
	r, who := k.request(TargetOf(d.Action)), k.who(d.Action.Tags)
	if d.Err == nil && (!k.who(d.Instance.Tags).Is(who) || k.tags.Removing(d.Instance.Tags) != k.tags.Removing(d.Action.Tags)) {
		d.Err = &claims.Error{Kind: claims.KindUnavailable, Op: string(event.OpMark),
			Err: errors.New("the answer does not show the tags that were written")}
		r.end(d, k.cfg.RetryDelay, k.now)
	}
	if d.Err == nil {
		k.marked(n, d, who)
		return News{}
	}
	if mayHaveEffect(d.Err) {
		n.rec.Lose(k.now, k.bounds())
	} else {
		k.unchoose(n)
	}
	return k.refused.failed(d, r.Failed, who, k.now)
}

// marked applies the answer to a successful write of tags.
func (k writeAnswers) marked(n *Node, d event.Done, who claims.ClaimID) {
	value := d.Instance
	if n.rec.Value.State == lkepool.Leaving {
		value.State = lkepool.Leaving
	}
	n.rec.Answer(value, k.now)
	n.rec.Read = d.Began
	switch {
	case k.tags.Removing(value.Tags):
		n.rec.Remove(k.now)
	case n.claim.Of(who) && n.claim.Source < record.Own:
		k.setClaim(n, record.Claim{Claimant: who, Source: record.Own, Since: k.now})
	}
	k.compare(n)
	k.tagsWork()
	k.countAt(n.home)
}

// tagsWork forgets the failed writes of tags, because an answer or a reading shows tags that this process wrote. If only answers counted,
// the next claim would wait for the pause after failures that are over.
func (k *Known) tagsWork() {
	if k.refused.general() {
		for t, r := range k.requests {
			if t.Op == event.OpMark {
				r.Failed = 0
			}
		}
	}
	k.refused = refused{}
}

// mergeRemoval applies the end of a node's removal. An accepted removal takes the slot away, and lowers the count if the slot was
// recorded.
func (k writeAnswers) mergeRemoval(d event.Done) {
	p, known := k.pools.get(d.Action.PoolID)
	n, alive := k.nodes.get(d.Action.InstanceID)
	switch {
	case d.Err == nil:
		if alive {
			n.rec.Accept(k.now)
		}
		if known {
			p.removeSlot(d.Action.NodeID)
			p.rec.Wrote = k.now
		}
	case mayHaveEffect(d.Err):
		if alive {
			n.rec.Remove(k.now)
		}
		if known {
			p.rec.Lose(k.now, k.bounds())
			p.look = true // when it settles
		}
	}
	k.countAt(d.Action.PoolID)
}

func (p *Pool) removeSlot(nodeID string) {
	before := len(p.rec.Value.Slots)
	p.rec.Value.Slots = slices.DeleteFunc(slices.Clone(p.rec.Value.Slots), func(s lkepool.Slot) bool { return s.NodeID == nodeID })
	p.rec.Value.Count = max(0, p.rec.Value.Count-(before-len(p.rec.Value.Slots)))
}

// mergeRetirement applies the end of the write of the tag that announces the deletion of a pool. The pool is not used any more, even if
// it is not known whether the tag was written.
func (k writeAnswers) mergeRetirement(d event.Done) {
	p, known := k.pools.get(d.Action.PoolID)
	switch {
	case !known:
		return
	case isMissing(d.Err):
		p.look = true
		return
	case d.Err != nil && !mayHaveEffect(d.Err):
		return
	}
	p.rec.Remove(k.now)
	if d.Err == nil {
		k.answerPool(p, d.Pool)
	}
	k.countAt(p.ID())
}

// mergeDrop applies the end of a pool's deletion.
func (k writeAnswers) mergeDrop(d event.Done) {
	p, known := k.pools.get(d.Action.PoolID)
	if !known || d.Err != nil { // the pool's tags announce its deletion already
		return
	}
	for _, n := range k.homed(p.ID()) {
		n.rec.Accept(k.now)
	}
	p.rec.Accept(k.now)
	k.countAt(p.ID())
}
