package known

import (
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tagging"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/internal/core/tuning"
)

// Known holds all that is known of the platform, and of the requests to it.
type Known struct {
	*Terms
	World     World
	Purchases Purchases
	Pace      Pace
	Refusals  Refusals
	// Busy contains the instances with a write or a reading of their parts under way,
	// from any term of leadership.
	Busy   map[int]bool
	pruned time.Time
}

// Terms are the settings, the time, and since when and after whom this process leads.
type Terms struct {
	Settings tuning.Settings
	Tags     tagging.Tags
	Now      time.Time
	// Started is the time of the last Begin, Term counts them.
	Started time.Time
	Term    int
	// landing is the time after Started in which writes of the process before may
	// still take effect.
	landing time.Duration
	// Seq counts results and calls. A call compares it to ignore failures from before
	// its beginning.
	Seq int
}

// New knows nothing of the platform yet.
func New(settings tuning.Settings, tags tagging.Tags, now time.Time) *Known {
	terms := &Terms{Settings: settings, Tags: tags, Now: now}
	b := &Known{
		Terms: terms, Purchases: newPurchases(terms), Pace: Pace{limit: settings.Creations}, Busy: map[int]bool{}, pruned: now,
	}
	b.World.Writes = map[int]*Write{}
	b.Begin(claims.MayStillWrite)
	return b
}

// At sets the time of what follows.
func (b *Known) At(now time.Time) { b.Now = now }

// Begin drops everything that was read, and keeps requests under way, and what own writes
// may still do.
func (b *Known) Begin(after claims.Predecessor) {
	b.Term++
	b.Started, b.landing = b.Now, b.Settings.LateEffect
	if after == claims.Ended {
		b.landing = 0
	}
	b.World = newWorld(b.Terms, b.World.Writes)
	b.Refusals = Refusals{}
	for _, p := range b.Purchases.All() {
		p.forget()
	}
}

// Next returns the number of a call that begins.
func (t *Terms) Next() int {
	t.Seq++
	return t.Seq
}

// SettledAt returns the time from which direct readings show every write of the process
// that led before.
func (t *Terms) SettledAt() time.Time { return t.Started.Add(t.landing + t.Settings.SettleTime) }

// ShownAt returns the time from which lists show every instance made by the process that
// led before.
func (t *Terms) ShownAt() time.Time { return t.Started.Add(t.landing + t.Settings.ListLag) }

// CompleteAt returns the earliest beginning of a list that must show every instance made
// by the process that led before: first for instances of requests that took effect at once,
// then for instances made late. It is zero while no such list is possible: until then labels and the list of
// FreshAt prevent a second instance.
func (t *Terms) CompleteAt() time.Time {
	for _, at := range []time.Time{t.ShownAt(), t.Started.Add(t.Settings.SettleTime + t.Settings.ListLag)} {
		if !t.Now.Before(at) {
			return at
		}
	}
	return time.Time{}
}

// FreshAt returns the earliest beginning of the list that a creation follows. While no
// list can be complete, a later one shows more of what the process before made, also
// what a user renamed, whose label prevents nothing.
func (t *Terms) FreshAt() time.Time {
	if !t.CompleteAt().IsZero() {
		return time.Time{}
	}
	return t.Now.Add(-tuning.FirstLists)
}

// stale reports whether an effect began before this process began to lead. Such a
// reading is dropped. A write counts, in whatever term it was sent.
func (t *Terms) stale(term int) bool { return term != t.Term }

// Latest returns the last of some times.
func Latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// Failure is the last failed request about an object: its seq, and the error.
type Failure struct {
	Failed int
	Cause  error
}

// Refusals contains errors that other requests of the same form get.
type Refusals map[string]Refusal

// Refusal is an error that other requests get until a time.
type Refusal struct {
	err   error
	until time.Time
}

// Of returns the refusal with a key, nil for none.
func (r Refusals) Of(key string, now time.Time) error {
	if refusal, ok := r[key]; ok && now.Before(refusal.until) {
		return refusal.err
	}
	return nil
}
