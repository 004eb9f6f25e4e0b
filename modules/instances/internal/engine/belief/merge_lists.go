package belief

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/engine/tuning"
)

func (w *World) listed(r *event.Result) {
	if w.stale(r.Term) {
		return
	}
	w.List.Running = false
	switch {
	case r.Cancelled:
		return
	case r.Err != nil:
		w.List.Failure = Failure{w.Seq, r.Err}
		return
	}
	w.List.Began, w.Unclaimed = r.Began, nil
	shown := map[int]bool{}
	for _, i := range r.Instances {
		shown[i.InstanceID] = true
		w.seenInList(i, r.Began)
		if w.Nodes[i.InstanceID] == nil && !i.Foreign && w.Tags.ClaimIn(i.Tags).None() && slices.Contains(i.Tags, r.Text) {
			w.Unclaimed = append(w.Unclaimed, i.Node)
		}
	}
	for id := range w.Reads {
		if n := w.Nodes[id]; !shown[id] && (n == nil || !w.Stripped(n)) {
			w.lacked(id, r.Began)
		}
	}
}

// labelSearched records the owner of a label. An instance that a user renamed is found
// by its claim.
func (b *Belief) labelSearched(r *event.Result) {
	if b.stale(r.Term) {
		return
	}
	p := b.Purchases.Of(r.Who, r.Text)
	p.Search.Running = false
	switch {
	case r.Cancelled:
		return
	case r.Err != nil:
		p.Failure = Failure{b.Seq, r.Err}
		return
	}
	p.Search.Began, p.LabelOwner = r.Began, 0
	p.Search.InARow++
	shown := map[int]bool{}
	for _, i := range r.Instances {
		shown[i.InstanceID] = true
		// If the label was refused after the proof, the instance is read again.
		if since, gone := b.World.Gone[i.InstanceID]; gone && !p.LabelTaken.After(since) {
			continue
		}
		delete(b.World.Gone, i.InstanceID)
		b.World.seenInList(i, r.Began)
		if n := b.World.Nodes[i.InstanceID]; i.Name == p.Label && (n == nil || !n.Who.Is(p.Who)) {
			p.LabelOwner = i.InstanceID
		}
	}
	for _, n := range b.World.Has(p.Who) {
		if !shown[n.InstanceID] {
			b.World.lacked(n.InstanceID, r.Began)
		}
	}
}

// lacked applies a list without an instance. One that began less than the list lag
// after the instance existed may be older than that.
func (w *World) lacked(id int, began time.Time) {
	if r := w.Reads[id]; r != nil && r.Absence.Begun() && !began.Before(w.Known(id).Add(tuning.ListLag)) {
		r.Absence.Lacked(began)
		w.endIfProven(id)
	}
}

// seenInList applies an entry of a list. A list may lag, so it adds instances and
// changes none that was read or written since.
func (w *World) seenInList(i event.Instance, began time.Time) {
	n := w.Nodes[i.InstanceID]
	if since, gone := w.Gone[i.InstanceID]; gone {
		if began.Before(since.Add(tuning.ListLag)) {
			return
		}
		delete(w.Gone, i.InstanceID) // the proof was wrong
	}
	if n == nil && !w.Tags.Ours(i) {
		return
	}
	if n == nil {
		w.Add(i, w.Tags.ClaimIn(i.Tags)).Listed = began
		return
	}
	n.Listed = Latest(n.Listed, began)
	if began.Sub(Latest(n.Read, n.Made, n.Tagged)) > tuning.ListLag {
		if r := w.Reads[i.InstanceID]; r != nil && r.Absence.Begun() && began.Sub(r.Absence.Since()) > tuning.ListLag {
			r.Absence = absence.Proof{}
		}
		n.Instance = i
		w.keepTags(n)
	}
}
