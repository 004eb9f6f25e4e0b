package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/absence"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// learn applies what the result of a request shows of instances.
func (b *Known) learn(r *event.Result) {
	switch {
	case r.Op == event.OpFind:
		b.labelSearched(r)
	case r.Op == event.OpList:
		b.World.listed(r)
	case r.Missing():
		b.World.missed(r.ID, r.Began)
	case r.Op == event.OpRead:
		b.World.read(r)
	case r.Op == event.OpCreate:
		b.World.made(r.Instance, r.Who)
	default:
		b.World.changed(r)
	}
}

// labelSearched records the owner of a label. An instance that a user renamed is found
// by its claim.
func (b *Known) labelSearched(r *event.Result) {
	p := b.Purchases.Of(r.Who, r.Text)
	p.LabelOwner = 0
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

func (w *World) listed(r *event.Result) {
	w.Unclaimed = nil
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

// seenInList applies an entry of a list. A list may lag, so it adds instances and
// changes none that was read or written since.
func (w *World) seenInList(i event.Instance, began time.Time) {
	n := w.Nodes[i.InstanceID]
	if since, gone := w.Gone[i.InstanceID]; gone {
		if began.Before(since.Add(w.Settings.ListLag)) {
			return
		}
		delete(w.Gone, i.InstanceID) // the proof was wrong
	}
	if n == nil && !w.Tags.Ours(i) {
		return
	}
	if n == nil {
		w.Discover(i, w.Tags.ClaimIn(i.Tags)).Listed = began
		return
	}
	if n.Listed.Before(began) {
		n.Listed = began
	}
	if began.Sub(n.confirmed()) > w.Settings.ListLag {
		if r := w.Reads[i.InstanceID]; r != nil && r.Absence.Begun() && began.Sub(r.Absence.Since()) > w.Settings.ListLag {
			r.Absence = absence.Proof{}
		}
		n.Instance = i
		w.keepTags(n)
	}
}

// lacked applies a list without an instance. One that began less than the list lag
// after the instance existed may be older than that.
func (w *World) lacked(id int, began time.Time) {
	if r := w.Reads[id]; r != nil && r.Absence.Begun() && !began.Before(w.Known(id).Add(w.Settings.ListLag)) {
		r.Absence.Lacked(began)
		w.endIfProven(id)
	}
}

// Known returns the time from which an instance has existed at the latest. An instance
// that this process did not make was made by a process before it.
func (w *World) Known(id int) time.Time {
	if n := w.Nodes[id]; n != nil {
		return n.First
	}
	return w.Started
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

// End forgets an instance that is proven gone.
func (w *World) End(id int) {
	w.Gone[id] = w.Now
	delete(w.Writes, id)
	delete(w.Reads, id)
	if n := w.Nodes[id]; n != nil {
		delete(w.Nodes, id)
		w.ByClaim.Remove(n)
	}
}

// read applies a direct reading. If the reading does not determine the owner of the
// instance, the reading is made again as soon as a new one can determine it.
func (w *World) read(r *event.Result) {
	read := w.Reads[r.ID]
	read.Absence, read.Repeats = absence.Proof{}, 0
	if n := w.Nodes[r.ID]; n != nil && w.undecided(n, r) {
		read.NotBefore = n.Tagged.Add(w.Settings.SettleTime)
	} else {
		read.Began, read.Instance = r.Began, r.Instance
	}
	w.seen(r.Instance, r.Began)
}

// undecided reports whether a reading shows another claimant, and may be older or newer
// than an own write of tags that replaced that claim.
func (t *Terms) undecided(n *Node, r *event.Result) bool {
	claim := t.Tags.ClaimIn(r.Instance.Tags)
	return r.Began.Before(n.Tagged.Add(t.Settings.SettleTime)) && !claim.None() && !claim.Is(n.Who)
}

// seen applies a direct reading, except for tags that were written since. It resolves
// a write of tags without an answer if it shows them and began after that write, and if
// they were sent once.
func (w *World) seen(i event.Instance, began time.Time) {
	n := w.Nodes[i.InstanceID]
	if n == nil {
		if w.Tags.Ours(i) {
			n = w.Discover(i, w.Tags.ClaimIn(i.Tags))
			n.Read, n.answered = began, w.Now
		}
		return
	}
	if began.Before(n.Read) {
		return
	}
	if began.Before(n.Tagged.Add(w.Settings.SettleTime)) {
		i.Tags = n.Tags
	}
	n.Instance, n.Read, n.answered = i, began, w.Now
	w.keepTags(n)
	if u := w.Writes[i.InstanceID]; u != nil && u.Tags != nil && !u.repeated && slices.Equal(u.Tags, i.Tags) &&
		!began.Before(u.sent.Add(w.Settings.SettleTime)) {
		u.Tags, n.Tagged = nil, w.Now // readings that begin soon may be older than it
	}
}

// made applies the answer to a creation.
func (w *World) made(i event.Instance, who claims.ClaimID) {
	n := w.Nodes[i.InstanceID]
	if n == nil {
		n = w.Discover(i, who)
		n.Build.Since = time.Time{}
	}
	n.Made = w.Now
}

// changed applies the answer to a write, or a reading of parts.
func (w *World) changed(r *event.Result) {
	n := w.Nodes[r.ID]
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

// Discover records an instance that was not known.
func (w *World) Discover(i event.Instance, who claims.ClaimID) *Node {
	n := &Node{Instance: i, Who: who, First: w.Now}
	n.Build.Since = w.SettledAt()
	w.keepTags(n)
	w.Nodes[i.InstanceID] = n
	w.ByClaim.Add(n)
	return n
}

// keepTags records the tags of an instance that has its claim's, and whether it has the
// mark of unfinished ones, which ends with the boot. Without the claim nothing is
// known of the mark: a user removed both.
func (w *World) keepTags(n *Node) {
	if n.started() {
		n.Build.Ran = true
	}
	if !w.Tags.Ours(n.Instance) || !w.Tags.ClaimIn(n.Tags).Is(n.Who) {
		return
	}
	n.claimedTags, n.Build.Marked = w.Tags.Finished(n.Tags), w.Tags.IsUnfinished(n.Tags)
}
