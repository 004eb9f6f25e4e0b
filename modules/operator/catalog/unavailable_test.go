package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func TestARefusedPlanIsUnavailableForAWhile(t *testing.T) {
	tests := []struct {
		cause catalog.Cause
		lasts time.Duration
	}{{catalog.NoCapacity, 3 * time.Minute}, {catalog.PlanRefused, 30 * time.Minute}}
	for _, tt := range tests {
		t.Run(string(tt.cause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := simulated(t, catalog.Config{Region: "us-ord"})
				all := len(available(c))
				c.MarkUnavailable("g6-standard-2", tt.cause)
				time.Sleep(tt.lasts - time.Second)
				if left := available(c); len(left) != all-1 || slices.Contains(left, "g6-standard-2") {
					t.Errorf("before its end: %s", strings.Join(left, " "))
				}
				time.Sleep(time.Second)
				if got := len(available(c)); got != all {
					t.Errorf("after its end %d of %d are available", got, all)
				}
			})
		})
	}
}

func TestALongerBeliefIsNotShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := simulated(t, catalog.Config{Region: "us-ord"})
		c.MarkUnavailable("g6-standard-2", catalog.PlanRefused)
		c.MarkUnavailable("g6-standard-2", catalog.NoCapacity)
		time.Sleep(10 * time.Minute)
		if slices.Contains(available(c), "g6-standard-2") {
			t.Error("available again too early")
		}
	})
}

// An account's limit takes out whatever is at least as large, for as long as it is believed; smaller plans and plans
// that have less of anything stay.
func TestAnAccountLimitConcernsLargerPlansToo(t *testing.T) {
	tests := []struct {
		refused    string
		out, stays []string
	}{
		{"g6-standard-1", []string{"g6-standard-2", "g6-dedicated-2", "g6-standard-20", "g2-gpu-rtx4000a1-s"}, nil},
		{"g6-standard-4", []string{"g6-standard-6", "g6-dedicated-4"}, []string{"g6-standard-1", "g6-standard-2", "g6-dedicated-2"}},
		{"g2-gpu-rtx4000a1-s", []string{"g2-gpu-rtx4000a2-s"}, []string{"g6-standard-1", "g6-standard-20"}},
	}
	for _, tt := range tests {
		t.Run(tt.refused, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []catalog.Refusal
				_, c := simulated(t, catalog.Config{Region: "us-ord", OnRefused: func(r catalog.Refusal) { told = append(told, r) }})
				before := available(c)
				c.MarkUnavailable(tt.refused, catalog.AccountLimit)
				time.Sleep(3*time.Minute - time.Second)
				during := available(c)
				for _, name := range append(tt.out, tt.refused) {
					if !slices.Contains(before, name) {
						t.Errorf("%s was not there before: the test shows nothing", name)
					}
					if slices.Contains(during, name) {
						t.Errorf("%s is still offered", name)
					}
				}
				for _, name := range tt.stays {
					if !slices.Contains(during, name) {
						t.Errorf("%s is not offered any more", name)
					}
				}
				if len(told) != 1 || told[0].InstanceType != tt.refused || told[0].Others < len(tt.out) || told[0].Lasts != 3*time.Minute {
					t.Errorf("told %+v", told)
				}
				time.Sleep(time.Second)
				if after := available(c); !slices.Equal(before, after) {
					t.Errorf("offered before: %v\nafterwards: %v", before, after)
				}
			})
		})
	}
}

// Twenty NodeClaims that are refused at the same time are one marking; another cause, and a refusal after the mark has
// ended, are news.
func TestAMarkingIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []catalog.Cause
		_, c := simulated(t, catalog.Config{Region: "us-ord", OnRefused: func(r catalog.Refusal) { told = append(told, r.Cause) }})
		for range 20 {
			c.MarkUnavailable("g6-standard-1", catalog.NoCapacity)
			time.Sleep(time.Second)
		}
		c.MarkUnavailable("g6-standard-1", catalog.AccountLimit)
		c.MarkUnavailable("g6-standard-1", catalog.AccountLimit)
		time.Sleep(3 * time.Minute)
		c.MarkUnavailable("g6-standard-1", catalog.AccountLimit)
		want := []catalog.Cause{catalog.NoCapacity, catalog.AccountLimit, catalog.AccountLimit}
		if !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestMarksThatCannotBeAreNotTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Minute)
		for name, mark := range map[string]catalog.Mark{
			"an end that its cause does not allow": {Plan: "g6-standard-2", Cause: catalog.Ceiling, Ends: time.Now().Add(time.Hour)},
			"an end in the past":                   {Plan: "g6-standard-2", Cause: catalog.NoCapacity, Ends: time.Now().Add(-time.Second)},
			"an unknown cause":                     {Plan: "g6-standard-2", Cause: "Weather", Ends: soon},
			"no plan":                              {Cause: catalog.NoCapacity, Ends: soon},
		} {
			c := catalog.NewCatalog(nil, catalog.Config{Region: "us-ord"})
			c.TakeUp([]catalog.Mark{mark})
			if cause, is := c.Unavailable(mark.Plan); is {
				t.Errorf("%s: %q", name, cause)
			}
		}
		c := catalog.NewCatalog(nil, catalog.Config{Region: "us-ord"})
		c.TakeUp([]catalog.Mark{{Plan: "g6-standard-2", Cause: catalog.NoCapacity, Ends: soon}})
		if cause, is := c.Unavailable("g6-standard-2"); !is || cause != catalog.NoCapacity {
			t.Errorf("a mark that counts: %q", cause)
		}
		time.Sleep(time.Minute)
		if _, is := c.Unavailable("g6-standard-2"); is {
			t.Error("it does not end when it did before")
		}
	})
}
