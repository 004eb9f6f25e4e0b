package plan_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name    string
		deficit int
		pools   []plan.Pool
		want    []plan.Step
	}{
		{"nothing missing", 0, []plan.Pool{{ID: 1, Count: 3}}, nil},
		{"first pool", 5, nil, []plan.Step{{Count: 5, Add: 5}}},
		{"room in the pool", 5, []plan.Pool{{ID: 1, Count: 3}}, []plan.Step{{PoolID: 1, Count: 8, Add: 5}}},
		{"pool fills up", 5, []plan.Pool{{ID: 1, Count: 98}}, []plan.Step{{PoolID: 1, Count: 100, Add: 2}, {Count: 3, Add: 3}}},
		{"full pool is left alone", 1, []plan.Pool{{ID: 1, Count: 100}}, []plan.Step{{Count: 1, Add: 1}}},
		{"twins, lowest ID first", 5, []plan.Pool{{ID: 7, Count: 99}, {ID: 2, Count: 99}},
			[]plan.Step{{PoolID: 2, Count: 100, Add: 1}, {PoolID: 7, Count: 100, Add: 1}, {Count: 3, Add: 3}}},
		{"several new pools", 240, nil, []plan.Step{{Count: 100, Add: 100}, {Count: 100, Add: 100}, {Count: 40, Add: 40}}},
		{"beyond the limit by hand", 1, []plan.Pool{{ID: 1, Count: 120}}, []plan.Step{{Count: 1, Add: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plan.Grow(c.deficit, c.pools, 100); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Steps add the missing nodes, keep to the limit, and lower nothing.
func TestGrowthIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		var pools []plan.Pool
		for i := range rapid.IntRange(0, 4).Draw(t, "pools") {
			pools = append(pools, plan.Pool{ID: i + 1, Count: rapid.IntRange(0, 25).Draw(t, "count")})
		}
		deficit, added := rapid.IntRange(0, 60).Draw(t, "deficit"), 0
		for _, step := range plan.Grow(deficit, pools, limit) {
			before := 0
			if at := slices.IndexFunc(pools, func(p plan.Pool) bool { return p.ID == step.PoolID }); at >= 0 {
				before = pools[at].Count
			}
			if step.Add <= 0 || step.Count != before+step.Add || step.Count > limit {
				t.Fatalf("step %+v of a pool of %d, limit %d", step, before, limit)
			}
			added += step.Add
		}
		if added != deficit {
			t.Fatalf("added %d of %d", added, deficit)
		}
	})
}
