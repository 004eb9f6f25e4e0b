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

func TestListsLackAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		_, path := addCluster(t, sim, linodesim.Standard)
		for range 4 {
			mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
		}
		sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Missing: 1}, Times: 40})
		lacked := map[any]int{}
		for range 40 {
			got := api.do("GET", path+"/pools", "")
			seen := map[any]bool{}
			for _, p := range got.data(t) {
				seen[p["id"]] = true
			}
			if len(seen) != 4 || got.body["results"] != 4.0 {
				t.Fatalf("%d pools, results %v, want 4 of 5", len(seen), got.body["results"])
			}
			for _, p := range sim.Snapshot().Clusters[0].Pools {
				if !seen[float64(p.ID)] {
					lacked[p.ID]++
				}
			}
		}
		if len(lacked) != 5 {
			t.Errorf("lists lacked %v, want each of five at some time", lacked)
		}
		if n := len(api.do("GET", path+"/pools", "").data(t)); n != 5 {
			t.Errorf("%d pools after the fault, want 5", n)
		}
	})
}

func TestListWithoutEntriesLacksNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		sim.Fail(linodesim.Rule{View: linodesim.View{Missing: 3}})
		if got := api.do("GET", "/v4/vpcs", ""); got.status != 200 || len(got.data(t)) != 0 {
			t.Errorf("%d: %s", got.status, got.raw)
		}
	})
}

// Entries removed or added between two pages move the entries after them.
func TestPagesShift(t *testing.T) {
	for _, c := range []struct {
		shift       int
		seen, again int // entries on all pages, and entries on two
	}{{0, 60, 0}, {1, 59, 0}, {-1, 60, 1}} {
		t.Run(fmt.Sprint(c.shift), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				if _, err := sim.AddCluster(linodesim.ClusterSpec{Label: "many", Settled: true,
					Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 60}}}); err != nil {
					t.Fatal(err)
				}
				sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Shift: c.shift}})
				seen, again := map[any]bool{}, 0
				for page := 1; page <= 3; page++ {
					for _, i := range api.do("GET", fmt.Sprintf("/v4/linode/instances?page_size=25&page=%d", page), "").data(t) {
						if seen[i["id"]] {
							again++
						}
						seen[i["id"]] = true
					}
				}
				if len(seen) != c.seen || again != c.again {
					t.Errorf("%d entries seen, %d twice; want %d and %d", len(seen), again, c.seen, c.again)
				}
			})
		})
	}
}

// A write that is accepted without effect is answered as if it had one.
func TestWritesWithoutEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		info, path := addCluster(t, sim, linodesim.Standard)
		pool, node := fmt.Sprintf("%s/pools/%d", path, info.Pools[0].ID), info.Pools[0].Nodes[0]
		linode := fmt.Sprintf("/v4/linode/instances/%d", node.InstanceID)
		before, changes := fmt.Sprint(sim.Snapshot()), len(sim.Audit())
		id := sim.Fail(linodesim.Rule{Kind: linodesim.Writes, View: linodesim.View{NoEffect: true}})
		for _, c := range []struct{ method, path, body, field, want string }{
			{"PUT", pool, `{"count":3}`, "count", "3"},
			{"PUT", linode, `{"tags":["abc"]}`, "tags", "[abc]"},
			{"POST", path + "/pools", `{"type":"g6-standard-2","count":2}`, "count", "2"},
			{"DELETE", linode, "", "", ""},
			{"DELETE", path + "/nodes/" + node.ID, "", "", ""},
			{"DELETE", path, "", "", ""},
		} {
			got := mustDo(t, api, c.method, c.path, c.body)
			if c.field != "" && fmt.Sprint(got.body[c.field]) != c.want {
				t.Errorf("%s %s: %s is %v, want %s", c.method, c.path, c.field, got.body[c.field], c.want)
			}
		}
		if got := api.do("PUT", pool, `{"count":1000}`); got.status != 400 {
			t.Errorf("a refusal stays one: %d", got.status)
		}
		if after := fmt.Sprint(sim.Snapshot()); after != before || len(sim.Audit()) != changes {
			t.Errorf("the world changed:\n%s\n%s", before, after)
		}
		sim.Heal(id)
		mustDo(t, api, "PUT", pool, `{"count":3}`)
		if n := len(sim.Snapshot().Clusters[0].Pools[0].Nodes); n != 3 {
			t.Errorf("%d nodes, want 3", n)
		}
	})
}

func TestRequestsHang(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  linodesim.Rule
		pools int
	}{
		{"before the effect", linodesim.Rule{Hang: true}, 1},
		{"after the effect", linodesim.Rule{Hang: true, AfterEffect: true}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				_, path := addCluster(t, sim, linodesim.Standard)
				sim.Fail(c.rule)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				_, err := api.try(ctx, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
					t.Errorf("%v after %v, want the caller's deadline", err, time.Since(start))
				}
				if n := len(sim.Snapshot().Clusters[0].Pools); n != c.pools {
					t.Errorf("%d pools, want %d", n, c.pools)
				}
			})
		})
	}
}

// Each fault of the profile comes, and the cluster lives.
func TestProfileHostile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Hostile(), Seed: 3, NoRateLimits: true})
		info, path := addCluster(t, sim, linodesim.Standard)
		linode := fmt.Sprintf("/v4/linode/instances/%d", info.Pools[0].Nodes[0].InstanceID)
		saw := map[string]int{}
		for n := range 500 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			for _, c := range []struct{ method, path, body string }{
				{"GET", linode, ""}, {"GET", path + "/pools", ""}, {"PUT", linode, fmt.Sprintf(`{"tags":["n=%d"]}`, n)},
			} {
				got, err := api.try(ctx, c.method, c.path, c.body)
				switch {
				case errors.Is(err, context.DeadlineExceeded):
					saw["hang"]++
				case errors.Is(err, io.ErrUnexpectedEOF):
					saw["lost answer"]++
				case got.status == http.StatusGatewayTimeout:
					saw["late"]++
				case got.status == http.StatusNotFound:
					saw["not found"]++
				case strings.HasSuffix(c.path, "/pools") && len(got.data(t)) == 0:
					saw["missing entry"]++
				case c.method == "PUT" && sim.Snapshot().Instances[0].Tags[0] != fmt.Sprintf("n=%d", n):
					saw["no effect"]++
				}
			}
			cancel()
		}
		for _, what := range []string{"hang", "lost answer", "not found", "missing entry", "no effect", "late"} {
			if saw[what] == 0 || saw[what] > 100 {
				t.Errorf("%s: %d times in 500 rounds", what, saw[what])
			}
		}
		sim.HealAll()
		mustDo(t, api, "GET", linode, "")
	})
}

// An added rule comes before what the profile does.
func TestRulesComeBeforeTheProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Hostile()})
		_, path := addCluster(t, sim, linodesim.Standard)
		sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 503}})
		for range 50 {
			if got := api.do("GET", path, ""); got.status != 503 {
				t.Fatalf("status %d, want 503", got.status)
			}
		}
	})
}

// The admin surface takes everything that a rule has, and names the error.
func TestAdminRules(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	_, path := addCluster(t, sim, linodesim.Standard)
	url := serve(t, sim.Admin())
	for _, c := range []struct{ body, want string }{
		{`{"kind":"reads","status":404,"times":1}`, `{"id":1}`},
		{`{"kind":"lists","stale":"2m","up_to":true,"missing":1,"shift":-1,"probability":0.5}`, `{"id":2}`},
		{`{"method":"PUT","no_effect":true}`, `{"id":3}`},
		{`{"hang":true,"after_effect":true,"nth":9}`, `{"id":4}`},
		{`{"route":"/x","delay":"1s","status":429,"reason":"r","field":"f","retry_after":"5s","header":{"X":"1"},"html":true,"drop":true}`,
			`{"id":5}`},
		{`{"kind":"writes","late":"30s","for":"5s","nth":9}`, `{"id":6}`},
		{`{"late":"30s","after_effect":true}`,
			`{"error":"late cannot be combined with after_effect or no_effect: with late, the effect comes after the answer"}`},
		{`{"kind":"list"}`, `{"error":"kind is \"list\"; it must be lists, reads, writes or empty"}`},
		{`{"probability":7}`, `{"error":"probability is 7; it must be from 0 to 1"}`},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/rules", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if got := strings.TrimSpace(string(raw)); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
	for _, want := range []int{404, 200} {
		if got := api.do("GET", path, ""); got.status != want {
			t.Errorf("status %d, want %d", got.status, want)
		}
	}
}
