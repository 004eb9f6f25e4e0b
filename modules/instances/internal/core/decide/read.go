package decide

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/known"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// reader chooses readings, each once for all calls that need it.
type reader struct{ *turn }

// list schedules a list of the cluster's instances begun at or after since. The step
// is empty if a reading exists.
func (r *reader) list(since time.Time, seq int, reason string) event.Step {
	l := &r.known.World.List
	switch {
	case !l.Began.Before(since) && !l.Began.IsZero():
		return event.Step{}
	case l.Failed > seq:
		return event.Refuse(l.Cause)
	case l.Running:
		return event.Wait(time.Time{})
	case r.now().Before(since):
		return event.Wait(since)
	}
	return r.do(event.Effect{Op: event.OpList, Text: r.known.Tags.Cluster, Reason: reason})
}

// directly schedules a direct reading of an instance begun at or after since. The
// step is empty if a reading exists; then gone reports whether the instance is proven not
// to exist.
func (r *reader) directly(id int, since time.Time, seq int, reason string) (gone bool, s event.Step) {
	if _, gone := r.known.World.Gone[id]; gone {
		return true, event.Step{}
	}
	l := r.known.World.Reading(id)
	switch {
	case l.Failed > seq:
		return false, event.Refuse(l.Cause)
	case l.Running:
		return false, event.Wait(time.Time{})
	case l.Absence.Twice():
		return false, r.refute(id, l, seq)
	case l.Absence.Begun():
		since = l.Absence.Since().Add(r.known.Settings.SettleTime)
	case !l.Began.IsZero() && !l.Began.Before(since):
		return false, event.Step{}
	}
	if since = known.Latest(since, l.NotBefore); r.now().Before(since) {
		return false, event.Wait(since)
	}
	return false, r.readNow(id, reason)
}

func (r *reader) readNow(id int, reason string) event.Step {
	return r.do(event.Effect{Op: event.OpRead, ID: id, Reason: reason})
}

// refute looks for an instance that answered 404 twice: in a list that must show it,
// and, while lists lag, directly again.
func (r *reader) refute(id int, l *known.Read, seq int) event.Step {
	since := known.Latest(l.Absence.Since(), r.known.World.Known(id).Add(r.known.Settings.ListLag))
	if n := r.node(id); n != nil && r.known.World.Stripped(n) {
		return r.searchStripped(n, since, seq)
	}
	began := r.known.World.List.Began
	if began.Before(since) {
		if s := r.list(since, seq, "whether it is in the list"); !s.Wait || s.Until.IsZero() {
			return s
		}
	} else if again := began.Add(tuning.ListAgain); !r.now().Before(again) {
		return r.list(again, seq, "whether it is still in the list")
	}
	if again := l.Tried.Add(tuning.Growing(tuning.LongestPoll, tuning.ListAgain*2, l.Repeats)); r.now().Before(again) {
		return event.Wait(again)
	}
	l.Again()
	return r.readNow(id, "whether it is still missing")
}

// searchStripped searches for an instance whose tags were removed by its label: lists
// of the cluster do not show it.
func (r *reader) searchStripped(n *known.Node, since time.Time, seq int) event.Step {
	if r.now().Before(since) {
		return event.Wait(since)
	}
	p := r.known.Purchases.Of(n.Who, n.Name)
	switch {
	case p.Search.Running:
		return event.Wait(time.Time{})
	case p.Failed > seq:
		return event.Refuse(p.Cause)
	}
	if again := p.Search.Began.Add(tuning.ListAgain); !p.Search.Began.Before(since) && r.now().Before(again) {
		return event.Wait(again)
	}
	return r.do(event.Effect{Op: event.OpFind, Who: p.Who, Text: n.Name, Reason: "whether its label is still in use"})
}
