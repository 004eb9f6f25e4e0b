package linodesim_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Many callers at once, each with a pool of its own, leave what was there
// before; the audit log balances.
func TestConcurrentCallers(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		t.Run(tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: 5, NoRateLimits: true})
				info, path := addCluster(t, sim, tier)
				sim.Fail(linodesim.Rule{Method: "GET", Probability: 0.2, View: linodesim.View{Stale: 5 * time.Second}})
				follow(t.Context(), sim)
				var callers sync.WaitGroup
				for range 40 {
					callers.Go(func() { workPool(t, api, path) })
				}
				callers.Wait()
				time.Sleep(time.Hour)

				s := sim.Snapshot()
				if len(s.Clusters[0].Pools) != 1 || len(s.Instances) != 1 || s.Instances[0].PoolID != info.Pools[0].ID {
					t.Errorf("left: %d pools, %d Linodes", len(s.Clusters[0].Pools), len(s.Instances))
				}
				n := map[string]int{}
				for _, e := range sim.Audit() {
					n[e.Action]++
				}
				if n["node.request"] != 1+40*3 || n["node.remove"] != 40*3 || n["instance.create"] != 1+n["instance.gone"] {
					t.Errorf("audit %v", n)
				}
			})
		})
	}
}

// workPool makes a pool, waits for its Linodes, tags one, scales, and removes
// everything again.
func workPool(t *testing.T, api client, path string) {
	made := api.do("POST", path+"/pools", `{"type":"g6-standard-2","count":2}`)
	if made.status != 200 {
		t.Errorf("creating: %d: %s", made.status, made.raw)
		return
	}
	pool := int(made.body["id"].(float64))
	one := fmt.Sprintf("%s/pools/%d", path, pool)
	for len(workers(api.sim, pool)) < 2 {
		time.Sleep(time.Second)
	}
	linode := workers(api.sim, pool)[0]
	for _, step := range []struct{ method, path, body string }{
		{"PUT", fmt.Sprintf("/v4beta/linode/instances/%d", linode), `{"tags":["mine"]}`},
		{"PUT", one, `{"count":3}`},
		{"PUT", one, `{"count":2}`},
		{"DELETE", one, ""},
	} {
		if got := api.do(step.method, step.path, step.body); got.status != 200 {
			t.Errorf("%s %s: %d: %s", step.method, step.path, got.status, got.raw)
		}
	}
}
