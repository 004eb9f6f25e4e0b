package known

import (
	"errors"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// News has the consequences of a result for callers.
type News struct {
	// Who is the claimant of a creation that ended, none for other results.
	Who claims.ClaimID
	// Leaves: the claimant needs no position in the queue any more.
	Leaves bool
}

// Start notes that an effect begins.
func (k *Known) Start(e *event.Effect) {
	switch e.Op {
	case event.OpList:
		k.list.running = true
	case event.OpRead:
		r := k.reading(e.ID)
		r.running, r.tried = true, k.now
		if _, twice, _ := k.meet(e.ID).Missing(); twice {
			r.repeats++
		}
	case event.OpFind:
		k.purchases.of(e.Who, e.Text).search.running = true
	case event.OpCreate:
		k.pace.send()
		p := k.purchases.of(e.Who, e.Order.Label)
		p.busy, p.instanceType = true, e.Order.InstanceType
	default:
		k.busy[e.ID] = true
		if u := k.unanswered[e.ID]; u != nil && e.Op == event.OpTag {
			u.repeated = true
		}
	}
}

// Merge applies the result of an effect: first its end, then what it shows.
func (k *Known) Merge(r *event.Result) News {
	k.seq++
	news, shows := k.ended(r)
	if shows {
		showing{k}.learn(r)
	}
	return news
}

// ended records that a request is no longer under way, and why it failed. It returns the consequences for callers, and whether the
// result shows anything.
func (k *Known) ended(r *event.Result) (news News, shows bool) {
	switch r.Op {
	case event.OpList:
		return News{}, !k.stale(r.Term) && k.list.ended(r, k.seq)
	case event.OpRead:
		read := k.reads[r.ID]
		return News{}, read != nil && !k.stale(r.Term) && read.ended(r, k.seq)
	case event.OpFind, event.OpCreate:
		return k.purchaseEnded(r)
	}
	delete(k.busy, r.ID)
	return News{}, k.changeEnded(r)
}

// purchaseEnded records the end of a creation, or of a search for its label.
func (k *Known) purchaseEnded(r *event.Result) (news News, shows bool) {
	if r.Op == event.OpFind && k.stale(r.Term) {
		return News{}, false
	}
	p := k.purchases.of(r.Who, r.Label())
	if r.Op == event.OpFind {
		return News{}, p.search.ended(r, &p.failure, k.seq)
	}
	return k.creationEnded(r, p)
}

func (k *Known) creationEnded(r *event.Result, p *Purchase) (news News, shows bool) {
	p.busy = false
	k.pace.done(k.now, !r.Unsent)
	switch {
	case r.Unsent: // it is decided again
		return News{}, false
	case r.Err != nil:
		return k.notCreated(r, p), false
	}
	p.resolved()
	p.labelOwner, p.lastErr = 0, nil
	return News{Who: p.who, Leaves: true}, true
}

// notCreated records the failure of a creation, which may have made an instance.
func (k *Known) notCreated(r *event.Result, p *Purchase) News {
	p.lastErr = r.Err
	effect := claims.EffectOf(r.Err)
	if effect != claims.EffectNone {
		p.lands = landing{k.now.Add(k.settings.LateEffect + k.settings.ListLag), r.Order.InstanceType}
		p.unshown = false
	}
	switch {
	case errors.Is(r.Err, event.ErrLabelTaken), effect == claims.EffectApplied:
		p.labelTaken, p.search.inARow = k.now, 0
	case effect == claims.EffectUnknown:
		p.ambiguous, p.search.inARow = k.now, 0
	case claims.KindOf(r.Err) == claims.KindRateLimited:
		k.pace.block(k.now.Add(max(claims.RetryAfterOf(r.Err), tuning.LimitedPause)))
	default:
		p.failure = failure{k.seq, r.Err}
		k.refuse(r.Order, r.Err)
		return News{Who: p.who, Leaves: true}
	}
	return News{Who: p.who}
}

// refuse keeps a refusal for other requests of the same form.
func (k *Known) refuse(order *event.Order, err error) {
	refused := refusal{err: err, until: k.now.Add(tuning.RefusalHold)}
	switch claims.KindOf(err) {
	case claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		k.refusals[order.Capacity] = refused
	case claims.KindInvalid, claims.KindForbidden:
		if e, ok := errors.AsType[*claims.Error](err); ok && e.Field != "label" && e.Field != "Spec.UserData" {
			k.refusals[order.Form] = refused
		}
	}
}

// changeEnded records the end of a write to an instance, or of a reading of its parts.
func (k *Known) changeEnded(r *event.Result) (shows bool) {
	if r.Op.Write() && r.Err != nil && !r.Unsent {
		k.lose(r)
	}
	n := k.node(r.ID)
	switch {
	case n == nil, r.Unsent, r.Cancelled, k.stale(r.Term) && r.Op.OfParts():
		return false
	case r.Missing() && r.Op == event.OpDisk: // of the disk or of the instance: the list of disks distinguishes them
		k.builds[r.ID].invalidate(k.now)
		return false
	case r.Err != nil && !r.Missing():
		k.failed[r.ID] = &failure{k.seq, r.Err}
		if r.Op.Write() && r.Unknown() {
			k.builds[r.ID].doubt(r.Op, k.now.Add(k.settings.SettleTime))
		}
		return false
	}
	return true
}
