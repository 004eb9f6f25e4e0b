package lke_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/pooltest"
)

var template = lkepool.Template{
	Labels: map[string]string{"example.com/team": "a"},
	Taints: []lkepool.Taint{{Key: "example.com/only", Value: "a", Effect: "NoSchedule"}},
}

// backend is one over a simulated cluster, in which another owner has a pool.
func backend(t *testing.T, tier string, cfg linodesim.Config) (*linodesim.Sim, linodesim.ClusterInfo, lkepool.Backend) {
	t.Helper()
	cfg.ValidateAnswers = true
	sim, err := linodesim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.AddCluster(linodesim.ClusterSpec{
		Label: "demo", Tier: tier, Settled: true, Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := lke.New(client, lke.Cluster{ID: cluster.ID, Name: "demo", Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	return sim, cluster, b
}

func TestConformance(t *testing.T) {
	for _, tier := range []string{lke.Standard, lke.Enterprise} {
		for _, profile := range []linodesim.Profile{linodesim.Fast(), linodesim.Realistic(), linodesim.Slow()} {
			t.Run(tier+"/"+profile.Name, func(t *testing.T) {
				pooltest.Run(t, synctest.Test, func(t *testing.T) pooltest.Harness {
					sim, _, b := backend(t, tier, linodesim.Config{Profile: profile, Seed: 1})
					return pooltest.Harness{
						Backend: b, Stall: func() { sim.StallNodes(0, 1) },
						Key: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2", Template: template},
						BadKey: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2", Template: lkepool.Template{
							Labels: map[string]string{"node-role.kubernetes.io/worker": ""},
						}},
						Patience: 10 * time.Minute,
					}
				})
			})
		}
	}
}

// A pool of isolated nodes is made on both tiers, is read back as such, and its nodes have no public address.
func TestIsolationIsPartOfTheTemplate(t *testing.T) {
	for _, tier := range []string{lke.Standard, lke.Enterprise} {
		sim, _, b := backend(t, tier, linodesim.Config{Profile: linodesim.Instant(), Behaviour: linodesim.Behaviour{AllowIsolation: true}})
		isolated := lkepool.Template{Isolation: lkepool.Isolation{PublicIPv4: "false"}}
		plain, key := lkepool.Key{InstanceType: "g6-standard-2"}, lkepool.Key{InstanceType: "g6-standard-2", Template: isolated}
		if plain.Hash() == key.Hash() {
			t.Error("isolated nodes would come from the pool of others")
		}
		pool, err := b.Create(t.Context(), lkepool.PoolSpec{Key: key, Count: 1, Tags: []string{"test"}})
		if err != nil {
			t.Fatal(err)
		}
		if pool.Template.Isolation != isolated.Isolation {
			t.Errorf("%s: the pool has isolation %+v", tier, pool.Template.Isolation)
		}
		for _, instance := range sim.Snapshot().Instances {
			if public := instance.PublicIPv4 != ""; instance.PoolID == pool.ID && (public || instance.IPv6 == "") {
				t.Errorf("%s: instance %d has public addresses %q and %q", tier, instance.ID, instance.PublicIPv4, instance.IPv6)
			}
		}
	}
}
