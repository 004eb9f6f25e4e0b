package fate

import "time"

// View holds the state that readings show from At until the time of the next View.
type View[S any] struct {
	At time.Time
	// Text identifies the state: two views with the same text show the same state. A
	// fingerprint contains the text, so clones may share the state.
	Text  string
	State *S
}

// Views are the states of a platform that readings may still show.
type Views[S any] struct{ all []View[S] }

// Record notes what readings show from now on. The state does not change later.
func (v *Views[S]) Record(now time.Time, text string, state *S) {
	if last := len(v.all) - 1; last < 0 || v.all[last].Text != text {
		v.all = append(v.all, View[S]{now, text, state})
	}
}

// Newest returns the present state.
func (v *Views[S]) Newest() View[S] { return v.all[len(v.all)-1] }

// Of returns the views that a reading may show, the oldest first. The reading began at
// began, and shows the platform as it was then, or at most lag before.
func (v *Views[S]) Of(began time.Time, lag time.Duration) []View[S] {
	for i := range v.all {
		if i == len(v.all)-1 || v.all[i+1].At.After(began.Add(-lag)) {
			return v.all[i:]
		}
	}
	return nil
}

// Forget drops the views that were replaced at oldest or earlier. Readings show the
// platform as it was at oldest or later.
func (v *Views[S]) Forget(oldest time.Time) {
	for len(v.all) > 1 && !v.all[1].At.After(oldest) {
		v.all = v.all[1:]
	}
}
