package schedule_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/schedule"
)

func TestAnAgendaRunsEventsInTheirOrder(t *testing.T) {
	var a schedule.Agenda
	var ran []int
	note := func(n int) func() { return func() { ran = append(ran, n) } }
	a.After(2*time.Second, note(3))
	a.After(time.Second, func() {
		note(1)()
		a.After(time.Second, note(5))
		a.After(-time.Second, note(2))
	})
	a.After(2*time.Second, note(4))
	a.After(time.Minute, note(6))
	a.At(0, note(0))
	if next, ok := a.Next(); !ok || next != 0 {
		t.Errorf("the next event is at %s, %t", next, ok)
	}
	for a.Step(10 * time.Second) {
		if a.Now > 2*time.Second {
			t.Errorf("an event at %s", a.Now)
		}
	}
	if !slices.Equal(ran, []int{0, 1, 2, 3, 4, 5}) || a.Now != 2*time.Second {
		t.Errorf("ran %v until %s", ran, a.Now)
	}
}

func TestAWriteLandsAfterItsAnswerAndWithinTheBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	first, last := time.Hour, time.Duration(0)
	for range 1000 {
		at := schedule.Lands(random, 5*time.Second, 2*time.Minute)
		first, last = min(first, at), max(last, at)
	}
	if first < 5*time.Second || first > 7*time.Second || last >= 125*time.Second || last < 2*time.Minute {
		t.Errorf("it lands after %s to %s", first, last)
	}
	if at := schedule.Lands(random, 5*time.Second, 0); at != 5*time.Second {
		t.Errorf("one that is not late lands after %s", at)
	}
}

// The violation needs a 3 and a 7; without the 7 it is another one.
func TestShrinkKeepsTheViolation(t *testing.T) {
	broken := func(plan []int) string {
		switch {
		case slices.Contains(plan, 3) && slices.Contains(plan, 7):
			return "both"
		case slices.Contains(plan, 3):
			return "one"
		}
		return ""
	}
	simpler := func(plan []int) (all [][]int) {
		for i := range plan {
			all = append(all, slices.Delete(slices.Clone(plan), i, i+1))
		}
		return all
	}
	if got := schedule.Shrink([]int{1, 3, 5, 7, 9}, simpler, broken); !slices.Equal(got, []int{3, 7}) {
		t.Errorf("%v", got)
	}
	if got := schedule.Shrink([]int{1, 2}, simpler, broken); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("a schedule without a violation: %v", got)
	}
}

func TestSeedsArePlayedOnceEach(t *testing.T) {
	var mu sync.Mutex
	played := map[uint64]int{}
	reports := 0
	seeds := schedule.Seeds{First: 10, Count: 100, Failures: 5, Progress: func(schedule.Report) { reports++ }}
	r := seeds.Run(func(seed uint64) string {
		mu.Lock()
		defer mu.Unlock()
		played[seed]++
		if seed%40 == 0 {
			return "a multiple of 40"
		}
		return ""
	})
	if len(played) != 100 || played[10] != 1 || played[109] != 1 || r.Done != 100 || reports != 100 {
		t.Errorf("%d played, %d reports, %+v", len(played), reports, r)
	}
	if want := []schedule.Failure{{40, "a multiple of 40"}, {80, "a multiple of 40"}}; !slices.Equal(r.Failed, want) {
		t.Errorf("%+v", r.Failed)
	}
	seeds.Failures, seeds.Progress = 1, nil
	if r := seeds.Run(func(uint64) string { return "always" }); r.Done > 50 {
		t.Errorf("%d played after the first violation", r.Done)
	}
}
