package record

import "time"

// Origin classifies whether this process saw an object arrive.
type Origin int

const (
	// Inherited objects may be older than this process, so the previous leader may have written to them.
	Inherited Origin = iota
	// Arrived objects are new: this process made them, or saw them arrive.
	Arrived
)

// Bounds are how much readings and writes may be late: direct reads by Settle, lists by Lag, writes without an answer by Late.
type Bounds struct{ Settle, Lag, Late time.Duration }

// Record holds the knowledge about one object. The zero value knows nothing.
type Record[V any] struct {
	// Value is from the newest reading that counts, or from an own write that was answered.
	Value V
	// Read is when the newest direct reading began that shows Value.
	Read time.Time
	// Shown is when the newest answer that shows Value arrived. The answer to an own write counts, too.
	Shown time.Time
	// Wrote is when the newest own write to the object ended.
	Wrote time.Time
	// Missing is when a direct read was first answered 404 after the object was last shown. It is zero if no read was
	// answered 404 since then.
	Missing time.Time
	// Aside is the time until which the object is aside: a write without an answer of success may still take effect.
	Aside time.Time
	// Removing is when a removal was first sent or announced by a tag. Removed is when the platform accepted the newest
	// removal.
	Removing, Removed time.Time
	// Gone is when it was proven that the object does not exist any more.
	Gone   time.Time
	Origin Origin
}

// Reading is one answer that shows the object.
type Reading[V any] struct {
	Began, Answered time.Time
	// Direct: the object itself was read. Otherwise it is a list, or another object that names this one.
	Direct bool
	Value  V
}

// Difference compares a value in a reading with the recorded value.
type Difference int

const (
	// Same: both are equal in everything that the engine relies on.
	Same Difference = iota
	// More: the reading has all of the known value, and more.
	More
	// Less: the reading lacks something of the known value, or has something else.
	Less
)

// Verdict reports what [Record.Merge] did with a reading.
type Verdict int

const (
	// Ignored: the reading may be older than the record, and differs from it.
	Ignored Verdict = iota
	// Agreed: the reading agrees with the record.
	Agreed
	// Replaced: Value is the value of the reading.
	Replaced
	// Contradicted: the reading may be older or newer than the record. A direct read that begins Settle after [Record.Shown]
	// decides.
	Contradicted
)

// Merge applies a reading that shows the object. differ compares the known value with the one read.
func (r *Record[V]) Merge(in Reading[V], b Bounds, differ func(known, read V) Difference) Verdict {
	if !r.Gone.IsZero() {
		if !in.covers(r.Gone, b) {
			return Ignored
		}
		r.Gone, r.Missing = time.Time{}, time.Time{}
	}
	if in.Direct && in.Began.After(r.Missing) || !in.Direct && in.covers(r.Missing, b) {
		r.Missing = time.Time{}
	}
	if r.Shown.IsZero() {
		return r.take(in, Replaced)
	}
	difference := differ(r.Value, in.Value)
	switch {
	case difference == Same:
		return r.agree(in, b)
	case !in.covers(r.Wrote, b), in.Began.Before(r.Read):
		return Ignored
	case !in.Direct && !in.covers(r.Read, b), difference == Less && !in.covers(r.Shown, b):
		return Contradicted
	}
	return r.take(in, Replaced)
}

// agree applies a reading that agrees with the record. A list, and a read that began before the newest own write, change
// nothing. A read that began less than Settle after that write sets Read and Shown, but keeps Value: the parts of Value
// that differ does not compare may be older in the reading.
func (r *Record[V]) agree(in Reading[V], b Bounds) Verdict {
	switch {
	case !in.Direct || in.Began.Before(r.Wrote):
	case in.covers(r.Wrote, b):
		return r.take(in, Agreed)
	default:
		r.Read, r.Shown = in.Began, in.Answered
	}
	return Agreed
}

// take replaces the recorded value with the value of a reading.
func (r *Record[V]) take(in Reading[V], verdict Verdict) Verdict {
	r.Value, r.Shown = in.Value, in.Answered
	if in.Direct {
		r.Read = in.Began
	}
	return verdict
}

// covers reports whether the reading shows the platform as it was at that time or later.
func (in Reading[V]) covers(at time.Time, b Bounds) bool {
	late := b.Lag
	if in.Direct {
		late = b.Settle
	}
	return at.IsZero() || !in.Began.Before(at.Add(late))
}

// Miss applies a direct read that was answered 404. listed is when the newest answered list began: that list lacks the object, because a
// list that shows it ends [Record.Missing].
func (r *Record[V]) Miss(began, answered, listed time.Time, b Bounds) {
	switch {
	case !r.Gone.IsZero():
	case !r.Removed.IsZero() && !began.Before(r.Removed):
		r.Missing, r.Gone = first(r.Missing, answered), answered
	case !began.After(r.Read), !r.Wrote.IsZero() && began.Before(r.Wrote.Add(b.Settle)):
	case r.Missing.IsZero():
		r.Missing = answered
	case !listed.Before(r.Missing.Add(b.Lag)) && !began.Before(r.Missing.Add(b.Lag+b.Settle)):
		r.Gone = answered
	}
}

// Answer applies an own write that was answered with the object as it is now.
func (r *Record[V]) Answer(value V, at time.Time) {
	r.Value, r.Shown, r.Wrote = value, at, at
	r.Missing, r.Gone = time.Time{}, time.Time{}
}

// Lose applies an own write that was not answered with success, and may still take effect.
func (r *Record[V]) Lose(at time.Time, b Bounds) {
	r.Wrote = at
	if until := at.Add(b.Late + b.Settle); until.After(r.Aside) {
		r.Aside = until
	}
}

// Remove notes a removal that may take effect, from when it was sent.
func (r *Record[V]) Remove(at time.Time) { r.Removing = first(r.Removing, at) }

// Accept notes that the platform accepted a removal.
func (r *Record[V]) Accept(at time.Time) {
	r.Remove(at)
	r.Removed = at
}

// Usable reports whether nothing is in doubt about the object at a time.
func (r *Record[V]) Usable(now time.Time) bool {
	return r.Missing.IsZero() && r.Removing.IsZero() && r.Gone.IsZero() && !now.Before(r.Aside)
}

// Seen reports whether a direct read shows the object, and began at since or later and after every own write.
func (r *Record[V]) Seen(since time.Time) bool {
	return r.Missing.IsZero() && r.Gone.IsZero() && !r.Read.IsZero() && !r.Read.Before(since) && !r.Read.Before(r.Wrote)
}

func first(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}
