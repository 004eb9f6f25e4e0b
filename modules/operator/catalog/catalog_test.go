package catalog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func simulated(t *testing.T, cfg catalog.Config) (*linodesim.Sim, *catalog.Catalog) {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.NewCatalog(client, cfg)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sim, c
}

func named(t *testing.T, all []*cloudprovider.InstanceType, name string) *cloudprovider.InstanceType {
	t.Helper()
	for _, it := range all {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("%s is missing", name)
	return nil
}

// The catalog offers exactly the plans that LKE allows and whose size is known, without accelerated plans.
func TestPlansThatLKERefusesAreLeftOut(t *testing.T) {
	sim, c := simulated(t, catalog.Config{Region: "us-ord"})
	offered := map[string]bool{}
	for _, it := range c.InstanceTypes(nil) {
		offered[it.Name] = true
	}
	for _, plan := range sim.Catalog().Types {
		known := plan.VCPUs > 0 && plan.Memory > 0 && plan.Disk > 0 && plan.Class != "accelerated"
		if allowed := sim.Catalog().AllowedInLKE(plan.ID); offered[plan.ID] != (allowed && known) {
			t.Errorf("%s: offered %v, LKE allows it: %v, its size is known: %v", plan.ID, offered[plan.ID], allowed, known)
		}
	}
	if offered["g6-nanode-1"] || offered["g1-gpu-rtx6000-1"] || !offered["g6-standard-1"] {
		t.Errorf("offered: %v", offered)
	}
}

// Availability is the region's. A plan that the region does not list is available.
func TestAvailabilityIsTheRegions(t *testing.T) {
	for _, region := range []string{"us-ord", "us-east", "id-cgk"} {
		sim, c := simulated(t, catalog.Config{Region: region})
		rows := map[string]bool{}
		for _, row := range sim.Catalog().AvailabilityOf(region) {
			rows[row.Plan] = row.Available
		}
		unlisted, unavailable := 0, 0
		for _, it := range c.InstanceTypes(nil) {
			available, listed := rows[it.Name]
			if !listed {
				unlisted++
			} else if !available {
				unavailable++
			}
			if got := len(it.Offerings.Available()) == 1; got != (available || !listed) {
				t.Errorf("%s in %s: available %v, the API says %v, listed %v", it.Name, region, got, available, listed)
			}
		}
		if unlisted == 0 {
			t.Errorf("%s: every plan is listed; the test shows nothing", region)
		}
	}
}

func TestPricesComeFromTheAPI(t *testing.T) {
	for region, want := range map[string]float64{"us-ord": 0.036, "id-cgk": 0.043, "br-gru": 0.05} {
		_, c := simulated(t, catalog.Config{Region: region})
		if got := named(t, c.InstanceTypes(nil), "g6-standard-2").Offerings[0].Price; got != want {
			t.Errorf("%s: got %v, want %v", region, got, want)
		}
	}
}

// The catalog is read at intervals. A read that fails or hangs leaves the plans of the last one.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures []error
		sim, c := simulated(t, catalog.Config{Region: "us-ord", OnRefresh: func(err error) {
			if err != nil && !errors.Is(err, context.Canceled) {
				failures = append(failures, err)
			}
		}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Start(ctx) }()
		before := typeReads(sim)

		rule := sim.Fail(linodesim.Rule{Route: "/linode/types", Answer: linodesim.Answer{Status: 400, Reason: "no"}})
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if len(failures) != 1 || len(c.InstanceTypes(nil)) == 0 {
			t.Errorf("%d failures reported, %d types left", len(failures), len(c.InstanceTypes(nil)))
		}
		sim.Heal(rule)

		sim.Fail(linodesim.Rule{Route: "/linode/types", Delay: time.Hour})
		time.Sleep(5 * time.Minute)
		start := time.Now()
		if len(c.InstanceTypes(nil)) == 0 || time.Since(start) != 0 {
			t.Errorf("InstanceTypes took %s while a read hangs", time.Since(start))
		}
		if n := typeReads(sim) - before; n < 1 {
			t.Errorf("read %d times in 10 minutes", n)
		}
		stop()
		if err := <-done; err != nil || len(failures) != 1 {
			t.Errorf("stopped with %v and %d failures", err, len(failures))
		}
	})
}

func typeReads(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		if call.Route == "/linode/types" {
			n += call.N
		}
	}
	return n
}

// Kubelet settings that differ in their capacity never share an entry of the cache.
func TestKubeletSettingsAreInTheCacheKey(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord", Mode: v1alpha1.ModeInstance})
	number := func(n int32) *int32 { return &n }
	settings := []*v1alpha1.KubeletConfiguration{
		nil,
		{MaxPods: number(30)},
		{PodsPerCore: number(5)},
		{KubeReserved: map[string]v1alpha1.ReservedQuantity{"memory": "1Gi"}},
		{SystemReserved: map[string]v1alpha1.ReservedQuantity{"memory": "512Mi"}},
		{EvictionHard: map[string]v1alpha1.EvictionThreshold{"memory.available": "10%"}},
		{EvictionHard: map[string]v1alpha1.EvictionThreshold{"nodefs.available": "50%"}},
	}
	seen := map[string]int{}
	for range 2 { // the second time from memory
		for i, kubelet := range settings {
			it := named(t, c.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{Kubelet: kubelet}), "g6-standard-4")
			allocatable := it.Allocatable()
			figures := allocatable.Memory().String() + " " + allocatable.Pods().String() + " " + allocatable.StorageEphemeral().String()
			if other, ok := seen[figures]; ok && other != i {
				t.Errorf("settings %d and %d give the same: %s", other, i, figures)
			}
			seen[figures] = i
		}
	}
	if len(seen) != len(settings) {
		t.Errorf("%d settings gave %d results", len(settings), len(seen))
	}
}

func available(c *catalog.Catalog) []string {
	var names []string
	for _, it := range c.InstanceTypes(nil) {
		if len(it.Offerings.Available()) > 0 {
			names = append(names, it.Name)
		}
	}
	return names
}

func TestAPlanWithoutAMonthlyPriceCostsItsHours(t *testing.T) {
	plan := catalog.Plan{Price: api.Price{Hourly: 0.07}, RegionPrices: []api.RegionPrice{{ID: "id-cgk", Hourly: 0.08, Monthly: 50}}}
	if got := plan.PriceIn("us-ord"); got != (api.Price{Hourly: 0.07, Monthly: 51.1}) {
		t.Error(got)
	}
	if got := plan.PriceIn("id-cgk"); got != (api.Price{Hourly: 0.08, Monthly: 50}) {
		t.Error(got)
	}
}
