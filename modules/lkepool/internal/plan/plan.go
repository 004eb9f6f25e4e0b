// Package plan holds the decisions of the claim engine as functions without
// effects: who gets which node, how many are missing, what may go. Nothing
// here knows a platform, a clock or a context.
package plan

import (
	"cmp"
	"slices"
	"time"
)

// Pool is what a decision needs to know of a pool.
type Pool struct {
	ID int
	// Count is the size that the platform keeps the pool at.
	Count int
	// Members are the instances known to hold one of Count's places.
	Members []Member
	// Absent is how many places the pool lists that none of the members holds:
	// what is to come, or came and is not in the list of instances yet.
	Absent int
}

// Member is an instance that holds a place in a pool.
type Member struct {
	ID int
	// Taken: claimed, or reserved for somebody.
	Taken bool
	// Unfit: nobody is to get it, for example because it never booted.
	Unfit bool
}

// Settled says whether the pool shows no more members, and places for others, than
// its count. One that shows more is about to lose members, or has lost them and a
// list does not show it yet, and nothing tells which.
func Settled(pool Pool) bool { return len(pool.Members)+pool.Absent <= pool.Count }

// Free returns the instances that may be handed out, lowest ID first. A pool
// that has not settled has none.
func Free(pool Pool) []int {
	if !Settled(pool) {
		return nil
	}
	var free []int
	for _, member := range pool.Members {
		if !member.Taken && !member.Unfit {
			free = append(free, member.ID)
		}
	}
	slices.Sort(free)
	return free
}

// Pending returns how many nodes the pool owes: places that no known instance
// holds, and for a pool that is about to lose members those that will remain
// free afterwards.
func Pending(pool Pool) int {
	if Settled(pool) {
		return pool.Count - len(pool.Members)
	}
	kept := pool.Count
	for _, member := range pool.Members {
		if member.Taken || member.Unfit {
			kept--
		}
	}
	return max(0, kept)
}

// Pair gives an instance to a claimant.
type Pair struct {
	Claimant   string
	InstanceID int
}

// Match gives free instances, lowest ID first, to claimants in their order,
// and returns who got none.
func Match(claimants []string, pools []Pool) (pairs []Pair, left []string) {
	var free []int
	for _, pool := range pools {
		free = append(free, Free(pool)...)
	}
	slices.Sort(free)
	n := min(len(free), len(claimants))
	for i := range n {
		pairs = append(pairs, Pair{Claimant: claimants[i], InstanceID: free[i]})
	}
	return pairs, claimants[n:]
}

// Deficit is how many nodes have to be asked for. What is free and what is on
// its way both count, so a repeated or restarted request asks for nothing that
// was asked for already.
func Deficit(waiting, free, pending int) int {
	return max(0, waiting-free-pending)
}

// Step grows one pool.
type Step struct {
	// PoolID is 0 for a pool to be created.
	PoolID int
	// Count is the pool's new count, Add what is new of it.
	Count, Add int
}

// Half asks for half of what the step adds, rounded down.
func (s Step) Half() Step {
	return Step{PoolID: s.PoolID, Count: s.Count - s.Add + s.Add/2, Add: s.Add / 2}
}

// Grow spreads a deficit over pools with room, lowest ID first, and then over
// new pools of at most limit nodes. It leaves pools alone that have not
// settled: what is added there might not show as pending, and be added again.
func Grow(deficit int, pools []Pool, limit int) []Step {
	var steps []Step
	byID := slices.SortedFunc(slices.Values(pools), func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	for _, pool := range byID {
		add := min(deficit, limit-pool.Count)
		if add <= 0 || !Settled(pool) {
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

// Idle is a free instance and how long it has existed.
type Idle struct {
	ID  int
	Age time.Duration
}

// Surplus returns which free instances may go: older than ttl, and not among
// the first `demand` ones in the order in which they would be handed out.
func Surplus(idle []Idle, demand int, ttl time.Duration) []int {
	byID := slices.SortedFunc(slices.Values(idle), func(a, b Idle) int { return cmp.Compare(a.ID, b.ID) })
	var surplus []int
	for _, node := range byID[min(demand, len(byID)):] {
		if node.Age > ttl {
			surplus = append(surplus, node.ID)
		}
	}
	return surplus
}

// Removal says how to take nodes out of a pool without ever lowering its count
// by number and without leaving it empty.
type Removal struct {
	// ByNode are removed one by one, in any order, even concurrently.
	ByNode []int
	// Last, if not 0, is the instance that would leave the pool empty. It goes
	// with the whole pool, after the others and after another look at the pool.
	Last int
}

// Remove plans the removal of targets, all of them listed by a pool whose
// authoritative count is given. The number of listed nodes is no argument:
// the list may lag behind the count.
func Remove(count int, targets []int) Removal {
	if len(targets) < count {
		return Removal{ByNode: targets}
	}
	if len(targets) == 0 {
		return Removal{}
	}
	last := len(targets) - 1
	return Removal{ByNode: targets[:last], Last: targets[last]}
}
