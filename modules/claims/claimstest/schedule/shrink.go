package schedule

// Shrink removes from a schedule all elements that its violation does not need, one
// after another. simpler returns schedules that lack one element each. broken returns
// the invariant that a schedule breaks, "" without a violation. The result breaks the
// same invariant as plan.
func Shrink[S any](plan S, simpler func(S) []S, broken func(S) string) S {
	kept := broken(plan)
	if kept == "" {
		return plan
	}
	for again := true; again; {
		again = false
		for _, smaller := range simpler(plan) {
			if broken(smaller) == kept {
				plan, again = smaller, true
				break
			}
		}
	}
	return plan
}
