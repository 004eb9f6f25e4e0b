package belief

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/event"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/engine/tuning"
)

// Pool is one pool of the cluster. Count is the believed one: own writes and
// direct reads change it, lists only make the engine look.
type Pool struct {
	lkepool.Pool
	Phase PoolPhase
	// hash is that of the key which the pool was made for, "" for one of another
	// owner.
	hash string
	// KnownSlots are the positions of its nodes, in the order of their node IDs.
	KnownSlots []slot
	// Made is when this process created it, the zero time for one that it found.
	Made time.Time
	Trace
	// Look: a list contradicts the known facts, so a direct read is due. Contested is until
	// when the last direct read may be older than what showed a slot that it lacks, or
	// until when reads may not show a purchase whose answer lacks a slot.
	Look      bool
	Contested time.Time
	// most is the highest count that a reading showed since the last own write.
	most   shownCount
	Writes poolWrites
	// Pending has the time since when each node that is on its way has been.
	Pending []time.Time
	Lowered lowering
	// witnessed: all of its slots are known from a reading of this leadership.
	witnessed bool
	// unsettled is since when it has had more members than its count.
	unsettled time.Time
}

// poolWrites are the writes under way for a pool.
type poolWrites struct {
	// sending is the higher count that is being sent, 0 for none.
	sending  int
	Dropping bool
	Frozen   freeze
	Removing int
	Retry    backoff
	// began is when the newest one that raises the count was sent.
	began time.Time
	// Grown and shrunk are when writes that raised and lowered the count were
	// answered, Unsure when one failed whose effect is not known.
	Grown, Shrunk, Unsure time.Time
}

// Growing reports whether a higher count is being sent.
func (w *poolWrites) Growing() bool { return w.sending > 0 }

// shownCount is a count, and when the newest reading was answered that shows it.
type shownCount struct {
	count    int
	answered time.Time
}

// freeze is the count of a frozen pool: sent and not answered with success. It may take
// effect for as long as Config.LateEffect, after later writes.
type freeze struct {
	Count int
	// sent is when the first attempt was, until how long after the last one the
	// count may still take effect.
	sent, until time.Time
	// again: it was sent more than once.
	again bool
}

// freeze notes a count that was not answered.
func (p *Pool) freeze(d event.Done, until time.Time) {
	f := &p.Writes.Frozen
	if f.Count == d.Action.Count {
		f.again, f.until = true, Latest(f.until, until)
	} else {
		*f = freeze{Count: d.Action.Count, sent: d.Began, until: until}
	}
	p.become(Frozen)
}

// thaw lets other counts be sent again.
func (p *Pool) thaw() {
	p.Writes.Frozen = freeze{}
	p.become(Usable)
}

// Doubtful reports whether it is to be read whether the pool exists and is as it is known.
func (p *Pool) Doubtful() bool { return p.Look || !p.Evidence.Missing.IsZero() }

// lowering counts how often another client lowered the pool's count.
type lowering struct {
	Times int
	Since time.Time
	// scaled is the count that this process set.
	scaled int
}

func (l *lowering) note(count int, now time.Time) {
	if l.scaled == 0 || count >= l.scaled {
		return
	}
	if now.Sub(l.Since) > tuning.LowerMemory {
		l.Times, l.Since = 0, now
	}
	l.Times++
	l.scaled = count
}

// Ours reports whether the pool was made by this engine.
func (p *Pool) Ours() bool { return p.hash != "" }

// KeyHash returns the hash of the key that the pool was made for, "" if the
// pool is not ours.
func (p *Pool) KeyHash() string { return p.hash }

// fits reports whether a node of the pool meets the key's requirements. A pool whose
// count the platform's autoscaler changes gets no new claimants either.
func (p *Pool) fits(key lkepool.Key) bool {
	return !p.Autoscaled && p.InstanceType == key.InstanceType && p.Template.Fits(key.Template)
}

// Expect keeps one time for each node that is on its way.
func (p *Pool) Expect(pending int, now time.Time) {
	for len(p.Pending) < pending {
		p.Pending = append(p.Pending, now)
	}
	p.Pending = p.Pending[len(p.Pending)-max(0, pending):]
}

// Overfull returns since when the pool has had more members than its count.
func (p *Pool) Overfull(now time.Time) time.Time {
	if p.unsettled.IsZero() || now.Sub(p.unsettled) > 2*tuning.UnsettledGrace {
		p.unsettled = now
	}
	return p.unsettled
}

// Overdue counts the nodes that have been on their way for too long.
func (p *Pool) Overdue(now time.Time, after time.Duration) int {
	n := 0
	for _, since := range p.Pending {
		if now.Sub(since) > after {
			n++
		}
	}
	return n
}

// backoff is the pause after failures in a row, since the first of them.
type backoff struct {
	Failed       int
	Since, Until time.Time
}

func (b *backoff) fail(now time.Time, first, atLeast time.Duration) {
	if b.Failed == 0 {
		b.Since = now
	}
	pause := first << min(b.Failed, 8)
	b.Failed++
	b.Until = now.Add(max(min(pause, tuning.LongestRetry), atLeast))
}
