package plan_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

func pools(t *rapid.T) []plan.Pool {
	var (
		all  []plan.Pool
		next = 1
	)
	for id := range rapid.IntRange(0, 4).Draw(t, "pools") {
		pool := plan.Pool{ID: id + 1, Count: rapid.IntRange(0, 12).Draw(t, "count")}
		for range rapid.IntRange(0, 14).Draw(t, "members") {
			pool.Members = append(pool.Members, plan.Member{
				ID: next, Taken: rapid.Bool().Draw(t, "taken"), Unfit: rapid.IntRange(0, 5).Draw(t, "unfit") == 0,
			})
			next++
		}
		all = append(all, pool)
	}
	return all
}

func claimants(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 0, 20, rapid.ID[string]).Draw(t, "claimants")
}

// Nobody gets a node that somebody has, nobody gets two, and nobody is left
// while a node is free.
func TestMatchIsOneToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, waiting := pools(t), claimants(t)
		pairs, left := plan.Match(waiting, all)
		free := map[int]bool{}
		for _, pool := range all {
			for _, id := range plan.Free(pool) {
				free[id] = true
			}
		}
		served := map[string]bool{}
		for _, pair := range pairs {
			if !free[pair.InstanceID] {
				t.Fatalf("%d was not free, or given twice", pair.InstanceID)
			}
			delete(free, pair.InstanceID)
			if served[pair.Claimant] {
				t.Fatalf("%s got two", pair.Claimant)
			}
			served[pair.Claimant] = true
		}
		if len(left) > 0 && len(free) > 0 {
			t.Fatalf("%d wait while %d are free", len(left), len(free))
		}
		if len(pairs)+len(left) != len(waiting) {
			t.Fatal("somebody was lost")
		}
	})
}

// Repeating a pass before anything has arrived asks for nothing more, however
// often (I5).
func TestScalingOnceIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, waiting := pools(t), claimants(t)
		const limit = 10
		for pass := range 4 {
			_, left := plan.Match(waiting, all)
			pending := 0
			for _, pool := range all {
				pending += plan.Pending(pool)
			}
			steps := plan.Grow(plan.Deficit(len(left), 0, pending), all, limit)
			if pass > 0 && len(steps) > 0 {
				t.Fatalf("pass %d asked for more: %v", pass, steps)
			}
			all = apply(t, all, steps, limit)
		}
	})
}

func apply(t *rapid.T, all []plan.Pool, steps []plan.Step, limit int) []plan.Pool {
	for _, step := range steps {
		if step.Count > limit || step.Add < 1 {
			t.Fatalf("bad step %+v", step)
		}
		if step.PoolID == 0 {
			all = append(all, plan.Pool{ID: 100 + len(all), Count: step.Count})
			continue
		}
		for i := range all {
			if all[i].ID != step.PoolID {
				continue
			}
			if step.Count <= all[i].Count {
				t.Fatalf("pool of %d would be lowered to %d", all[i].Count, step.Count)
			}
			all[i].Count = step.Count
		}
	}
	return all
}

// Removing targets never lowers a count below what remains, and never leaves a
// pool without nodes.
func TestRemovalLeavesNoEmptyPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 20).Draw(t, "count")
		var targets []int
		for id := range rapid.IntRange(0, count).Draw(t, "targets") {
			targets = append(targets, id+1)
		}
		removal := plan.Remove(count, targets)
		if count-len(removal.ByNode) < 1 {
			t.Fatalf("%+v leaves a pool of %d empty", removal, count)
		}
		if removal.Last != 0 && count-len(removal.ByNode) != 1 {
			t.Fatalf("%+v deletes a pool with other nodes", removal)
		}
	})
}
