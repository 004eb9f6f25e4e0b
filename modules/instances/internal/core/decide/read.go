package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// list schedules a list of the cluster's instances begun at or after since. The step is empty if a reading exists.
func (t reader) list(since time.Time, reason string) event.Step {
	switch l := t.known.List(); {
	case !l.Began.Before(since) && !l.Began.IsZero():
		return event.Step{}
	case l.Failed > t.call.Seq():
		return event.Refuse(l.Err)
	case l.Running:
		return event.Wait(time.Time{})
	case t.now().Before(since):
		return event.Wait(since)
	}
	return t.do(event.Effect{Op: event.OpList, Text: t.known.Tags().Cluster, Reason: reason})
}

// found reads an instance directly, and refuses the call if the instance does not exist, or is not of this cluster. The step is empty if
// the call can go on.
func (t reader) found(n *known.Node, since time.Time, reason string) event.Step {
	op, id := t.ask.Kind.String(), t.ask.ID
	gone, s := t.directly(id, since, reason)
	switch {
	case !s.None():
		return s
	case gone:
		return event.Refuse(event.Fail(claims.KindNotFound, op, id, "it does not exist: reads were answered 404 and no list shows it"))
	case n == nil:
		return event.Refuse(event.Fail(claims.KindConflict, op, id, "it does not belong to cluster %s", t.known.Settings().Cluster))
	}
	return event.Step{}
}

// directly schedules a direct reading of an instance begun at or after since. The step is empty if a reading exists; then gone reports
// whether the instance is proven not to exist.
func (t reader) directly(id int, since time.Time, reason string) (gone bool, s event.Step) {
	n, seen := t.known.Seen(id)
	if !seen {
		n = &known.Node{}
	}
	if !n.Record().Gone.IsZero() {
		return true, event.Step{}
	}
	r, read := t.known.Reading(id), n.Record().Read
	missing, twice, missed := n.Missing()
	switch {
	case r.Failed > t.call.Seq():
		return false, event.Refuse(r.Err)
	case r.Running:
		return false, event.Wait(time.Time{})
	case twice:
		return false, t.refute(id, missed, r)
	case missing:
		since = missed.Add(t.known.Settings().SettleTime)
	case !read.IsZero() && !read.Before(since):
		return false, event.Step{}
	}
	if since = known.Latest(since, r.NotBefore); t.now().Before(since) {
		return false, event.Wait(since)
	}
	return false, t.readNow(id, reason)
}

func (t reader) readNow(id int, reason string) event.Step {
	return t.do(event.Effect{Op: event.OpRead, ID: id, Reason: reason})
}

// refute looks for an instance that answered 404 twice, the second time at missed. It looks in a list that must show the instance, and,
// while lists lag, reads the instance again.
func (t reader) refute(id int, missed time.Time, r known.Reading) event.Step {
	since := known.Latest(missed, t.known.Existed(id).Add(t.known.Settings().ListLag))
	if n := t.known.Node(id); n != nil && t.known.Stripped(n) {
		return t.searchStripped(n, since)
	}
	began := t.known.List().Began
	if began.Before(since) {
		if s := t.list(since, "check whether a list shows it"); !s.Wait || s.Until.IsZero() {
			return s
		}
	} else if again := began.Add(tuning.ListAgain); !t.now().Before(again) {
		return t.list(again, "check whether a list still shows it")
	}
	if again := r.Tried.Add(tuning.Growing(tuning.LongestPoll, tuning.ListAgain*2, r.Repeats)); t.now().Before(again) {
		return event.Wait(again)
	}
	return t.readNow(id, "check whether it is still missing")
}

// searchStripped searches by its label for an instance whose tags were removed: lists of the cluster do not show it.
func (t reader) searchStripped(n *known.Node, since time.Time) event.Step {
	if t.now().Before(since) {
		return event.Wait(since)
	}
	p := t.known.Purchase(n.Claimant())
	if p.Searching() {
		return event.Wait(time.Time{})
	}
	if err := p.FailedSince(t.call.Seq()); err != nil {
		return event.Refuse(err)
	}
	began, _ := p.Searched()
	if again := began.Add(tuning.ListAgain); !began.Before(since) && t.now().Before(again) {
		return event.Wait(again)
	}
	name := n.Value().Name
	return t.do(event.Effect{Op: event.OpFind, Who: n.Claimant(), Text: name, Reason: "check the label"})
}
