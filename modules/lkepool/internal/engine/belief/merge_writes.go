package belief

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
)

// writeEvidence applies the results of this process's own writes.
type writeEvidence struct{ *Belief }

// mergeGrowth applies the end of a purchase.
func (e writeEvidence) mergeGrowth(d event.Done) News {
	k := e.Purchases.key(d.Action.Key)
	e.Purchases.ended(d.Action)
	p, known := e.Pools.Get(d.Action.PoolID)
	if known {
		p.Writes.sending = 0
	}
	k.lost = k.lost && d.Err != nil
	if d.Err != nil {
		return e.purchaseFailed(k, p, d)
	}
	slots := d.Pool.Slots
	if !known {
		p = poolEvidence(e).makePool(d.Pool)
	}
	if poolEvidence(e).contradiction(p, d.Pool).lost {
		// A node is gone that the count was to include, and one more on its way.
		p.Contested = e.now.Add(e.cfg.SettleTime)
	}
	p.count(d.Pool)
	p.Writes.Grown, p.Writes.Unsure, p.Direct.Agrees = e.now, time.Time{}, false
	p.Lowered.scaled, p.Writes.Retry, p.most = p.Count, backoff{}, shownCount{}
	e.Expected(p)
	poolEvidence(e).addSlots(p, slots, d.Began, true)
	if k.Room > 0 {
		k.Room = d.Action.Bought // until not even one more fits
	}
	return News{Grown: true}
}

// purchaseFailed follows a purchase that ended in an error.
func (e writeEvidence) purchaseFailed(k *KeyState, p *Pool, d event.Done) (news News) {
	if p != nil && claims.EffectOf(d.Err) != claims.EffectNone {
		p.Writes.Unsure = e.now
	}
	switch effect := claims.EffectOf(d.Err); {
	case p == nil || effect == claims.EffectNone:
	case effect == claims.EffectApplied:
		p.freeze(d, e.now)
	default:
		p.freeze(d, e.now.Add(e.cfg.LateEffect))
	}
	if p == nil && claims.EffectOf(d.Err) != claims.EffectNone {
		// Creating has no idempotency token: the pool is looked for by its tag
		// until it would have to be visible.
		// The second time in a row, the list lags further than it should.
		wait := e.cfg.SettleTime
		if k.lost || claims.EffectOf(d.Err) == claims.EffectApplied {
			wait = e.cfg.ListLag
		}
		k.NotBefore, k.lost = e.now.Add(wait), true
		e.Purchases.doubt(d.Action, e.now.Add(e.cfg.LateEffect+e.cfg.ListLag))
	}
	if p != nil && claims.KindOf(d.Err) == claims.KindNotFound {
		p.Look = true
		poolEvidence(e).lacked(p, &p.Trace, e.direct(d, false))
	}
	switch add := d.Action.Bought; {
	case claims.KindOf(d.Err) == claims.KindQuotaExceeded && add > 1:
		// LKE refuses as a whole what does not fit, and how much would is not in
		// the answer, so the next purchase is at most half as large.
		k.Room = add / 2
		return News{}
	case Lasting(d.Err):
		k.Room = 0
		news = News{Refused: d.Err, Key: d.Action.Key}
	}
	k.Retry.fail(e.now, e.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
	return news
}

// mergeMark applies the end of a claim's write.
func (e writeEvidence) mergeMark(d event.Done) News {
	n, known := e.Nodes.Get(d.Action.InstanceID)
	if !known {
		return News{}
	}
	h := &n.Claim
	if d.Err == nil && !e.Tags.ClaimIn(d.Instance.Tags).Is(h.Who) {
		d.Err = &claims.Error{Kind: claims.KindUnavailable, Op: string(event.OpMark),
			Err: errors.New("the answer does not show the claim that was written")}
	}
	if d.Err == nil {
		from := rewritten
		if h.Own() || h.Since.IsZero() {
			from = made
		}
		n.become(Held)
		*h = claim{Who: h.Who, At: e.now, Since: cmp.Or(h.Since, e.now), ClaimedAt: e.Tags.ClaimedAtOf(d.Instance.Tags),
			source: from, witnessed: h.witnessed, given: h.given}
		instanceEvidence(e).seeInstance(d.Instance, d.Began, true)
		n.Tags, n.Tagged = d.Instance.Tags, d.Began
		e.marked()
		return News{}
	}
	h.Retry.fail(e.now, e.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
	h.Err, h.At = d.Err, e.now
	absent := claims.KindOf(d.Err) == claims.KindNotFound
	if absent {
		// As good as a direct read that answered 404.
		n.Vouched = false
		instanceEvidence(e).lacked(n, e.direct(d, false))
	}
	switch {
	case n.Claimed():
		n.become(Held) // it was before
		return News{}
	case n.Phase == Writing && (absent || claims.EffectOf(d.Err) == claims.EffectNone):
		n.free(e.now)
	default:
		n.become(Unsure)
	}
	switch claims.KindOf(d.Err) {
	case claims.KindRateLimited:
	case claims.KindForbidden:
		return e.markRefused(d)
	case claims.KindInvalid:
		// It may be this instance alone whose tags are refused.
		e.Marks.failed(n, e.now)
		return e.markRefused(d)
	default:
		e.Marks.failed(n, e.now)
	}
	return News{}
}

// markRefused follows a claim's write that the API refused as forbidden or invalid.
func (e writeEvidence) markRefused(d event.Done) News {
	e.Marks.refused(d.Err, e.now)
	return News{MarkRefused: d.Err, Claimant: e.Tags.ClaimIn(d.Action.Tags)}
}

// marked follows a claim that was written: marking works again.
func (e writeEvidence) marked() {
	if e.Marks.General() {
		for _, n := range e.Nodes.Rows {
			n.Claim.Failed, n.Direct.Retry = 0, backoff{}
		}
	}
	e.Marks = marks{}
}

// mergeRemoval applies the end of a node's removal.
func (e writeEvidence) mergeRemoval(d event.Done) {
	p, known := e.Pools.Get(d.Action.PoolID)
	if known {
		p.Writes.Removing = max(0, p.Writes.Removing-1)
	}
	n, alive := e.Nodes.Get(d.Action.InstanceID)
	if d.Err != nil {
		if known && claims.EffectOf(d.Err) != claims.EffectNone {
			p.Writes.Unsure = e.now
		}
		if alive {
			n.removalFailed(d.Err, e.now, e.cfg.RetryDelay)
		}
		return
	}
	if known {
		p.uncount(d.Action.NodeID)
		p.Writes.Shrunk, p.Lowered, p.most = e.now, lowering{}, shownCount{}
	}
	if alive {
		n.removalAccepted(e.now)
	} else if known {
		p.KnownSlots = slices.DeleteFunc(p.KnownSlots, func(s slot) bool { return s.NodeID == d.Action.NodeID })
	}
}

// mergeDrop applies the end of a pool's deletion.
func (e writeEvidence) mergeDrop(d event.Done) {
	for _, n := range e.Nodes.Rows {
		switch {
		case n.Home != d.Action.PoolID:
		case d.Err != nil:
			n.removalFailed(d.Err, e.now, e.cfg.RetryDelay)
		default:
			n.removalAccepted(e.now)
		}
	}
	p, known := e.Pools.Get(d.Action.PoolID)
	if !known {
		return
	}
	p.Writes.Dropping = false
	if claims.EffectOf(d.Err) != claims.EffectNone || d.Err == nil {
		p.become(Doomed)
	}
	if d.Err != nil {
		p.Writes.Unsure = e.now
		p.Writes.Retry.fail(e.now, e.cfg.RetryDelay, claims.RetryAfterOf(d.Err))
		return
	}
	p.Removed = e.now
}
