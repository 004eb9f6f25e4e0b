package known

import (
	"slices"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// unanswered contains the writes to one instance that had no certain answer. Any of them may take effect until rec.Aside of the
// instance's [Node]. It outlives a Begin.
type unanswered struct {
	// removal: a removal was sent that the platform may have accepted.
	removal bool
	// tags are the tags that were sent, sent is when they were sent last. repeated: they were sent more than once, so that a reading does
	// not show which write it is of.
	tags     []string
	sent     time.Time
	repeated bool
	// disks has the label of each disk that was requested, with the time until which the API may still make the disk.
	disks map[string]time.Time
	// look is when the tags are read next, at intervals that grow with polls.
	look  time.Time
	polls int
}

// lose records a failed write that may have had its effect, or may still have it. A removal that answered 404 may be a repetition by
// the client.
func (k *Known) lose(r *event.Result) {
	missing := r.Missing() && r.Op == event.OpDelete
	if claims.EffectOf(r.Err) == claims.EffectNone && !missing {
		return
	}
	u, n := k.unanswered[r.ID], k.meet(r.ID)
	if u == nil {
		u = &unanswered{}
		k.unanswered[r.ID] = u
	}
	// record.Lose would also set rec.Wrote, so that readings would count only the settle time later. Here they count at once: a write
	// with an unknown effect does not make the tags of a reading older.
	n.rec.Aside = k.now.Add(k.settings.LateEffect + k.settings.SettleTime)
	switch r.Op {
	case event.OpDelete:
		u.removal = true
		if !k.stale(r.Term) {
			n.rec.Remove(k.now)
		}
	case event.OpTag:
		u.repeated = u.tags != nil && u.repeated
		u.tags, u.sent, u.polls = slices.Clone(r.Tags), r.Began, 0
	case event.OpAddDisk:
		if u.disks == nil {
			u.disks = map[string]time.Time{}
		}
		u.disks[r.Disk] = n.rec.Aside
	}
}

// landed applies the tags that a direct reading shows. The reading resolves an unanswered write of these tags if it began the settle
// time after the write, and if the tags were sent once.
func (k *Known) landed(n *Node, tags []string, began time.Time) {
	u := k.unanswered[n.ID()]
	if u != nil && u.tags != nil && !u.repeated && slices.Equal(u.tags, tags) && !began.Before(u.sent.Add(k.settings.SettleTime)) {
		u.tags, n.rec.Wrote = nil, k.now // readings that begin soon may be older than the write
	}
}

// forgettable reports whether the record of writes to an instance is no longer needed. It is needed while the same tags are being sent
// again, and while they may be sent again after a reading that began before the first write of them took effect. Only a list that began
// later shows whether disks were made.
func (k *Known) forgettable(id int, u *unanswered) bool {
	n := k.nodes[id]
	disks := n.ours() && len(u.disks) > 0 && k.builds[id].listed.Before(n.rec.Aside)
	return k.now.Sub(n.rec.Aside) >= tuning.ReadValid && !k.busy[id] && !disks
}

// nextLook returns when the tags of an instance are read next, if that time has come.
func (u *unanswered) nextLook(aside, now time.Time) time.Time {
	if now.Before(u.look) {
		return u.look
	}
	if next := now.Add(tuning.Growing(tuning.FirstPoll, tuning.LongestPoll, u.polls)); next.Before(aside) {
		return next
	}
	return aside
}
