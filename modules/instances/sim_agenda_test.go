package instances

import (
	"container/heap"
	"time"
)

// simAgenda orders future events by virtual time, and events of one moment by when
// they were added.
type simAgenda struct {
	now   time.Time
	seq   int
	items simItems
}

type simItem struct {
	at  time.Time
	seq int
	run func()
}

type simItems []simItem

func (s simItems) Len() int      { return len(s) }
func (s simItems) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *simItems) Push(x any)   { *s = append(*s, x.(simItem)) }

func (s simItems) Less(i, j int) bool {
	return s[i].at.Before(s[j].at) || s[i].at.Equal(s[j].at) && s[i].seq < s[j].seq
}

func (s *simItems) Pop() any {
	last := len(*s) - 1
	item := (*s)[last]
	(*s)[last] = simItem{}
	*s = (*s)[:last]
	return item
}

func (a *simAgenda) after(wait time.Duration, run func()) {
	a.seq++
	heap.Push(&a.items, simItem{at: a.now.Add(max(wait, 0)), seq: a.seq, run: run})
}

// step advances the time to the next item and runs it, unless that is after end.
func (a *simAgenda) step(end time.Time) bool {
	if len(a.items) == 0 || a.items[0].at.After(end) {
		return false
	}
	item := heap.Pop(&a.items).(simItem)
	a.now = item.at
	item.run()
	return true
}
