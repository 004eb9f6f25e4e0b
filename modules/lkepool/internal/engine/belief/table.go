package belief

import "slices"

// table is a map that is always read in the order of its IDs, so that the same
// events always cause the same actions.
type table[R any] struct {
	ids  []int
	Rows []R
}

func (t *table[R]) Get(id int) (R, bool) {
	at, ok := slices.BinarySearch(t.ids, id)
	if !ok {
		var none R
		return none, false
	}
	return t.Rows[at], true
}

func (t *table[R]) put(id int, row R) {
	at, ok := slices.BinarySearch(t.ids, id)
	if ok {
		t.Rows[at] = row
		return
	}
	t.ids, t.Rows = slices.Insert(t.ids, at, id), slices.Insert(t.Rows, at, row)
}

func (t *table[R]) drop(id int) {
	if at, ok := slices.BinarySearch(t.ids, id); ok {
		t.ids, t.Rows = slices.Delete(t.ids, at, at+1), slices.Delete(t.Rows, at, at+1)
	}
}
