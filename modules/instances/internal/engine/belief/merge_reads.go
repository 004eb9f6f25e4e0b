package belief

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/event"
)

func (w *World) readOne(r *event.Result) {
	read := w.Reads[r.ID]
	if w.stale(r.Term) || read == nil {
		return
	}
	read.Running = false
	switch {
	case r.Cancelled:
	case r.Err == nil:
		read.Began, read.Instance, read.Absence, read.Repeats = r.Began, r.Instance, absence.Proof{}, 0
		w.seen(r.Instance, r.Began)
	case r.Missing():
		w.missed(r.ID, r.Began)
	default:
		read.Failure = Failure{w.Seq, r.Err}
	}
}

// seen applies a direct reading, except for tags that were written since. It resolves
// a write of tags without an answer if it shows them and began after that write, and if
// they were sent once.
func (w *World) seen(i event.Instance, began time.Time) {
	n := w.Nodes[i.InstanceID]
	if n == nil {
		if w.Tags.Ours(i) {
			w.Add(i, w.Tags.ClaimIn(i.Tags)).Read = began
		}
		return
	}
	if began.Before(n.Read) {
		return
	}
	if began.Before(n.Tagged.Add(w.Settings.SettleTime)) {
		i.Tags = n.Tags
	}
	n.Instance, n.Read = i, began
	w.keepTags(n)
	if u := w.Writes[i.InstanceID]; u != nil && u.Tags != nil && !u.repeated && slices.Equal(u.Tags, i.Tags) &&
		!began.Before(u.sent.Add(w.Settings.SettleTime)) {
		u.Tags, n.Tagged = nil, w.Now // readings that begin soon may be of before it
	}
}

// missed applies a request for the instance that answered 404; see package absence.
func (w *World) missed(id int, began time.Time) {
	r, n := w.Reads[id], w.Nodes[id]
	if r == nil {
		r = w.Reading(id)
	}
	if n != nil && began.Before(n.Made.Add(w.Settings.SettleTime)) {
		r.NotBefore = n.Made.Add(w.Settings.SettleTime)
		return
	}
	r.Absence.Missed(began, w.Now, w.Settings.SettleTime)
	w.endIfProven(id)
}

func (w *World) endIfProven(id int) {
	var removed time.Time
	if n := w.Nodes[id]; n != nil {
		removed = n.Removal.Accepted
	}
	if r := w.Reads[id]; r != nil && r.Absence.Gone(removed) {
		w.End(id)
	}
}
