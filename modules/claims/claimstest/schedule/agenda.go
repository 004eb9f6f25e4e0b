// Package schedule is a kit for the tests of an engine. With it a test runs random lives of a
// cluster against the engine, in virtual time and without a goroutine:
//
//	Agenda    future events
//	History   the versions of an object, for answers that are out of date
//	Dice      random choices, such as the moment at which an unanswered write takes effect
//	Gap       a time in which direct reads answer 404
//	Seeds     seeds, spread over processors
//	Shrink    makes a schedule that shows a violation shorter
//
// One seed has one course of events: an Agenda runs events of one moment in the order in
// which they were added, and the caller draws everything else from the seed.
//
// The test itself has the model of the platform and the invariants. An Agenda is for one
// goroutine; [Seeds.Run] calls its function concurrently.
//
// An event whose time has passed is due now. Seeds.Run stops early after Seeds.Failures violations.
// Shrink removes one element after another from a schedule, and keeps a shorter schedule only if it
// breaks the same invariant with the same text. Times are durations since the beginning of the
// life.
package schedule

import (
	"container/heap"
	"time"
)

// Agenda orders future events by virtual time. The zero value is empty, at time 0.
type Agenda struct {
	// Now is the virtual time since the beginning.
	Now   time.Duration
	added int
	items items
}

type item struct {
	at  time.Duration
	seq int
	run func()
}

// After adds an event.
func (a *Agenda) After(wait time.Duration, run func()) { a.At(a.Now+wait, run) }

// At adds an event at a time. If the time has passed, the event is due now.
func (a *Agenda) At(at time.Duration, run func()) {
	a.added++
	heap.Push(&a.items, item{at: max(at, a.Now), seq: a.added, run: run})
}

// Next returns when the next event is, and false if no event is planned.
func (a *Agenda) Next() (time.Duration, bool) {
	if len(a.items) == 0 {
		return 0, false
	}
	return a.items[0].at, true
}

// Step advances the time to the next event and runs it. It returns false if no event comes
// until end.
func (a *Agenda) Step(end time.Duration) bool {
	if len(a.items) == 0 || a.items[0].at > end {
		return false
	}
	next := heap.Pop(&a.items).(item)
	a.Now = next.at
	next.run()
	return true
}

// items implements heap.Interface.
type items []item

func (s items) Len() int      { return len(s) }
func (s items) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *items) Push(x any)   { *s = append(*s, x.(item)) }

func (s items) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].seq < s[j].seq
}

func (s *items) Pop() any {
	last := len(*s) - 1
	next := (*s)[last]
	(*s)[last] = item{}
	*s = (*s)[:last]
	return next
}
