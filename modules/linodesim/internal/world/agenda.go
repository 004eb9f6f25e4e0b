package world

import (
	"slices"
	"time"
)

// agenda holds what will happen by itself, in order of time and, at the same
// time, in the order in which it was planned.
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
		return -1 // what was planned for the same time comes first
	}
	place, _ := slices.BinarySearchFunc(*a, at, after)
	*a = slices.Insert(*a, place, planned{at, run})
}

// next gives the time of the first thing planned.
func (a agenda) next() (time.Time, bool) {
	if len(a) == 0 {
		return time.Time{}, false
	}
	return a[0].at, true
}

// due takes the first thing planned for now or before.
func (a *agenda) due(now time.Time) (planned, bool) {
	if at, ok := a.next(); !ok || at.After(now) {
		return planned{}, false
	}
	first := (*a)[0]
	(*a)[0] = planned{}
	*a = (*a)[1:]
	return first, true
}
