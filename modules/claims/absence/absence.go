// Package absence proves that an object of the platform is gone, for engines whose platform sometimes answers wrongly: a list may lag and
// lack an object that exists, and direct reads may answer 404 for existing objects, even for many at once.
//
// An object is gone in two cases:
//
//   - Two direct reads, the settle time apart, answered 404, and a list that began after the second one lacks the object.
//   - Its removal was accepted, and either two direct reads, or one direct read and a later list, lack it.
//
// A [Proof] holds the evidence about one object. It is a plain value without a clock: the caller passes when a request began and when it
// was answered. A client repeats requests and waits for rate limits, so the platform may have carried out an attempt at any moment
// between these two times. The proof uses the time that is unsafe for its conclusion: the first 404 counts from its answer, and the
// second from its beginning. Example, with a settle time of 4 s: a read from 10:00:00 to 10:00:03 answers 404. A second 404 counts if its
// read began at 10:00:07 or later.
//
// An [Evidence] adds when the object was seen, and takes every fact in by one rule. An engine that keeps one for each object needs
// nothing else to know which objects exist.
//
// A reading that shows the object ends the proof, and the next proof begins anew: two more 404s are needed. Two readings do not end it: a
// reading that began before the first reading that lacked the object, and, once the object is proven gone, a list that may be older than
// the proof.
//
// A Proof does not decide whether a list must show the object: a list that began shortly after the creation may lack it rightly. So the
// caller reports only lists that began the list lag after the object existed, as Evidence does.
//
// Package belief of module instances calls it. The caller serializes the calls for one object.
package absence

import "time"

// Proof holds what readings lack one object. The zero value has none.
type Proof struct {
	// first and second are when the two 404s were answered, lacks is when the newest
	// list began that lacks the object.
	first, second, lacks time.Time
}

// Missed records a direct read that answered 404. sent is when it began.
func (p *Proof) Missed(sent, answered time.Time, settle time.Duration) {
	switch {
	case p.first.IsZero():
		p.first = answered
	case p.second.IsZero() && !sent.Before(p.first.Add(settle)):
		p.second = answered
	}
}

// Lacked records a list without the object, which began when the object must have
// been in it.
func (p *Proof) Lacked(began time.Time) {
	if began.After(p.lacks) {
		p.lacks = began
	}
}

// Gone reports whether the object is proven gone. removed is when its removal was
// accepted, zero for never.
func (p Proof) Gone(removed time.Time) bool {
	if !removed.IsZero() {
		return p.Twice() || !p.first.IsZero() && !p.lacks.Before(removed)
	}
	return p.Twice() && !p.lacks.Before(p.second)
}

// Begun reports whether a direct read answered 404.
func (p Proof) Begun() bool { return !p.first.IsZero() }

// Twice reports whether two direct reads answered 404, the settle time apart.
func (p Proof) Twice() bool { return !p.second.IsZero() }

// Lacking returns when the newest list began that lacks the object and must have shown
// it, the zero time for none.
func (p Proof) Lacking() time.Time { return p.lacks }

// Since returns when the second 404 was answered, and before that the first.
func (p Proof) Since() time.Time {
	if p.Twice() {
		return p.second
	}
	return p.first
}
