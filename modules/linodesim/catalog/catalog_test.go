package catalog_test

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
)

// The numbers of the API's list on 2026-09-17, read without a token; a later list has its own numbers.
func TestThePlansAndRegionsThatWereListed(t *testing.T) {
	c := catalog.New()
	if _, err := time.Parse(time.DateOnly, c.Date); err != nil {
		t.Errorf("the date: %v", err)
	}
	if c.Date != "2026-09-17" {
		t.Skip("the catalog is of " + c.Date + ", and the figures below are of 2026-09-17: a newer list has its own")
	}
	classes := map[api.LinodeTypeClass]int{}
	for _, plan := range c.Types {
		classes[plan.Class]++
	}
	want := map[api.LinodeTypeClass]int{"nanode": 1, "standard": 9, "highmem": 5, "dedicated": 33, "gpu": 13, "premium": 8, "accelerated": 6}
	for class, n := range want {
		if classes[class] != n {
			t.Errorf("%d plans of class %s, want %d", classes[class], class, n)
		}
	}
	if len(c.Types) != 75 || len(c.Regions) != 47 {
		t.Errorf("%d plans in %d regions, want 75 in 47", len(c.Types), len(c.Regions))
	}
}

// A GPU's price stands in regions, or in a contract.
func TestGPUPlansHaveABasePriceOf0(t *testing.T) {
	c := catalog.New()
	for _, plan := range c.Types {
		if plan.Class == "gpu" && (plan.Price.Hourly != 0 || plan.Price.Monthly != 0) {
			t.Errorf("%s costs %v", plan.ID, plan.Price)
		}
	}
	if plan, ok := c.Type("g2-gpu-rtx4000a1-s"); !ok || catalog.HourlyIn(plan, "us-ord") != 0.52 || catalog.HourlyIn(plan, "us-east") != 0 {
		t.Errorf("g2-gpu-rtx4000a1-s costs %v, %v", plan.Price, plan.RegionPrices)
	}
}

// A value that is not known is 0 and named, and nothing else is 0.
func TestWhatIsNotKnownIsNamed(t *testing.T) {
	c := catalog.New()
	for _, plan := range c.Types {
		missing := c.Missing[plan.ID]
		for field, value := range map[string]int{"vcpus": plan.VCPUs, "memory": plan.Memory, "disk": plan.Disk, "network_out": plan.NetworkOut} {
			if value == 0 && !slices.Contains(missing, field) {
				t.Errorf("%s: %s is 0 and not named as missing", plan.ID, field)
			}
		}
		if plan.Price.Hourly == 0 && plan.Class != "gpu" && !slices.ContainsFunc(missing, func(f string) bool {
			return f == "price" || f == "price.hourly"
		}) {
			t.Errorf("%s: price is 0 and not named as missing", plan.ID)
		}
		if regions, restricted := c.Offered[plan.ID]; slices.Contains(missing, "availability") && (!restricted || len(regions) > 0) {
			t.Errorf("%s: offered in %v, and its availability is not known", plan.ID, regions)
		}
	}
	for plan := range c.Missing {
		if _, ok := c.Type(plan); !ok {
			t.Errorf("missing names %s, which is no plan", plan)
		}
	}
}

func TestEveryRegionThatOffersAPlanExists(t *testing.T) {
	c := catalog.New()
	for plan, regions := range c.Offered {
		if _, ok := c.Type(plan); !ok {
			t.Errorf("offered names %s, which is no plan", plan)
		}
		for _, region := range regions {
			if r, ok := c.Region(region); !ok {
				t.Errorf("%s is offered in %s, which is no region", plan, region)
			} else if slices.Contains([]string{"g7-premium-2", "g7-premium-56"}, plan) && !catalog.Has(r, "Premium Plans") {
				t.Errorf("%s is offered in %s, which has no premium plans", plan, region)
			}
		}
	}
	for id, want := range map[string]bool{"us-ord": true, "us-den-1": false, "no-osl-1": true} {
		if r, _ := c.Region(id); catalog.Has(r, catalog.CapKubernetes) != want {
			t.Errorf("%s has Kubernetes: %v, want %v", id, !want, want)
		}
	}
}

func TestTheFileIsAsEncodeWritesIt(t *testing.T) {
	want, err := catalog.New().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("facts.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("facts.json differs from what Encode writes (%v): run make catalogue, or write what Encode returns", err)
	}
}
