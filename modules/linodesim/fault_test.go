package linodesim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestFaultRules(t *testing.T) {
	const pools = "/lke/clusters/{clusterId}/pools"
	for _, c := range []struct {
		name     string
		rule     linodesim.Rule
		statuses []int // of successive POSTs that make a pool; 0 = no answer
		pools    int   // afterwards, beside the cluster's first
		check    func(t *testing.T, first reply)
	}{
		{name: "none", rule: linodesim.Rule{}, statuses: []int{200, 200}, pools: 2},
		{name: "status", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 503}}, statuses: []int{503, 503}, pools: 0,
			check: func(t *testing.T, r reply) {
				if _, reason := r.reason(); reason != "Service Unavailable" || r.header.Get("Retry-After") != "" {
					t.Errorf("reason %q, Retry-After %q", reason, r.header.Get("Retry-After"))
				}
			}},
		{name: "status with Retry-After", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 429, RetryAfter: 7 * time.Second}, Times: 1},
			statuses: []int{429, 200}, pools: 1,
			check: func(t *testing.T, r reply) {
				if r.header.Get("Retry-After") != "7" {
					t.Errorf("Retry-After %q, want 7", r.header.Get("Retry-After"))
				}
			}},
		{name: "reason, field and header",
			rule: linodesim.Rule{Answer: linodesim.Answer{Status: 400, Reason: "Linode busy.", Field: "type",
				Header: http.Header{"X-Extra": {"1"}}}}, statuses: []int{400},
			check: func(t *testing.T, r reply) {
				if field, reason := r.reason(); field != "type" || reason != "Linode busy." || r.header.Get("X-Extra") != "1" {
					t.Errorf("[%s] %q, header %v", field, reason, r.header)
				}
			}},
		{name: "a proxy's page", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 502, HTML: true}}, statuses: []int{502},
			check: func(t *testing.T, r reply) {
				if r.header.Get("Content-Type") != "text/html" || !strings.HasPrefix(r.raw, "<html>") {
					t.Errorf("%s: %s", r.header.Get("Content-Type"), r.raw)
				}
			}},
		{name: "the second only", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Nth: 2}, statuses: []int{200, 500, 200}, pools: 2},
		{name: "another method", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Method: "GET"}, statuses: []int{200}, pools: 1},
		{name: "another route", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Route: pools + "/{poolId}"}, statuses: []int{200},
			pools: 1},
		{name: "this route", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Route: pools, Method: "POST"}, statuses: []int{500}},
		{name: "a condition", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500},
			Match: func(r *http.Request) bool { return r.URL.Path == "/x" }}, statuses: []int{200}, pools: 1},
		{name: "never by chance", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, Probability: 1e-12}, statuses: []int{200, 200},
			pools: 2},
		{name: "status after the effect", rule: linodesim.Rule{Answer: linodesim.Answer{Status: 500}, AfterEffect: true}, statuses: []int{500},
			pools: 1},
		{name: "connection dropped before the effect", rule: linodesim.Rule{Drop: true, Times: 1}, statuses: []int{0, 200}, pools: 1},
		{name: "connection dropped after the effect", rule: linodesim.Rule{Drop: true, AfterEffect: true, Times: 1}, statuses: []int{0, 200},
			pools: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				_, path := addCluster(t, sim, linodesim.Standard)
				sim.Fail(c.rule)
				for n, want := range c.statuses {
					got, err := api.try(t.Context(), "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
					if (err != nil) != (want == 0) || got.status != want {
						t.Errorf("request %d: %d, %v; want %d", n+1, got.status, err, want)
					}
					if n == 0 && c.check != nil {
						c.check(t, got)
					}
				}
				if n := len(sim.Snapshot().Clusters[0].Pools) - 1; n != c.pools {
					t.Errorf("%d pools made, want %d", n, c.pools)
				}
			})
		})
	}
}

func TestDroppedConnectionOverHTTP(t *testing.T) {
	sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	_, path := addCluster(t, sim, linodesim.Standard)
	url := serve(t, sim)
	sim.Fail(linodesim.Rule{Method: "POST", Drop: true, AfterEffect: true})
	r, _ := http.NewRequestWithContext(t.Context(), "POST", url+path+"/pools", strings.NewReader(`{"type":"g6-standard-2","count":1}`))
	r.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = answer.Body.Close()
		t.Fatalf("answer %d, want none", answer.StatusCode)
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want a connection that ends", err)
	}
	if n := len(sim.Snapshot().Clusters[0].Pools); n != 2 {
		t.Errorf("%d pools, want 2: the request had its effect", n)
	}
}

func TestConditions(t *testing.T) {
	const pool = `{"type":"g6-standard-2","count":2}`
	for _, c := range []struct {
		name   string
		set    func(sim *linodesim.Sim)
		status int
		words  string
	}{
		{"nothing", func(*linodesim.Sim) {}, 200, ""},
		{"no capacity for the plan", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2"}) }, 400, "capacity"},
		{"no capacity here", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{Region: "us-ord"}) }, 400, "us-ord"},
		{"no capacity elsewhere", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{Region: "us-lax"}) }, 200, ""},
		{"no capacity for another plan", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-4"}) }, 200, ""},
		{"no capacity in other words", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{Status: 503, Reason: "sold out"}) }, 503,
			"sold out"},
		{"capacity again", func(s *linodesim.Sim) { s.RefuseCapacity(linodesim.NoCapacity{}); s.RestoreCapacity() }, 200, ""},
		{"account limit", func(s *linodesim.Sim) { s.SetAccountLimit(2) }, 400, "Account Limit reached"},
		{"within the account limit", func(s *linodesim.Sim) { s.SetAccountLimit(3) }, 200, ""},
		{"maintenance", func(s *linodesim.Sim) { s.SetMaintenance(true) }, 503, "maintenance"},
		{"healed", func(s *linodesim.Sim) { s.SetMaintenance(true); s.SetAccountLimit(1); s.HealAll() }, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				info, path := addCluster(t, sim, linodesim.Standard)
				c.set(sim)
				raise := fmt.Sprintf("%s/pools/%d", path, info.Pools[0].ID)
				for _, got := range []reply{api.do("POST", path+"/pools", pool)} {
					if _, reason := got.reason(); got.status != c.status || !strings.Contains(reason, c.words) {
						t.Errorf("answer %d %q, want %d %q", got.status, reason, c.status, c.words)
					}
					if (got.header.Get("X-Maintenance-Mode") != "") != (c.name == "maintenance") {
						t.Errorf("X-Maintenance-Mode %q", got.header.Get("X-Maintenance-Mode"))
					}
				}
				if c.status != 200 {
					if got := api.do("PUT", raise, `{"count":3}`); got.status != c.status {
						t.Errorf("raising a count: answer %d, want %d", got.status, c.status)
					}
				}
			})
		})
	}
}

func TestLinodesThatNeverCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, path := addCluster(t, sim, linodesim.Standard)
		sim.NeverBoot(0, 1)
		sim.StallNodes(0, 1)
		pool, _ := addPool(t, api, path, 3)
		time.Sleep(24 * time.Hour)
		states := map[string]int{}
		for _, p := range sim.Snapshot().Clusters[0].Pools {
			for _, n := range p.Nodes {
				if p.ID == pool {
					states[fmt.Sprint(n.Status, " with Linode ", n.InstanceID != 0)]++
				}
			}
		}
		want := map[string]int{"ready with Linode true": 1, "not_ready with Linode true": 1, "not_ready with Linode false": 1}
		if fmt.Sprint(states) != fmt.Sprint(want) {
			t.Errorf("states %v, want %v", states, want)
		}
	})
}

func TestTransportHonoursContexts(t *testing.T) {
	slow := linodesim.Profile{Name: "ten seconds", Request: linodesim.Span{Min: 10 * time.Second, Max: 10 * time.Second}}
	for _, c := range []struct {
		name   string
		giveUp time.Duration
		err    error
		pools  int
	}{
		{"on the way there", 4 * time.Second, context.DeadlineExceeded, 0},
		{"on the way back", 6 * time.Second, context.DeadlineExceeded, 1},
		{"after the answer", 11 * time.Second, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: slow})
				_, path := addCluster(t, sim, linodesim.Standard)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.giveUp)
				defer cancel()
				_, err := api.try(ctx, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
				if !errors.Is(err, c.err) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if took := time.Since(start); took != min(c.giveUp, 10*time.Second) {
					t.Errorf("took %v", took)
				}
				if n := len(sim.Snapshot().Clusters[0].Pools) - 1; n != c.pools {
					t.Errorf("%d pools made, want %d", n, c.pools)
				}
			})
		})
	}
}

func TestTimeScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even(), TimeScale: 10})
		_, path := addCluster(t, sim, linodesim.Standard)
		got := mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
		time.Sleep(time.Second)
		if n := len(workers(sim, int(got.body["id"].(float64)))); n != 1 {
			t.Errorf("%d Linodes after a tenth of ten seconds, want 1", n)
		}
	})
}
