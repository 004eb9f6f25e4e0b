package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/internal/plan"
)

func members(taken ...bool) []plan.Member {
	var all []plan.Member
	for i, t := range taken {
		all = append(all, plan.Member{ID: 10 + i, Taken: t})
	}
	return all
}

func TestFreeAndPending(t *testing.T) {
	for _, c := range []struct {
		name    string
		pool    plan.Pool
		free    []int
		pending int
	}{
		{"empty", plan.Pool{}, nil, 0},
		{"nothing has arrived", plan.Pool{Count: 3}, nil, 3},
		{"one of three has arrived", plan.Pool{Count: 3, Members: members(false)}, []int{10}, 2},
		{"all claimed", plan.Pool{Count: 2, Members: members(true, true)}, nil, 0},
		{"one claimed, one free", plan.Pool{Count: 2, Members: members(true, false)}, []int{11}, 0},
		{"unfit is neither free nor pending", plan.Pool{Count: 2, Members: []plan.Member{{ID: 1, Unfit: true}, {ID: 2}}}, []int{2}, 0},
		{"more members than count: nobody is handed out", plan.Pool{Count: 2, Members: members(false, false, true)}, nil, 1},
		{"one has come whom no list shows", plan.Pool{Count: 2, Members: members(false), Absent: 1}, []int{10}, 1},
		{"one has come for one who is still shown", plan.Pool{Count: 2, Members: members(true, false), Absent: 1}, nil, 1},
		{"one has come for one of the claimed", plan.Pool{Count: 2, Members: members(true, true), Absent: 1}, nil, 0},
		{"more members than count, all claimed", plan.Pool{Count: 1, Members: members(true, true)}, nil, 0},
		{"lowest ID first", plan.Pool{Count: 2, Members: []plan.Member{{ID: 9}, {ID: 3}}}, []int{3, 9}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if free := plan.Free(c.pool); !slices.Equal(free, c.free) {
				t.Errorf("free %v, want %v", free, c.free)
			}
			if pending := plan.Pending(c.pool); pending != c.pending {
				t.Errorf("pending %d, want %d", pending, c.pending)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	pools := []plan.Pool{
		{ID: 2, Count: 3, Members: []plan.Member{{ID: 30}, {ID: 12, Taken: true}, {ID: 11}}},
		{ID: 1, Count: 1, Members: []plan.Member{{ID: 20}}},
	}
	pairs, left := plan.Match([]string{"a", "b", "c", "d"}, pools)
	want := []plan.Pair{{Claimant: "a", InstanceID: 11}, {Claimant: "b", InstanceID: 20}, {Claimant: "c", InstanceID: 30}}
	if !slices.Equal(pairs, want) || !slices.Equal(left, []string{"d"}) {
		t.Errorf("got %v, left %v", pairs, left)
	}
	pairs, left = plan.Match([]string{"a"}, pools)
	if !slices.Equal(pairs, want[:1]) || len(left) != 0 {
		t.Errorf("got %v, left %v", pairs, left)
	}
}

func TestDeficit(t *testing.T) {
	for _, c := range []struct {
		name                         string
		waiting, free, pending, want int
	}{
		{"nobody waits", 0, 0, 0, 0},
		{"nothing there", 5, 0, 0, 5},
		{"everything is on its way", 5, 0, 5, 0},
		{"free counts", 5, 2, 1, 2},
		{"never negative", 1, 3, 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plan.Deficit(c.waiting, c.free, c.pending); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

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

func TestSurplus(t *testing.T) {
	old, young := 10*time.Minute, time.Minute
	for _, c := range []struct {
		name   string
		idle   []plan.Idle
		demand int
		want   []int
	}{
		{"none", nil, 3, nil},
		{"old and unwanted", []plan.Idle{{1, old}, {2, old}}, 0, []int{1, 2}},
		{"young ones stay", []plan.Idle{{1, young}, {2, old}}, 0, []int{2}},
		{"the wanted ones stay, in the order in which they are handed out", []plan.Idle{{3, old}, {1, old}, {2, old}}, 2, []int{3}},
		{"more wanted than there are", []plan.Idle{{1, old}}, 5, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := plan.Surplus(c.idle, c.demand, 5*time.Minute); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct {
		name    string
		count   int
		targets []int
		byNode  []int
		last    int
	}{
		{"some of many", 3, []int{1, 2}, []int{1, 2}, 0},
		{"all: the last goes with the pool", 3, []int{1, 2, 3}, []int{1, 2}, 3},
		{"the only one", 1, []int{1}, nil, 1},
		{"the list lags behind the count", 3, []int{1}, []int{1}, 0},
		{"nothing to remove", 0, nil, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := plan.Remove(c.count, c.targets)
			if !slices.Equal(got.ByNode, c.byNode) || got.Last != c.last {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestHalf(t *testing.T) {
	for step, want := range map[plan.Step]plan.Step{
		{PoolID: 7, Count: 30, Add: 20}: {PoolID: 7, Count: 20, Add: 10},
		{PoolID: 7, Count: 13, Add: 3}:  {PoolID: 7, Count: 11, Add: 1},
		{Count: 5, Add: 5}:              {Count: 2, Add: 2},
	} {
		if got := step.Half(); got != want {
			t.Errorf("half of %+v is %+v, want %+v", step, got, want)
		}
	}
}
