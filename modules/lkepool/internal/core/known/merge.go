package known

import (
	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/core/event"
)

// News reports to decisions how a request ended.
type News struct {
	// Refused is why a purchase was refused for good, nil if it was not. Key is the key of the purchase.
	Refused error
	Key     lkepool.Key
	// MarkRefused is why the claim of Claimant was refused, nil if it was not.
	MarkRefused error
	Claimant    claims.ClaimID
}

// Start notes an action that was chosen: it is under way until Merge has its end.
func (k *Known) Start(a event.Action) {
	k.request(TargetOf(a)).start(a, k.now)
	k.busy[a.Op]++
	switch a.Op {
	case event.OpMark:
		k.startMark(a)
	case event.OpRemove:
		k.removals[a.PoolID]++
	case event.OpCreate, event.OpScale:
		k.refused.probe(k.now)
	}
	k.supply.started(a, k.now)
}

// startMark notes for which claimant a tag is written. An instance without a claimant is then chosen for this claimant.
func (k *Known) startMark(a event.Action) {
	k.refused.probe(k.now)
	n, ok := k.nodes.get(a.InstanceID)
	who := k.who(a.Tags)
	if ok && !n.claim.Held() && !who.None() && !n.claim.Of(who) {
		k.setClaim(n, record.Claim{Claimant: who, Source: record.Sent, Since: k.now})
	}
}

// Merge applies the end of a request. [record.Record] decides what a reading changes in the record of its object.
func (k *Known) Merge(d event.Done) (news News) {
	a := d.Action
	k.busy[a.Op], k.ended[a.Op] = max(0, k.busy[a.Op]-1), k.now
	if a.Op == event.OpRemove {
		k.removals[a.PoolID] = max(0, k.removals[a.PoolID]-1)
	}
	ended := k.request(TargetOf(a)).end(d, k.cfg.RetryDelay, k.now)
	if ended {
		k.failure.note(d, k.now)
	}
	switch {
	case !ended && a.Op.Write():
		k.unsent(a)
	case ended:
		news = k.mergeEnd(d)
	}
	k.supply.ended(d, k)
	return news
}

func (k *Known) mergeEnd(d event.Done) News {
	switch a := d.Action; {
	case a.Op == event.OpListPools && d.Err == nil:
		poolReadings{k}.mergePools(d)
	case a.Op == event.OpListInstances && d.Err == nil:
		instanceReadings{k}.mergeInstances(d)
	}
	switch a := d.Action; a.Op {
	case event.OpGetPool:
		poolReadings{k}.mergePool(d)
	case event.OpGetInstance:
		instanceReadings{k}.mergeInstance(d)
	case event.OpCreate, event.OpScale:
		return writeAnswers{k}.mergePurchase(d)
	case event.OpMark:
		return writeAnswers{k}.mergeMark(d)
	case event.OpRemove:
		writeAnswers{k}.mergeRemoval(d)
	case event.OpRetire:
		writeAnswers{k}.mergeRetirement(d)
	case event.OpDrop:
		writeAnswers{k}.mergeDrop(d)
	}
	return News{}
}

// unsent handles a write that was not sent in time: the engine decides again.
func (k *Known) unsent(a event.Action) {
	if n, ok := k.nodes.get(a.InstanceID); ok && a.Op == event.OpMark {
		k.unchoose(n)
	}
}

// unchoose gives up an instance that was chosen for a claimant, unless the write of its claim may still take effect.
func (k *Known) unchoose(n *Node) {
	if n.claim.Source == record.Sent && !k.now.Before(n.rec.Aside) {
		k.setClaim(n, record.Claim{})
	}
}

func isMissing(err error) bool { return claims.KindOf(err) == claims.KindNotFound }

// mayHaveEffect reports whether a request that failed may have changed the platform.
func mayHaveEffect(err error) bool { return err != nil && claims.EffectOf(err) != claims.EffectNone }

// Lasting reports whether waiting does not help against an error. A claimant gets such an error at once.
func Lasting(err error) bool {
	switch claims.KindOf(err) {
	case claims.KindInvalid, claims.KindForbidden, claims.KindConflict, claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		return true
	}
	return false
}
