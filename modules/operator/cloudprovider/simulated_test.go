package cloudprovider_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// simulated is a CloudProvider over the real client, the real engine and a simulated LKE cluster that has one node of
// its owner's. A second call for the same simulator is a process started again.
func simulated(t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) *cloudprovider.CloudProvider {
	t.Helper()
	return simulatedWith(t, sim, info, lkepool.Config{})
}

// simulatedWith has prices, too.
func simulatedWith(t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo, cfg lkepool.Config) *cloudprovider.CloudProvider {
	t.Helper()
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := lkepools.New(client, lkepools.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
	if err != nil {
		t.Fatal(err)
	}
	market := catalog.NewCatalog(client, catalog.Config{Region: info.Region})
	cfg.Ceilings.HourlyPrice, cfg.Records = market.HourlyUSD, &claims.RecordMap{}
	pools, err := allocator.New(backend, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	class := readyClass()
	class.Status.KubernetesVersion = info.K8sVersion
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class, nodePool(map[string]string{"team": "a"})).Build()
	return cloudprovider.New(kube, over(pools, tier(info.Tier)), market, cloudprovider.Config{Region: info.Region})
}

func newSim(t *testing.T, tier string) (*linodesim.Sim, linodesim.ClusterInfo) {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Realistic()})
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	return sim, info
}

func numbered(n int) *karpv1.NodeClaim {
	return nodeClaim(requests("cpu", "500m"), func(c *karpv1.NodeClaim) {
		c.Name, c.UID, c.Labels["team"] = fmt.Sprintf("default-%03d", n), types.UID(fmt.Sprint("uid-", n)), "a"
	})
}

// launch repeats Create as core does until the NodeClaim has its instance.
func launch(ctx context.Context, t *testing.T, p core.CloudProvider, claim *karpv1.NodeClaim) *karpv1.NodeClaim {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		created, err := p.Create(ctx, claim)
		if err == nil {
			return created
		}
		var createErr *core.CreateError
		if !errors.As(err, &createErr) || createErr.ConditionReason != "Provisioning" {
			t.Errorf("%s: %v", claim.Name, err)
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			t.Errorf("%s has no instance: %v", claim.Name, err)
			return nil
		}
	}
}

// onBothTiers runs a test in a simulated cluster of each tier, in virtual time.
func onBothTiers(t *testing.T, do func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo)) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, info := newSim(t, tier)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				do(ctx, t, sim, info)
			})
		})
	}
}

// Karpenter allows NodeClaims that are made by hand and belong to no NodePool. A refusal of one would keep core from planning for all pods.
func TestANodeClaimWithoutANodePoolIsLaunchedLikeAnyOther(t *testing.T) {
	onBothTiers(t, func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) {
		p := simulated(t, sim, info)
		alone, ordinary := numbered(0), numbered(1)
		delete(alone.Labels, karpv1.NodePoolLabelKey)
		took := map[*karpv1.NodeClaim]time.Duration{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for _, claim := range []*karpv1.NodeClaim{alone, ordinary} {
			group.Go(func() {
				began := time.Now()
				created := launch(ctx, t, p, claim)
				mu.Lock()
				defer mu.Unlock()
				if took[claim] = time.Since(began); created != nil {
					claim.Status.ProviderID = created.Status.ProviderID
				}
			})
		}
		group.Wait()
		if alone.Status.ProviderID == "" || alone.Status.ProviderID == ordinary.Status.ProviderID || took[alone] > took[ordinary]+5*time.Second {
			t.Fatalf("%q after %s, and with a NodePool %q after %s", alone.Status.ProviderID, took[alone], ordinary.Status.ProviderID,
				took[ordinary])
		}
		if reason, err := p.IsDrifted(ctx, alone); reason != "" || err != nil {
			t.Errorf("drifted: %q, %v", reason, err)
		}
		for !core.IsNodeClaimNotFoundError(p.Delete(ctx, alone)) && ctx.Err() == nil {
			time.Sleep(5 * time.Second)
		}
		if list, err := p.List(ctx); err != nil || len(list) != 1 || list[0].Name != ordinary.Name {
			t.Errorf("left: %v, %v", list, err)
		}
	})
}

func TestOneInstancePerNodeClaimOnBothTiers(t *testing.T) {
	const burst = 20
	onBothTiers(t, func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) {
		p := simulated(t, sim, info)
		own := len(sim.Snapshot().Instances)

		var mu sync.Mutex
		var group sync.WaitGroup
		ids := map[string]*karpv1.NodeClaim{}
		for n := range burst {
			group.Go(func() {
				claim := numbered(n)
				if created := launch(ctx, t, p, claim); created != nil {
					mu.Lock()
					defer mu.Unlock()
					claim.Status.ProviderID = created.Status.ProviderID
					ids[created.Status.ProviderID] = claim
				}
			})
		}
		group.Wait()
		if made := len(sim.Snapshot().Instances) - own; len(ids) != burst || made != burst {
			t.Fatalf("%d NodeClaims have %d instances of their own, and %d were made", burst, len(ids), made)
		}

		p = simulated(t, sim, info) // started again
		time.Sleep(time.Minute)
		list, err := p.List(ctx)
		if err != nil || len(list) != burst {
			t.Fatalf("after a restart: %d listed, %v", len(list), err)
		}
		for _, listed := range list {
			claim := ids[listed.Status.ProviderID]
			if claim == nil || listed.Name != claim.Name {
				t.Errorf("listed %s for %s", listed.Name, listed.Status.ProviderID)
				continue
			}
			if reason, err := p.IsDrifted(ctx, claim); reason != "" || err != nil {
				t.Errorf("%s drifted: %q, %v", claim.Name, reason, err)
			}
		}
		for id, claim := range ids {
			group.Go(func() {
				if claim.Name == "default-000" {
					claim.Status.ProviderID = "" // its status was lost
				}
				for !core.IsNodeClaimNotFoundError(p.Delete(ctx, claim)) {
					time.Sleep(5 * time.Second)
					if ctx.Err() != nil {
						t.Errorf("%s is not reported as gone", id)
						return
					}
				}
				if _, err := p.Get(ctx, id); !core.IsNodeClaimNotFoundError(err) {
					t.Errorf("%s: got %v", id, err)
				}
			})
		}
		group.Wait()
		state := sim.Snapshot()
		if left := len(state.Instances) - own; left != 0 {
			t.Errorf("%d instances are left", left)
		}
		if pools := len(state.Clusters[0].Pools); pools != 1 {
			t.Errorf("%d pools, want the owner's alone", pools)
		}
	})
}

// A plan without capacity is no longer offered, the others are; an account limit ends the offers of all plans.
func TestRefusalsOfTheAPIEndOffers(t *testing.T) {
	tests := []struct {
		name   string
		refuse func(*linodesim.Sim)
		others bool // are still offered
	}{
		{"no capacity for a plan", func(s *linodesim.Sim) {
			s.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-1", Region: "us-ord"})
		}, true},
		{"account limit", func(s *linodesim.Sim) { s.SetAccountLimit(1) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, info := newSim(t, linodesim.Standard)
				p := simulated(t, sim, info)
				tt.refuse(sim)
				_, err := p.Create(t.Context(), numbered(1))
				if !core.IsInsufficientCapacityError(err) {
					t.Fatalf("got %v, want InsufficientCapacity", err)
				}
				all, err := p.GetInstanceTypes(t.Context(), nodePool(nil))
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range all {
					if available := len(it.Offerings.Available()) > 0; it.Name == "g6-standard-1" && available {
						t.Error("the refused plan is still offered")
					} else if it.Name == "g6-standard-2" && available != tt.others {
						t.Errorf("another plan is offered: %v", available)
					}
				}
			})
		})
	}
}

// One 5xx of the API does not make plans unavailable.
func TestAServerErrorMarksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, info := newSim(t, linodesim.Standard)
		p := simulated(t, sim, info)
		rule := sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 503}, Method: "POST"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var createErr *core.CreateError
		if _, err := p.Create(ctx, numbered(1)); !errors.As(err, &createErr) {
			t.Errorf("got %v, want a CreateError", err)
		}
		sim.Heal(rule)
		all, err := p.GetInstanceTypes(ctx, nodePool(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range all {
			if it.Name == "g6-standard-1" && len(it.Offerings.Available()) == 0 {
				t.Error("a server error took a plan out")
			}
		}
		time.Sleep(time.Minute)
		if created := launch(ctx, t, p, numbered(1)); created == nil {
			t.Error("no instance after the API had recovered")
		}
	})
}
