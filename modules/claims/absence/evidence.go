package absence

import (
	"cmp"
	"time"
)

// Fact is what one reading, or the answer to one write, shows of an object's existence.
type Fact struct {
	// Began and Answered are when it was sent and answered.
	Began, Answered time.Time
	// Direct: the object itself was read. Otherwise it was a list, or another object that
	// contains it.
	Direct bool
	// Shows: the object was in the answer. Otherwise it was answered 404, or is not in it.
	Shows bool
}

// Bounds are how much out of date readings may be: direct reads by Settle, all others by
// Lag.
type Bounds struct{ Settle, Lag time.Duration }

// Covers reports whether the fact is about the platform at that time or later.
func (f Fact) Covers(at time.Time, b Bounds) bool {
	if f.Direct {
		return !f.Began.Before(at.Add(b.Settle))
	}
	return !f.Began.Before(at.Add(b.Lag))
}

// Evidence has all facts about the existence of one object. The zero value has no facts.
//
// One rule holds in both directions: a fact does not refute a newer fact.
//
//	not proven gone   the object exists: a reading that shows it, later than it was first
//	                  missing, refutes all readings that lack it
//	proven gone       a reading that may be older than the proof refutes nothing; a newer
//	                  reading that shows the object refutes the proof
type Evidence struct {
	// First is when the object was first seen, Last when the newest fact began that shows it.
	First, Last time.Time
	// Missing is when the first fact began that lacks it, of the facts since it was shown.
	Missing time.Time
	// Ended is when it was proven gone.
	Ended time.Time
	Proof
}

// Hear takes a fact in, and reports whether it counts. removed is when the removal
// of the object was accepted, zero for never.
func (e *Evidence) Hear(f Fact, b Bounds, removed time.Time) bool {
	if f.Shows {
		return e.shown(f, b)
	}
	if !f.Began.After(e.Last) {
		return false
	}
	e.Missing = cmp.Or(e.Missing, f.Began)
	switch {
	case f.Direct:
		e.Missed(f.Began, f.Answered, b.Settle)
	case f.Covers(e.First, b): // an earlier list may be older than the object
		e.Lacked(f.Began)
	}
	if e.Ended.IsZero() && e.Gone(removed) {
		e.Ended = f.Answered
	}
	return true
}

// shown follows a fact that shows the object.
func (e *Evidence) shown(f Fact, b Bounds) bool {
	if f.Began.After(e.Last) {
		e.Last = f.Began
	}
	e.First = cmp.Or(e.First, f.Answered)
	if !e.Ended.IsZero() && !f.Covers(e.Ended, b) {
		return false
	}
	if e.Ended.IsZero() && f.Began.Before(e.Missing) {
		return true // it exists, and is missing since
	}
	e.Missing, e.Ended, e.Proof = time.Time{}, time.Time{}, Proof{}
	return true
}
