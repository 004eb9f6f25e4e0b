package schedule

// Shrink takes away of a schedule what its violation does not need, one thing after
// another. simpler returns schedules with one thing less, broken which invariant a
// schedule breaks, "" for none: it stays the same one.
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
