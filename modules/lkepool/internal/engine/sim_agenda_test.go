package engine

import "time"

// simAgenda holds the scheduled items, in the order of virtual time; those due at
// one moment run in the order in which they were added.
type simAgenda struct {
	now   time.Duration
	seq   int
	items []simItem
}

type simItem struct {
	at  time.Duration
	seq int
	run func()
}

func (a *simAgenda) after(wait time.Duration, run func()) { a.at(a.now+wait, run) }

func (a *simAgenda) at(at time.Duration, run func()) {
	a.seq++
	a.items = append(a.items, simItem{at: max(at, a.now), seq: a.seq, run: run})
	for i := len(a.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.items[i].before(a.items[parent]) {
			break
		}
		a.items[i], a.items[parent] = a.items[parent], a.items[i]
		i = parent
	}
}

func (i simItem) before(other simItem) bool {
	return i.at < other.at || i.at == other.at && i.seq < other.seq
}

// next returns when the next item is due, and false if there is none.
func (a *simAgenda) next() (time.Duration, bool) {
	if len(a.items) == 0 {
		return 0, false
	}
	return a.items[0].at, true
}

// step advances the time to the next item and runs it.
func (a *simAgenda) step() {
	first, last := a.items[0], len(a.items)-1
	a.items[0], a.items[last] = a.items[last], simItem{}
	a.items = a.items[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.items[child].before(a.items[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		a.items[i], a.items[least] = a.items[least], a.items[i]
		i = least
	}
	a.now = first.at
	first.run()
}
