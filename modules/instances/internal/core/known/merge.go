package known

import (
	"maps"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/event"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// News is what a result means to callers.
type News struct {
	// Who is the claimant of a creation that ended, none for other results.
	Who claims.ClaimID
	// Leaves: it needs no position in the queue any more.
	Leaves bool
}

// Merge applies the result of an effect: first its end, then what it shows.
func (b *Known) Merge(r *event.Result) News {
	b.Seq++
	news, shows := b.ended(r)
	if shows {
		b.learn(r)
	}
	return news
}

// Prune drops expired state once a while, and then reports it.
func (b *Known) Prune() (pruned bool) {
	if b.Now.Sub(b.pruned) < tuning.PruneEvery {
		return false
	}
	b.pruned = b.Now
	w := &b.World
	maps.DeleteFunc(w.Gone, func(_ int, since time.Time) bool { return b.Now.Sub(since) > tuning.GoneKept })
	maps.DeleteFunc(b.Refusals, func(_ string, r Refusal) bool { return !b.Now.Before(r.until) })
	maps.DeleteFunc(w.Reads, func(_ int, r *Read) bool { return !r.Running && b.Now.Sub(r.used) > tuning.ReadKept })
	maps.DeleteFunc(w.Writes, func(id int, u *Write) bool { return b.forgettable(id, u) })
	b.Pace.expire(b.Now)
	return true
}

// forgettable reports whether the record of writes to an instance is no longer needed. Tags
// count as repeated if they are being sent again, or may be sent again after a reading that
// began before the first write of them took effect.
func (b *Known) forgettable(id int, u *Write) bool {
	return b.Now.Sub(u.Until) >= tuning.ReadValid && !b.Busy[id] && !u.open(b.World.Nodes[id])
}

// Expire drops the record of the label of a claimant whose callers left long ago.
func (b *Known) Expire(who claims.ClaimID) {
	if p, known := b.Purchases.Get(who); known {
		p.Resolved()
		p.Freed()
	}
}
