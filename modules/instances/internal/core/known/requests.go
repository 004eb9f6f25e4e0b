package known

import (
	"errors"
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// ended records that a request is no longer under way, and why it failed. It returns the
// consequences for callers, and whether the result shows anything.
func (b *Known) ended(r *event.Result) (news News, shows bool) {
	switch r.Op {
	case event.OpList:
		return News{}, !b.stale(r.Term) && b.World.List.ended(r, b.Seq)
	case event.OpRead:
		read := b.World.Reads[r.ID]
		return News{}, read != nil && !b.stale(r.Term) && read.ended(r, b.Seq)
	case event.OpFind, event.OpCreate:
		return b.purchaseEnded(r)
	}
	delete(b.Busy, r.ID)
	return News{}, b.World.changeEnded(r)
}

// purchaseEnded records the end of a creation, or of a search for its label.
func (b *Known) purchaseEnded(r *event.Result) (news News, shows bool) {
	if r.Op == event.OpFind && b.stale(r.Term) {
		return News{}, false
	}
	p := b.Purchases.Of(r.Who, r.Label())
	if r.Op == event.OpFind {
		return News{}, p.Search.ended(r, &p.Failure, b.Seq)
	}
	return b.creationEnded(r, p)
}

func (l *Listing) ended(r *event.Result, seq int) (shows bool) {
	l.Running = false
	switch {
	case r.Cancelled:
		return false
	case r.Err != nil:
		l.Failure = Failure{seq, r.Err}
		return false
	}
	l.Began = r.Began
	return true
}

func (d *Read) ended(r *event.Result, seq int) (shows bool) {
	d.Running = false
	if r.Err != nil && !r.Cancelled && !r.Missing() {
		d.Failure = Failure{seq, r.Err}
	}
	return !r.Cancelled && (r.Err == nil || r.Missing())
}

func (s *Search) ended(r *event.Result, failure *Failure, seq int) (shows bool) {
	s.Running = false
	switch {
	case r.Cancelled:
		return false
	case r.Err != nil:
		*failure = Failure{seq, r.Err}
		return false
	}
	s.Began = r.Began
	s.InARow++
	return true
}

func (b *Known) creationEnded(r *event.Result, p *Purchase) (news News, shows bool) {
	p.Busy = false
	b.Pace.done(b.Now, !r.Unsent)
	switch {
	case r.Unsent: // it is decided again
		return News{}, false
	case r.Err != nil:
		return b.notCreated(r, p), false
	}
	p.Resolved()
	p.Freed()
	p.LastFailure = nil
	return News{Who: p.Who, Leaves: true}, true
}

// notCreated records the failure of a creation, which may have made an instance.
func (b *Known) notCreated(r *event.Result, p *Purchase) News {
	p.LastFailure = r.Err
	effect := claims.EffectOf(r.Err)
	if effect != claims.EffectNone {
		p.Lands = Landing{b.Now.Add(b.Settings.LateEffect + b.Settings.ListLag), r.Order.InstanceType}
		p.Unshown = false
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

// changeEnded records the end of a write to an instance, or of a reading of its parts.
func (w *World) changeEnded(r *event.Result) (shows bool) {
	if r.Op.Write() && r.Err != nil && !r.Unsent {
		w.unanswered(r)
	}
	n := w.Nodes[r.ID]
	switch {
	case n == nil, r.Unsent, r.Cancelled, w.stale(r.Term) && r.Op.OfParts():
		return false
	case r.Missing() && r.Op == event.OpDisk: // of the disk or of the instance: the list of disks distinguishes them
		n.Build.invalidate(w.Now)
		return false
	case r.Err != nil && !r.Missing():
		n.Failure = Failure{w.Seq, r.Err}
		if r.Op.Write() && r.Unknown() {
			n.Build.doubt(r.Op, w.Now.Add(w.Settings.SettleTime))
		}
		return false
	}
	return true
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
	u.Until = until
}
