package fate

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// World carries requests out. A is an action of the core, R its result.
type World[A, R any] interface {
	// Shown returns a text for each view that a read may show, the oldest first. Views
	// with equal texts show the same state.
	Shown(*Request[A, R]) []string
	// Show answers a read with a view, an index of Shown's texts.
	Show(r *Request[A, R], view int) R
	// Land carries a write out, and returns the platform's answer to it.
	Land(*Request[A, R]) R
	// Refuse returns the result of an action that ends with an error.
	Refuse(A, claims.Kind, claims.Effect) R
	// Done gives the core the result of a request, which is not under way any more.
	Done(Request[A, R], R)
}

// Request is an action under way.
type Request[A, R any] struct {
	Action A
	// Write: the request changes the platform. Single: it reads one object. Spared: no fault concerns it.
	Write, Single, Spared bool
	Sent                  time.Time
	// Expires is when it ends without an answer.
	Expires time.Time
	// Landed: the write has taken effect, and Answer is the platform's answer to it.
	Landed bool
	Answer R
	// Slow: time may pass before the request has its answer.
	Slow bool
	// Until is the time before which a late write may take effect.
	Until time.Time
}

// Bound bounds the faults and the ends of processes in a world. It never changes.
type Bound struct {
	// Faults is the largest number of faults. Only has the kinds that may happen, nil for all.
	Faults int
	Only   []Kind
	// Crash: the process may die at any step, once. Clean: the process may end once, while no
	// write is under way or may take effect later.
	Crash, Clean bool
	// LateEffect is how long after its error, or the end of its sender, a write may still take effect.
	LateEffect time.Duration
}

// SharedByClones makes all clones share the bound.
func (*Bound) SharedByClones() {}

// Requests are the requests of a small world.
type Requests[A, R any] struct {
	// Under are the requests without an answer. Late are the writes that were answered
	// with an error, or not at all, and may still take effect.
	Under, Late []Request[A, R]
	bound       *Bound
	// faults counts the faults that may still happen; led: another process has taken over.
	faults int
	led    bool
}

// New returns the requests of a world at its beginning.
func New[A, R any](b *Bound) Requests[A, R] { return Requests[A, R]{bound: b, faults: b.Faults} }

// None reports whether no request is under way and no late write may still take effect.
func (rs *Requests[A, R]) None() bool { return len(rs.Under) == 0 && len(rs.Late) == 0 }

// Moves returns the possible next moves of the requests that were sent. waits reports whether a
// request has not left the process yet. passes reports whether time may pass now: every sent
// request is slow.
func (rs *Requests[A, R]) Moves(w World[A, R], waits func(*Request[A, R]) bool) (moves []Move, passes bool) {
	passes = true
	for i := range rs.Under {
		if r := &rs.Under[i]; !waits(r) {
			moves = append(moves, rs.ends(w, i)...)
			passes = passes && r.Slow
		}
	}
	for i := range rs.Late {
		moves = append(moves, Move{Kind: LandsLate, Request: i})
	}
	if rs.led {
		return moves, passes
	}
	if rs.bound.Crash {
		moves = append(moves, Move{Kind: Crashes})
	}
	if rs.bound.Clean && len(rs.Late) == 0 && !slices.ContainsFunc(rs.Under, func(r Request[A, R]) bool { return r.Write }) {
		moves = append(moves, Move{Kind: Ends})
	}
	return moves, passes
}

// ends returns the possible next moves of a request, faults included.
func (rs *Requests[A, R]) ends(w World[A, R], i int) (moves []Move) {
	r := &rs.Under[i]
	switch {
	case !r.Write:
		seen := map[string]bool{}
		for view, text := range w.Shown(r) {
			if !seen[text] {
				seen[text] = true
				moves = append(moves, Move{Kind: Shows, Request: i, View: view})
			}
		}
	case r.Landed:
		moves = append(moves, Move{Kind: Answers, Request: i})
	default:
		moves = append(moves, Move{Kind: Lands, Request: i})
	}
	if rs.faults == 0 || r.Spared {
		return moves
	}
	for _, kind := range r.faults() {
		if rs.bound.Only == nil || slices.Contains(rs.bound.Only, kind) {
			moves = append(moves, Move{Kind: kind, Request: i})
		}
	}
	return moves
}

// faults are the faults that a request may have.
func (r *Request[A, R]) faults() (kinds []Kind) {
	switch {
	case r.Write && r.Landed:
		kinds = []Kind{LosesAnswer}
	case r.Write:
		kinds = []Kind{Fails, IsLate}
	case r.Single:
		kinds = []Kind{Fails, Missing}
	default:
		kinds = []Kind{Fails}
	}
	if !r.Slow {
		kinds = append(kinds, IsSlow)
	}
	return kinds
}

// Take makes a move that concerns a request. The world itself makes moves of time, of other
// processes, and its own moves.
func (rs *Requests[A, R]) Take(w World[A, R], m Move, now time.Time) {
	switch m.Kind {
	case LandsLate:
		r := rs.Late[m.Request]
		rs.Late = slices.Delete(rs.Late, m.Request, m.Request+1)
		w.Land(&r)
		return
	case Lands:
		r := &rs.Under[m.Request]
		r.Landed = true
		r.Answer = w.Land(r)
		return
	case IsSlow:
		rs.faults--
		rs.Under[m.Request].Slow = true
		return
	}
	r := rs.Under[m.Request]
	result := r.Answer
	switch m.Kind {
	case Shows:
		result = w.Show(&r, m.View)
	case Fails:
		rs.faults--
		result = w.Refuse(r.Action, claims.KindUnavailable, claims.EffectNone)
	case Missing:
		rs.faults--
		result = w.Refuse(r.Action, claims.KindNotFound, claims.EffectNone)
	case LosesAnswer, IsLate:
		rs.faults--
		result = rs.unanswered(w, r, now)
	}
	rs.end(w, m.Request, result)
}

// end takes a request out, and gives the core its result.
func (rs *Requests[A, R]) end(w World[A, R], i int, result R) {
	r := rs.Under[i]
	rs.Under = slices.Delete(rs.Under, i, i+1)
	w.Done(r, result)
}

// unanswered returns the result of a write without an answer. A write without an effect so far becomes late.
func (rs *Requests[A, R]) unanswered(w World[A, R], r Request[A, R], now time.Time) R {
	if !r.Landed {
		r.Until = now.Add(rs.bound.LateEffect)
		rs.Late = append(rs.Late, r)
	}
	return w.Refuse(r.Action, claims.KindUnavailable, claims.EffectUnknown)
}

// Elapse ends the late writes that can have no effect any more, and the requests that have expired without an answer.
func (rs *Requests[A, R]) Elapse(w World[A, R], now time.Time) {
	rs.Late = slices.DeleteFunc(rs.Late, func(r Request[A, R]) bool { return !now.Before(r.Until) })
	for i := 0; i < len(rs.Under); i++ {
		r := rs.Under[i]
		if now.Before(r.Expires) {
			continue
		}
		var result R
		if r.Write {
			result = rs.unanswered(w, r, now)
		} else {
			result = w.Refuse(r.Action, claims.KindUnavailable, claims.EffectNone)
		}
		rs.end(w, i, result)
		i--
	}
}

// Next returns when the next request expires or the next late write can have no effect any
// more, the zero time for never.
func (rs *Requests[A, R]) Next() (next time.Time) {
	for _, r := range rs.Under {
		next = Sooner(next, r.Expires)
	}
	for _, r := range rs.Late {
		next = Sooner(next, r.Until)
	}
	return next
}

// CancelReads ends the reads, as a shell does when no caller waits.
func (rs *Requests[A, R]) CancelReads(w World[A, R], cancelled R) {
	for {
		at := slices.IndexFunc(rs.Under, func(r Request[A, R]) bool { return !r.Write })
		if at < 0 {
			return
		}
		rs.end(w, at, cancelled)
	}
}

// TakeOver makes another process lead. An unanswered write of the previous process may take
// effect until Bound.LateEffect later, or never.
func (rs *Requests[A, R]) TakeOver(w World[A, R], now time.Time) {
	rs.led = true
	for _, r := range rs.Under {
		if r.Write {
			rs.unanswered(w, r, now)
		}
	}
	rs.Under = nil
}

// Sort orders requests by a key, so that worlds which sent the same requests in different orders are the same world.
func (rs *Requests[A, R]) Sort(key func(*Request[A, R]) string) {
	if len(rs.Under) < 2 && len(rs.Late) < 2 {
		return
	}
	byKey := func(a, b Request[A, R]) int { return strings.Compare(key(&a), key(&b)) }
	slices.SortStableFunc(rs.Under, byKey)
	slices.SortStableFunc(rs.Late, byKey)
}

// Sooner returns the earlier of two times, of which either may be zero.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
