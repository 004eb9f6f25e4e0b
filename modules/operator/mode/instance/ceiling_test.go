package instance

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// The setting maxHourlyPrice bounds what all Linodes of the cluster cost together. An operator that begins waits for two minutes of
// virtual time before the first one.
func TestTheHourlyPriceOfAllLinodesIsBounded(t *testing.T) { synctest.Test(t, priceIsBounded) }

func priceIsBounded(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	prices := map[string]float64{"g6-nanode-1": 0.0075, "g6-standard-1": 0.018}
	manager, err := newManager(Cluster{Name: "own", Region: "us-ord"}, "cluster-uid", mode.Deps{
		Linode: api, Metrics: metrics.New(prometheus.NewRegistry()), Options: options.Options{MaxHourlyPrice: 0.03, SettleTime: 4 * time.Second},
		HourlyPrice: func(instanceType string) (float64, bool) { price, known := prices[instanceType]; return price, known },
	})
	if err != nil {
		t.Fatal(err)
	}
	manager.Begin(claims.Ended)
	for _, test := range []struct{ name, plan, field string }{
		{"first", "g6-standard-1", ""}, {"second", "g6-standard-1", claims.FieldMaxHourlyPrice}, {"cheaper", "g6-nanode-1", ""},
		{"unpriced", "g6-standard-2", claims.FieldMaxHourlyPrice},
	} {
		_, err := manager.Create(t.Context(), instances.Spec{Claimant: claims.Claimant{Name: test.name, UID: test.name}, InstanceType: test.plan,
			Region: "us-ord", Image: "linode/debian12"})
		e, _ := err.(*claims.Error) //nolint:errorlint // the engine's own
		if (err == nil) != (test.field == "") || e != nil && (e.Kind != claims.KindQuotaExceeded || e.Field != test.field) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if n := len(sim.Snapshot().Instances); n != 2 {
		t.Errorf("%d Linodes were made", n)
	}
}
