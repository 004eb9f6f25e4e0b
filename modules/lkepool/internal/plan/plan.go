// Package plan decides to which pools missing nodes are added, as functions without
// effects. Nothing here depends on a platform, a clock or a context.
//
// Example: seven nodes are missing, and pool 1 holds 98 of at most 100: pool 1 grows by two, and a new pool gets five. Package decide
// calls it.
//
// Pools are filled in the order of their IDs, lowest first, each up to the limit; a pool at or above the limit is passed over. New pools
// of at most limit nodes take the rest. No step lowers a count.
package plan

import (
	"cmp"
	"slices"
)

// Pool holds the facts of a pool that a decision needs.
type Pool struct {
	ID int
	// Count is the size that the platform keeps the pool at.
	Count int
}

// Step grows one pool.
type Step struct {
	// PoolID is 0 for a pool to be created.
	PoolID int
	// Count is the pool's new count, Add the number of nodes that the step adds.
	Count, Add int
}

// Grow spreads a deficit over pools with room, lowest ID first, and then over
// new pools of at most limit nodes.
func Grow(deficit int, pools []Pool, limit int) []Step {
	var steps []Step
	byID := slices.SortedFunc(slices.Values(pools), func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	for _, pool := range byID {
		add := min(deficit, limit-pool.Count)
		if add <= 0 {
			continue
		}
		steps = append(steps, Step{PoolID: pool.ID, Count: pool.Count + add, Add: add})
		deficit -= add
	}
	for deficit > 0 {
		add := min(deficit, limit)
		steps = append(steps, Step{Count: add, Add: add})
		deficit -= add
	}
	return steps
}
