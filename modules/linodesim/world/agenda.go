package world

import (
	"container/heap"
	"time"
)

// agenda holds what will happen by itself, in order of time and, at the same
// time, in the order in which it was planned.
type agenda struct {
	items []planned
	seq   int
}

type planned struct {
	at  time.Time
	seq int
	run func()
}

func (a *agenda) Len() int { return len(a.items) }
func (a *agenda) Less(i, j int) bool {
	if a.items[i].at.Equal(a.items[j].at) {
		return a.items[i].seq < a.items[j].seq
	}
	return a.items[i].at.Before(a.items[j].at)
}
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }
func (a *agenda) Push(x any)    { a.items = append(a.items, x.(planned)) }
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items = a.items[:len(a.items)-1]
	return last
}

func (a *agenda) add(at time.Time, run func()) {
	a.seq++
	heap.Push(a, planned{at: at, seq: a.seq, run: run})
}

// next gives the time of the first thing planned.
func (a *agenda) next() (time.Time, bool) {
	if len(a.items) == 0 {
		return time.Time{}, false
	}
	return a.items[0].at, true
}

// due takes the first thing planned for now or before.
func (a *agenda) due(now time.Time) (planned, bool) {
	if at, ok := a.next(); !ok || at.After(now) {
		return planned{}, false
	}
	return heap.Pop(a).(planned), true
}
