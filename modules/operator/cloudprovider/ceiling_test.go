package cloudprovider_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// A client that makes NodeClaims itself, past every NodePool's limits, gets as many nodes as the settings allow. Purchases beyond it are
// refused without a request that changes anything.
func TestNodeClaimsMadeByHandStopAtTheCeilings(t *testing.T) {
	for name, cfg := range map[string]lkepool.Config{"nodes": {Ceilings: claims.Ceilings{MaxNodes: 3}},
		"price": {Ceilings: claims.Ceilings{MaxHourlyPrice: 3 * 0.018}}} {
		for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
			t.Run(name+"/"+tier, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sim, info := newSim(t, tier)
					p := simulatedWith(t, sim, info, cfg)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					for n := range 3 {
						if launch(ctx, t, p, numbered(n)) == nil {
							t.Fatalf("NodeClaim %d has no node", n)
						}
					}
					before := requestsThatChange(sim)
					for n := 3; n < 30; n++ {
						if _, err := p.Create(ctx, numbered(n)); !core.IsInsufficientCapacityError(err) {
							t.Errorf("NodeClaim %d: %v", n, err)
						}
						time.Sleep(20 * time.Second)
					}
					if after := requestsThatChange(sim); after != before {
						t.Errorf("%d requests that change something for NodeClaims beyond the ceiling", after-before)
					}
					if n := len(sim.Snapshot().Instances); n != 3+1 {
						t.Errorf("%d Linodes, want 3 and the one that is the user's", n)
					}
					// A node in deletion makes room.
					for !core.IsNodeClaimNotFoundError(p.Delete(ctx, numbered(0))) {
						time.Sleep(5 * time.Second)
					}
					time.Sleep(2 * time.Minute) // no plan is left alone any more
					if launch(ctx, t, p, numbered(100)) == nil {
						t.Error("no node after one has gone")
					}
				})
			})
		}
	}
}

func requestsThatChange(sim *linodesim.Sim) (n int) {
	for _, call := range sim.Calls() {
		if call.Method != "GET" {
			n += call.N
		}
	}
	return n
}

// The event on the NodePool names the setting as a user knows it, and how many nodes there are.
func TestTheCeilingIsNamedByItsSetting(t *testing.T) {
	for name, c := range map[string]struct {
		ceilings claims.Ceilings
		says     []string
	}{
		"nodes": {claims.Ceilings{MaxNodes: 2}, []string{"settings.maxNodes (MAX_NODES)",
			"2 nodes exist or are being made, and at most 2 are allowed"}},
		"price": {claims.Ceilings{MaxHourlyPrice: 0.04}, []string{"settings.maxHourlyPrice (MAX_HOURLY_PRICE)",
			"the nodes cost 0.0360 per hour, a g6-standard-1 costs 0.0180, and at most 0.04 is allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.ceilings.HourlyPrice = func(string) (float64, bool) { return 0.018, true }
			_, refusal := c.ceilings.Fit("claim", "g6-standard-1", 1, map[string]int{"g6-standard-1": 2})
			told := record.NewFakeRecorder(10)
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
			p := cloudprovider.New(kube, over(&scripted{t: t, claim: func(context.Context, request) (node, error) { return node{}, refusal }}),
				market(t), cloudprovider.Config{Region: "us-ord", Events: quietly(told)})
			if _, err := p.Create(t.Context(), numbered(0)); !core.IsInsufficientCapacityError(err) {
				t.Fatal(err)
			}
			text := <-told.Events
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q lacks %q", text, part)
				}
			}
			if strings.Contains(text, "Config.") || strings.Contains(text, "QuotaExceeded") {
				t.Error(text)
			}
		})
	}
}
