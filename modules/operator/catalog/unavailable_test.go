package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// refuse lets a launch of a plan be refused, as cloudprovider does.
func refuse(c *catalog.Catalog, plan string, err claims.Error) {
	c.Launches().Failed(launches.Launch{Plan: plan, Larger: c.AtLeastAsLarge(plan)}, &err)
}

func TestARefusedPlanIsUnavailableForAWhile(t *testing.T) {
	tests := []struct {
		err   claims.Error
		lasts time.Duration
	}{
		{claims.Error{Kind: claims.KindInsufficientCapacity}, 3 * time.Minute},
		{claims.Error{Kind: claims.KindInvalid, Field: claims.FieldInstanceType}, 30 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(string(tt.err.Kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := simulated(t, catalog.Config{Region: "us-ord"})
				all := len(available(c))
				refuse(c, "g6-standard-2", tt.err)
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
				_, c := simulated(t, catalog.Config{Region: "us-ord"})
				before := available(c)
				refuse(c, tt.refused, claims.Error{Kind: claims.KindQuotaExceeded})
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
				time.Sleep(time.Second)
				if after := available(c); !slices.Equal(before, after) {
					t.Errorf("offered before: %v\nafterwards: %v", before, after)
				}
			})
		})
	}
}
