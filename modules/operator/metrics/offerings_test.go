package metrics_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// An offering is at 0 while it is believed to be sold out, and back at 1 afterwards although nothing is read in between.
func TestOfferingsFollowTheCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		m := metrics.New(registry)
		client, err := linode.New(linode.Config{Token: linode.StaticToken("t"), Transport: hostile()})
		if err != nil {
			t.Fatal(err)
		}
		market := catalog.NewCatalog(client, catalog.Config{Region: "us-ord", Launches: launches.New(launches.Config{OnRest: m.Refused})})
		if err := market.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		value := func(name, instanceType string) float64 {
			t.Helper()
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				for _, metric := range family.GetMetric() {
					for _, label := range metric.GetLabel() {
						if family.GetName() == name && label.GetName() == "instance_type" && label.GetValue() == instanceType {
							return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
						}
					}
				}
			}
			return -1
		}
		const available = "karpenter_cloudprovider_instance_type_offering_available"
		// Outcomes of claims begin at 0, so that an alert on an increase sees the first one.
		if n, outcomes := len(series(t, registry)), len(launches.Outcomes()); n != outcomes {
			t.Errorf("%d series before there is a catalog, want one for each of %d outcomes", n, outcomes)
		}
		m.Offerings(market)
		for name, want := range map[string]float64{
			available: 1,
			"karpenter_cloudprovider_instance_type_offering_price_estimate": 0.036,
			"karpenter_cloudprovider_instance_type_cpu_cores":               2,
			"karpenter_cloudprovider_instance_type_memory_bytes":            4022024 << 10,
			"karpenter_linode_offering_refusals_total":                      -1,
		} {
			if got := value(name, "g6-standard-2"); got != want {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		if got := value(available, "g6-dedicated-2"); got != 0 {
			t.Errorf("a plan that the API lists as unavailable: got %v", got)
		}
		soldOut := func() {
			market.Launches().Failed(launches.Launch{Plan: "g6-standard-2"}, &claims.Error{Kind: claims.KindInsufficientCapacity})
		}
		for range 20 { // NodeClaims that are refused at the same time
			soldOut()
		}
		if got := value("karpenter_linode_offering_refusals_total", "g6-standard-2"); got != 1 {
			t.Errorf("one marking is counted as %v", got)
		}
		if got := value(available, "g6-standard-2"); got != 0 {
			t.Errorf("while it is marked: got %v", got)
		}
		time.Sleep(3 * time.Minute)
		if got := value(available, "g6-standard-2"); got != 1 {
			t.Errorf("after the mark's end: got %v", got)
		}
		soldOut()
		if got := value("karpenter_linode_offering_refusals_total", "g6-standard-2"); got != 2 {
			t.Errorf("a second marking: the counter is at %v", got)
		}
	})
}
