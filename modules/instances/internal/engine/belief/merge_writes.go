package belief

import (
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/tuning"
)

// created applies the answer to a creation.
func (b *Belief) created(r *event.Result) News {
	p := b.Purchases.Of(r.Who, r.Order.Label)
	p.Busy = false
	b.Pace.done(b.Now, !r.Unsent)
	switch {
	case r.Unsent: // it is decided again
		return News{}
	case r.Err == nil:
		n := b.World.Nodes[r.Instance.InstanceID]
		if n == nil {
			n = b.World.Add(r.Instance, p.Who)
			n.Build.Since = time.Time{}
		}
		n.Made = b.Now
		p.Resolved()
		p.Freed()
		p.LastFailure = nil
		return News{Who: p.Who, Leaves: true}
	}
	return b.notCreated(r, p)
}

// notCreated applies the failure of a creation, which may have made an instance.
func (b *Belief) notCreated(r *event.Result, p *Purchase) News {
	p.LastFailure = r.Err
	effect := claims.EffectOf(r.Err)
	if effect != claims.EffectNone {
		p.Lands = Landing{b.Now.Add(b.Settings.LateEffect + tuning.ListLag), r.Order.InstanceType}
	}
	switch {
	case errors.Is(r.Err, event.ErrLabelTaken), effect == claims.EffectApplied:
		p.LabelTaken, p.Search.InARow = b.Now, 0
	case effect == claims.EffectUnknown:
		p.Ambiguous, p.Search.InARow = b.Now, 0
	case claims.KindOf(r.Err) == claims.KindRateLimited:
		b.Pace.block(b.Now.Add(max(claims.RetryAfterOf(r.Err), tuning.LimitedPause)))
	default:
		p.Failure = Failure{b.Seq, r.Err}
		b.Refusals.keep(r.Order, r.Err, b.Now)
		return News{Who: p.Who, Leaves: true}
	}
	return News{Who: p.Who}
}

// keep caches a refusal for other requests of the same form.
func (r Refusals) keep(order *event.Order, err error, now time.Time) {
	refusal := Refusal{err: err, until: now.Add(tuning.RefusalHold)}
	switch claims.KindOf(err) {
	case claims.KindInsufficientCapacity, claims.KindQuotaExceeded:
		r[order.Capacity] = refusal
	case claims.KindInvalid, claims.KindForbidden:
		if e, ok := errors.AsType[*claims.Error](err); ok && e.Field != "label" && e.Field != "Spec.UserData" {
			r[order.Form] = refusal
		}
	}
}

// changed applies the end of a write to an instance, or of a reading of its parts.
func (w *World) changed(r *event.Result) {
	if r.Op.Write() && r.Err != nil && !r.Unsent {
		w.unanswered(r)
	}
	n := w.Nodes[r.ID]
	switch {
	case n == nil, r.Unsent, r.Cancelled, w.stale(r.Term) && r.Op.OfParts():
		return
	case r.Missing() && r.Op == event.OpDisk: // of the disk or of the instance: the list of disks distinguishes them
		n.Build.invalidate(w.Now)
		return
	case r.Missing():
		w.missed(r.ID, r.Began)
		return
	case r.Err != nil:
		n.Failure = Failure{w.Seq, r.Err}
		if r.Op.Write() && r.Unknown() {
			n.Build.invalidate(w.Now.Add(w.Settings.SettleTime))
		}
		return
	}
	switch r.Op {
	case event.OpDelete:
		n.Removal = Removal{Accepted: w.Now, Seq: w.Seq}
	case event.OpTag:
		n.Tags, n.Tagged = slices.Clone(r.Tags), w.Now
		w.keepTags(n)
	default:
		n.Build.learn(r, w.Now)
	}
}

// unanswered records a failed write that may have had its effect, or may still have
// it. A removal that answered 404 may be a repetition by the client.
func (w *World) unanswered(r *event.Result) {
	missing := r.Missing() && r.Op == event.OpDelete
	if claims.EffectOf(r.Err) == claims.EffectNone && !missing {
		return
	}
	u := w.Writes[r.ID]
	if u == nil {
		u = &Write{}
		w.Writes[r.ID] = u
	}
	until := w.Now.Add(w.Settings.LateEffect + w.Settings.SettleTime)
	switch r.Op {
	case event.OpDelete:
		u.condemned, u.term = true, r.Term
	case event.OpTag:
		u.repeated = u.Tags != nil && u.repeated
		u.Tags, u.sent, u.polls = slices.Clone(r.Tags), r.Began, 0
	case event.OpAddDisk:
		if u.disks == nil {
			u.disks = map[string]time.Time{}
		}
		u.disks[r.Disk] = until
	}
	u.Until = Latest(u.Until, until)
}
