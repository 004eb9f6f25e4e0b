package world

import (
	"slices"
	"time"
)

// agenda holds the planned changes of the world, ordered by their time. Changes for the same time are in the order in
// which they were planned.
type agenda []planned

type planned struct {
	at  time.Time
	run func()
}

func (a *agenda) add(at time.Time, run func()) {
	after := func(p planned, at time.Time) int {
		if p.at.After(at) {
			return 1
		}
		return -1 // an earlier plan for the same time comes first
	}
	place, _ := slices.BinarySearchFunc(*a, at, after)
	*a = slices.Insert(*a, place, planned{at, run})
}

// next returns the time of the first planned change.
func (a agenda) next() (time.Time, bool) {
	if len(a) == 0 {
		return time.Time{}, false
	}
	return a[0].at, true
}

// due takes the first change that is planned for now or for an earlier time.
func (a *agenda) due(now time.Time) (planned, bool) {
	if at, ok := a.next(); !ok || at.After(now) {
		return planned{}, false
	}
	first := (*a)[0]
	(*a)[0] = planned{}
	*a = (*a)[1:]
	return first, true
}
