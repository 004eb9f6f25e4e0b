package metrics_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/samber/lo"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// The number of series does not grow: 30 claims, releases and failures leave as many series as one of each, and no
// label holds an ID, a name or the token.
func TestLabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const token = "s3cret-token-of-the-test"
		registry := prometheus.NewRegistry()
		m := metrics.New(registry)
		sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Fast(), Tokens: map[string][]string{token: {"*"}}})
		if err != nil {
			t.Fatal(err)
		}
		info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := linode.New(linode.Config{Token: linode.StaticToken(token), Transport: sim.Transport(), Observer: m.APICall})
		if err != nil {
			t.Fatal(err)
		}
		backend, err := lke.New(client, lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
		if err != nil {
			t.Fatal(err)
		}
		pools, err := allocator.New(backend, lkepool.Config{Records: &claims.RecordMap{}, Observer: claims.Observer{Action: m.Action}})
		if err != nil {
			t.Fatal(err)
		}
		round := func(claimant string) {
			node, err := pools.Claim(t.Context(),
				lkepool.Request{Claimant: claims.Claimant{Name: claimant}, Key: lkepool.Key{NodePool: "p", InstanceType: "g6-standard-1"}})
			if err != nil {
				t.Fatal(err)
			}
			m.Claim("p", "claimed", time.Second)
			for claims.KindOf(pools.Release(t.Context(), node.InstanceID, claims.Claimant{Name: claimant})) != claims.KindNotFound {
				time.Sleep(time.Second)
			}
			m.Collected(claims.Collected{Removed: []claims.Node{node.Node}})
			_, err = client.GetInstance(t.Context(), node.InstanceID+1000)
			var apiErr *linode.Error
			if !errors.As(err, &apiErr) {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			round("claim-" + strconv.Itoa(i))
		}
		first := series(t, registry)
		for i := range 30 {
			round("claim-" + strings.Repeat("x", i%5) + string(rune('a'+i%26)))
		}
		// A request that none of the first rounds needed adds a series, and a label without bound one with each round.
		again := series(t, registry)
		if len(again) > len(first)+10 {
			t.Errorf("%d series at first, %d after 30 rounds; new: %q", len(first), len(again), lo.Without(again, first...))
		}
		number := regexp.MustCompile(`[0-9]{4,}`)
		for _, name := range again {
			if number.MatchString(name) || strings.Contains(name, "claim-") || strings.Contains(name, token) {
				t.Errorf("the label of %s is not bounded", name)
			}
		}
	})
}

// series lists all series by name and labels.
func series(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			names = append(names, name)
		}
	}
	return names
}
