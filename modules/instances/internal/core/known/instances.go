package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/claims/record"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
)

// showing applies what results show of instances.
type showing struct{ *Known }

// learn applies what the result of a request shows.
func (k showing) learn(r *event.Result) {
	switch {
	case r.Op == event.OpFind:
		k.labelSearched(r)
	case r.Op == event.OpList:
		k.listed(r)
	case r.Missing():
		k.missed(r.ID, r.Began)
	case r.Op == event.OpRead:
		k.read(r)
	case r.Op == event.OpCreate:
		k.made(r)
	default:
		k.changed(r)
	}
}

// labelSearched records the owner of a label. An instance that a user renamed is found by its claim.
func (k showing) labelSearched(r *event.Result) {
	p := k.purchases.of(r.Who, r.Text)
	p.labelOwner = 0
	shown := map[int]bool{}
	for _, i := range r.Instances {
		id := i.InstanceID
		shown[id] = true
		if n := k.nodes[id]; n != nil && !n.rec.Gone.IsZero() {
			// If the label was refused after the proof, the instance is read again.
			if !p.labelTaken.After(n.rec.Gone) {
				continue
			}
			k.forget(id)
		}
		k.seenInList(i, r.Began)
		if n := k.node(id); i.Name == p.label && (n == nil || !n.claim.who.Is(p.who)) {
			p.labelOwner = id
		}
	}
	for _, n := range k.byClaim.Matching(p.who) {
		if !shown[n.ID()] {
			k.lacked(n, r.Began)
		}
	}
}

func (k showing) listed(r *event.Result) {
	k.list.unclaimed = nil
	shown := map[int]bool{}
	for _, i := range r.Instances {
		shown[i.InstanceID] = true
		k.seenInList(i, r.Began)
		if k.node(i.InstanceID) == nil && !i.Foreign && k.tags.ClaimIn(i.Tags).None() && slices.Contains(i.Tags, r.Text) {
			k.list.unclaimed = append(k.list.unclaimed, i.Node)
		}
	}
	for id, n := range k.nodes {
		if !shown[id] && (!n.ours() || !k.View().Stripped(n)) {
			k.lacked(n, r.Began)
		}
	}
}

// seenInList applies an entry of a list. The list adds instances. It changes a known instance only if it began more than the list lag after
// the newest answer that shows the instance, because that answer may show an event that happened as late as the answer. Example: a read is
// answered at 10:00:00. A list that begins at 10:01:00 changes nothing, a list that begins at 10:02:01 does.
func (k showing) seenInList(i event.Instance, began time.Time) {
	id, lag := i.InstanceID, k.settings.ListLag
	if n := k.nodes[id]; n != nil && !n.rec.Gone.IsZero() {
		if began.Before(n.rec.Gone.Add(lag)) {
			return
		}
		k.forget(id) // the proof was wrong
	}
	n := k.node(id)
	if n == nil && !k.tags.Ours(i) {
		return
	}
	k.list.shown[id] = Latest(k.list.shown[id], began)
	if n == nil {
		n = k.discover(k.meet(id), k.tags.ClaimIn(i.Tags))
	} else if began.Sub(n.rec.Shown) <= lag {
		return
	}
	if _, _, since := n.Missing(); began.Sub(since) > lag {
		n.rec.Missing = time.Time{}
	}
	n.rec.Value = i
	k.keepTags(n)
}

// lacked applies a list that lacks an instance. The list proves nothing if it began less than the list lag after Existed, because it may be
// older than the instance. Example: this process met the instance at 10:00:00. Only lists that begin at 10:02:00 or later count.
func (k showing) lacked(n *Node, began time.Time) {
	if !began.Before(k.View().Existed(n.ID()).Add(k.settings.ListLag)) {
		k.endIfProven(n, began)
	}
}

// missed applies a 404. A 404 proves nothing by itself, not even after an accepted removal: the removal may have had no effect, and 404s
// may be wrong. So this is not record.Miss.
func (k showing) missed(id int, began time.Time) {
	n, settle := k.meet(id), k.settings.SettleTime
	if n.Made() && began.Before(n.claim.first.Add(settle)) {
		k.reading(id).notBefore = n.claim.first.Add(settle)
		return
	}
	switch missing, twice, since := n.Missing(); {
	case !missing:
		n.rec.Missing = k.now
	case !twice && !began.Before(since.Add(settle)):
		n.again = k.now
	}
	k.endIfProven(n, time.Time{})
}

// endIfProven ends an instance if the proof that it is gone is complete. list is when a list that lacks it began, the zero time without
// one.
func (k showing) endIfProven(n *Node, list time.Time) {
	missing, twice, since := n.Missing()
	removed := n.rec.Removed
	switch {
	case !missing, !n.rec.Gone.IsZero():
	case !removed.IsZero() && (twice || !list.Before(removed)), twice && !list.Before(since):
		k.end(n)
	}
}

// end notes that an instance is proven gone, and drops everything else.
func (k showing) end(n *Node) {
	id := n.ID()
	if n.ours() {
		k.byClaim.Remove(n)
	}
	k.forget(id)
	delete(k.builds, id)
	delete(k.failed, id)
	delete(k.orphans, id)
	k.meet(id).rec.Gone = k.now
}

// read applies a direct reading. The reading may show another claimant, and may be older or newer than an own write of tags that
// replaced that claim. Then the instance is read again as soon as a new reading can determine whose it is.
func (k showing) read(r *event.Result) {
	n, read, i := k.meet(r.ID), k.reads[r.ID], r.Instance
	read.repeats = 0
	if !n.ours() && n.rec.Gone.IsZero() && k.tags.Ours(i) {
		k.discover(n, k.tags.ClaimIn(i.Tags))
	}
	settled := n.rec.Wrote.Add(k.settings.SettleTime)
	older := n.ours() && r.Began.Before(settled)
	shows := k.tags.ClaimIn(i.Tags)
	undecided := older && !shows.None() && !shows.Is(n.claim.who)
	if older {
		i.Tags = n.rec.Value.Tags
	}
	if undecided {
		read.notBefore, n.rec.Shown, n.rec.Missing = settled, k.now, time.Time{}
	} else if n.rec.Merge(record.Reading[event.Instance]{Began: r.Began, Answered: k.now, Direct: true, Value: i}, k.bounds(), differ) ==
		record.Ignored {
		return
	}
	n.rec.Value = i
	if n.ours() {
		k.keepTags(n)
		k.landed(n, i.Tags, r.Began)
	}
}

// differ compares only tags. The platform sets everything else, and the latest reading of that counts.
func differ(known, read event.Instance) record.Difference {
	if slices.Equal(known.Tags, read.Tags) {
		return record.Same
	}
	return record.More
}

// made applies the answer to a creation. The answer shows that the instance exists. It is no direct reading: a user may have changed
// the tags since the request was sent.
func (k showing) made(r *event.Result) {
	id := r.Instance.InstanceID
	if n := k.nodes[id]; n != nil && !n.rec.Gone.IsZero() {
		k.forget(id)
	}
	n := k.node(id)
	if n == nil {
		n = k.discover(k.meet(id), r.Who)
		n.rec.Value = r.Instance
		k.builds[id].since = time.Time{}
		k.keepTags(n)
	}
	n.rec.Origin, n.rec.Shown = record.Arrived, k.now
}

// changed applies the answer to a write, or a reading of parts.
func (k showing) changed(r *event.Result) {
	n := k.nodes[r.ID]
	switch r.Op {
	case event.OpDelete:
		n.rec.Accept(k.now)
	case event.OpTag:
		value := n.rec.Value
		value.Tags = slices.Clone(r.Tags)
		n.rec.Answer(value, k.now)
		k.keepTags(n)
	default:
		k.builds[r.ID].learn(r, k.now)
	}
}

// discover notes that an instance belongs to this cluster.
func (k showing) discover(n *Node, who claims.ClaimID) *Node {
	n.claim.who, n.claim.first = who, k.now
	k.builds[n.ID()] = &Building{since: k.settledAt()}
	k.byClaim.Add(n)
	return n
}

// keepTags records the tags of an instance that has the tags of its claim, and whether it has the tag of unfinished instances. Without
// the claim it keeps the tags and the mark that are recorded: a user may have removed both.
func (k showing) keepTags(n *Node) {
	b, i := k.builds[n.ID()], n.rec.Value
	if n.started() {
		b.ran = true
	}
	if !k.tags.Ours(i) || !k.tags.ClaimIn(i.Tags).Is(n.claim.who) {
		return
	}
	n.claim.tags, b.marked = k.tags.Finished(i.Tags), k.tags.IsUnfinished(i.Tags)
}
