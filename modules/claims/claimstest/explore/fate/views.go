package fate

import "time"

// View holds the state that readings show from a moment on, until the next one.
type View[S any] struct {
	At time.Time
	// Text stands for all of it: two views with one text show the same. A fingerprint has
	// the text, so that a state may be shared by clones.
	Text  string
	State *S
}

// Views are the states of a platform that readings may show yet.
type Views[S any] struct{ all []View[S] }

// Record notes what readings show from now on. The state does not change later.
func (v *Views[S]) Record(now time.Time, text string, state *S) {
	if last := len(v.all) - 1; last < 0 || v.all[last].Text != text {
		v.all = append(v.all, View[S]{now, text, state})
	}
}

// Newest returns the present state.
func (v *Views[S]) Newest() View[S] { return v.all[len(v.all)-1] }

// Of returns the views that a reading may show which began then and may lag so far, the
// oldest first.
func (v *Views[S]) Of(began time.Time, lag time.Duration) []View[S] {
	for i := range v.all {
		if i == len(v.all)-1 || v.all[i+1].At.After(began.Add(-lag)) {
			return v.all[i:]
		}
	}
	return nil
}

// Forget drops what no reading can show that shows what was true then, or later.
func (v *Views[S]) Forget(oldest time.Time) {
	for len(v.all) > 1 && !v.all[1].At.After(oldest) {
		v.all = v.all[1:]
	}
}
