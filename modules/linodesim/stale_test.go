package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Reads show the world as it was so long ago, not before the rule was added.
func TestStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		_, path := addCluster(t, sim, linodesim.Standard)
		id := sim.Fail(linodesim.Rule{Method: "GET", View: linodesim.View{Stale: 10 * time.Second}})
		made := mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
		one := fmt.Sprintf("%s/pools/%v", path, made.body["id"])
		seen := func(want int, status int) {
			t.Helper()
			if n := len(api.do("GET", path+"/pools", "").data(t)); n != want {
				t.Errorf("%d pools, want %d", n, want)
			}
			if got := api.do("GET", one, ""); got.status != status {
				t.Errorf("the new pool: %d, want %d", got.status, status)
			}
		}
		seen(1, 404)
		if got := api.do("PUT", one, `{"count":2}`); got.status != 200 {
			t.Errorf("a write reads what is there: %d", got.status)
		}
		time.Sleep(9 * time.Second)
		seen(1, 404)
		time.Sleep(time.Second)
		seen(2, 200)
		if sim.Hits(id) == 0 {
			t.Error("the rule hit nothing")
		}
		mustDo(t, api, "DELETE", one, "")
		seen(2, 200)
		sim.Heal(id)
		seen(1, 404)
	})
}

// Every change is seen by its own delay, and what the platform does by itself
// too.
func TestStaleReadsFollowTheWorldAtTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profile := linodesim.Profile{Name: "test", InstanceID: linodesim.Span{Min: 5 * time.Second, Max: 5 * time.Second}}
		sim, api := newSim(t, linodesim.Config{Profile: profile})
		_, path := addCluster(t, sim, linodesim.Standard)
		sim.Fail(linodesim.Rule{Route: "/linode/instances", View: linodesim.View{Stale: time.Minute}})
		mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
		time.Sleep(30 * time.Second)
		mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":2}`)
		at := 30 * time.Second
		for _, c := range []struct {
			after time.Duration // since the first pool's request
			want  int
		}{{64 * time.Second, 1}, {65 * time.Second, 2}, {94 * time.Second, 2}, {95 * time.Second, 4}, {time.Hour, 4}} {
			time.Sleep(c.after - at)
			at = c.after
			if n := len(api.do("GET", "/v4/linode/instances", "").data(t)); n != c.want {
				t.Errorf("after %v: %d Linodes, want %d", c.after, n, c.want)
			}
			if now := len(sim.Snapshot().Instances); now != 4 {
				t.Errorf("after %v there are %d Linodes, want 4", c.after, now)
			}
		}
	})
}

// A stale page agrees with itself: count, nodes and results belong to one
// moment.
func TestStalePageIsOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
		info, path := addCluster(t, sim, linodesim.Standard)
		sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: 2 * time.Minute}, UpTo: true})
		pool := fmt.Sprintf("%s/pools/%d", path, info.Pools[0].ID)
		ages := map[float64]bool{}
		for n := 2; n < 90; n++ {
			mustDo(t, api, "PUT", pool, fmt.Sprintf(`{"count":%d}`, n))
			time.Sleep(5 * time.Second)
			p := api.do("GET", path+"/pools", "").data(t)[0]
			if count := p["count"].(float64); int(count) != len(p["nodes"].([]any)) {
				t.Errorf("count %v with %d nodes", count, len(p["nodes"].([]any)))
			} else {
				ages[float64(n)-count] = true
			}
		}
		if len(ages) < 10 || !ages[0] || ages[30] {
			t.Errorf("lists were %v counts behind, want from none to 24", ages)
		}
	})
}

// Objects that were set up through Go have always been there, also for reads that lag.
func TestProfileStaleShowsPreparedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Stale(), NoRateLimits: true})
		time.Sleep(time.Second)
		info, path := addCluster(t, sim, linodesim.Standard)
		for range 50 {
			if got := api.do("GET", path, ""); got.status != 200 {
				t.Fatalf("the cluster: %d", got.status)
			}
			if n := len(api.do("GET", path+"/pools", "").data(t)); n != 1 {
				t.Fatalf("%d pools, want 1", n)
			}
		}
		mustDo(t, api, "PUT", fmt.Sprintf("/v4/linode/instances/%d", info.Pools[0].Nodes[0].InstanceID), `{"tags":["new"]}`)
		var one, list time.Duration // until the last read that lacked the tag
		for start := time.Now(); time.Since(start) < 3*time.Minute; {
			if got := api.do("GET", fmt.Sprintf("/v4/linode/instances/%d", info.Pools[0].Nodes[0].InstanceID), ""); join(got.body["tags"]) != "new" {
				one = time.Since(start)
			}
			if got := api.do("GET", "/v4/linode/instances", "").data(t); join(got[0]["tags"]) != "new" {
				list = time.Since(start)
			}
		}
		if one < time.Second || one > 5*time.Second || list < time.Minute || list > 121*time.Second {
			t.Errorf("single reads were late for %v, lists for %v; want up to 4s and 2m", one, list)
		}
	})
}

// A copy of every change would be too many in a busy world; the thinned ones
// still show nothing newer than wanted.
func TestStaleReadsOfABusyWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
		info, _ := addCluster(t, sim, linodesim.Standard)
		linode := info.Pools[0].Nodes[0].InstanceID
		const stale, changes = time.Minute, 3000
		sim.Fail(linodesim.Rule{Kind: linodesim.Lists, View: linodesim.View{Stale: stale}})
		for n := range changes {
			if err := sim.EditInstanceTags(linode, []string{fmt.Sprintf("n=%d", n)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(stale / 2000)
		}
		tag := join(api.do("GET", "/v4/linode/instances", "").data(t)[0]["tags"])
		var seen int
		if _, err := fmt.Sscanf(strings.TrimPrefix(tag, "n="), "%d", &seen); err != nil {
			t.Fatalf("tags %q: %v", tag, err)
		}
		if seen > changes-2000 || seen < changes-2000-200 {
			t.Errorf("saw change %d, want one at most a tenth older than %d", seen, changes-2000)
		}
	})
}
