package linodesim_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// even is a profile without chance and without request delay, so that times in
// tests are round.
func even() linodesim.Profile {
	s := time.Second
	at := func(d time.Duration) linodesim.Span { return linodesim.Span{Min: d, Max: d} }
	return linodesim.Profile{
		Name: "even", InstanceID: at(10 * s), NodeListed: at(40 * s), Tagged: at(2 * s), Join: at(100 * s), Gone: at(5 * s), Repair: at(60 * s),
	}
}

// TestNodeLife follows a new node by what the API shows at each moment.
func TestNodeLife(t *testing.T) {
	type sight struct {
		after    time.Duration
		listed   bool
		id       bool
		node     string // status in nodes[]
		instance string // status of the Linode
		tags     string // with {c} and {p}
	}
	lke := "lke{c},nodepool={p},team-a"
	for _, c := range []struct {
		tier   string
		sights []sight
	}{
		{linodesim.Standard, []sight{
			{0, true, false, "not_ready", "", ""},
			{9 * time.Second, true, false, "not_ready", "", ""},
			{10 * time.Second, true, true, "not_ready", "offline", ""},
			{60 * time.Second, true, true, "not_ready", "booting", ""},
			{90 * time.Second, true, true, "not_ready", "running", ""},
			{110 * time.Second, true, true, "ready", "running", ""},
		}},
		{linodesim.Enterprise, []sight{
			{0, false, false, "", "", ""},
			{10 * time.Second, false, true, "", "offline", ""},
			{12 * time.Second, false, true, "", "offline", lke},
			{39 * time.Second, false, true, "", "offline", lke},
			{40 * time.Second, true, true, "not_ready", "offline", lke},
			{110 * time.Second, true, true, "ready", "running", lke},
		}},
	} {
		t.Run(c.tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: even()})
				info, path := addCluster(t, sim, c.tier)
				start := time.Now()
				made := api.do("POST", path+"/pools", `{"type":"g6-standard-2","count":1,"tags":["team-a"]}`)
				pool := int(made.body["id"].(float64))
				for _, s := range c.sights {
					time.Sleep(time.Until(start.Add(s.after)))
					got := api.do("GET", fmt.Sprintf("%s/pools/%d", path, pool), "")
					nodes := got.body["nodes"].([]any)
					if (len(nodes) == 1) != s.listed {
						t.Fatalf("after %v: %d nodes listed, want listed=%v", s.after, len(nodes), s.listed)
					}
					if s.listed {
						n := nodes[0].(map[string]any)
						if n["status"] != s.node || (n["instance_id"] != nil) != s.id {
							t.Errorf("after %v: node %v, want status %s, ID %v", s.after, n, s.node, s.id)
						}
					}
					want := strings.NewReplacer("{c}", fmt.Sprint(info.ID), "{p}", fmt.Sprint(pool)).Replace(s.tags)
					checkLinode(t, api, pool, s.after, s.id, s.instance, want)
				}
			})
		})
	}
}

func checkLinode(t *testing.T, api client, pool int, after time.Duration, there bool, status, tags string) {
	t.Helper()
	list := api.do("GET", "/v4beta/linode/instances", "", "X-Filter", fmt.Sprintf(`{"label":{"+contains":"-%d-"}}`, pool)).data(t)
	if (len(list) == 1) != there {
		t.Fatalf("after %v: %d Linodes, want there=%v", after, len(list), there)
	}
	if !there {
		return
	}
	if list[0]["status"] != status || join(list[0]["tags"]) != tags {
		t.Errorf("after %v: Linode %v with tags %v, want %s with %q", after, list[0]["status"], list[0]["tags"], status, tags)
	}
	if list[0]["lke_cluster_id"] == nil || list[0]["image"] != nil {
		t.Errorf("Linode of a worker: lke_cluster_id %v, image %v", list[0]["lke_cluster_id"], list[0]["image"])
	}
}

func join(list any) string {
	var parts []string
	for _, e := range list.([]any) {
		parts = append(parts, e.(string))
	}
	return strings.Join(parts, ",")
}

// workers gives the IDs of a pool's Linodes.
func workers(sim *linodesim.Sim, pool int) []int {
	var out []int
	for _, i := range sim.Snapshot().Instances {
		if i.PoolID == pool {
			out = append(out, i.ID)
		}
	}
	return out
}

// addPool makes a pool of n nodes and waits until they have joined.
func addPool(t *testing.T, api client, path string, n int) (id int, nodes []string) {
	t.Helper()
	got := api.do("POST", path+"/pools", fmt.Sprintf(`{"type":"g6-standard-2","count":%d}`, n))
	if got.status != 200 {
		t.Fatalf("creating a pool: %d: %s", got.status, got.raw)
	}
	id = int(got.body["id"].(float64))
	time.Sleep(10 * time.Minute)
	for _, p := range api.sim.Snapshot().Clusters[0].Pools {
		for _, node := range p.Nodes {
			if p.ID == id {
				nodes = append(nodes, node.ID)
			}
		}
	}
	return id, nodes
}

func TestWaysToLoseANode(t *testing.T) {
	for _, c := range []struct {
		name      string
		behaviour linodesim.Behaviour
		act       func(t *testing.T, sim *linodesim.Sim, api client, path string, pool int, nodes []string)
		count     int // afterwards; -1 = no pool
		linodes   int // once all has settled
		survives  func(before []string, after []string) bool
	}{
		{name: "node deleted", count: 2, linodes: 2,
			act: func(t *testing.T, _ *linodesim.Sim, api client, path string, pool int, nodes []string) {
				mustDo(t, api, "DELETE", path+"/nodes/"+nodes[1], "")
				got := api.do("GET", fmt.Sprintf("%s/pools/%d", path, pool), "")
				if got.body["count"] != 2.0 || len(got.body["nodes"].([]any)) != 2 {
					t.Errorf("right after the deletion: %s", got.raw)
				}
				if got := api.do("GET", path+"/nodes/"+nodes[1], ""); got.status != 404 {
					t.Errorf("deleted node: %d", got.status)
				}
			},
			survives: func(b, a []string) bool { return slices.Equal(a, []string{b[0], b[2]}) }},
		{name: "count lowered", count: 1, linodes: 1,
			act: func(t *testing.T, _ *linodesim.Sim, api client, path string, pool int, _ []string) {
				mustDo(t, api, "PUT", fmt.Sprintf("%s/pools/%d", path, pool), `{"count":1}`)
			},
			survives: func(b, a []string) bool { return slices.Contains(b, a[0]) }},
		{name: "count raised", count: 5, linodes: 5,
			act: func(t *testing.T, _ *linodesim.Sim, api client, path string, pool int, _ []string) {
				mustDo(t, api, "PUT", fmt.Sprintf("%s/pools/%d", path, pool), `{"count":5}`)
			},
			survives: func(b, a []string) bool { return slices.Equal(a[:3], b) }},
		{name: "pool deleted", count: -1, linodes: 0,
			act: func(t *testing.T, _ *linodesim.Sim, api client, path string, pool int, _ []string) {
				mustDo(t, api, "DELETE", fmt.Sprintf("%s/pools/%d", path, pool), "")
			}},
		{name: "node recycled", count: 3, linodes: 3,
			act: func(t *testing.T, sim *linodesim.Sim, _ client, _ string, _ int, nodes []string) {
				if err := sim.RecycleNode(sim.Snapshot().Clusters[0].ID, nodes[0]); err != nil {
					t.Error(err)
				}
			},
			survives: func(b, a []string) bool { return slices.Equal(a[:2], b[1:]) && !slices.Contains(b, a[2]) }},
		{name: "Linode deleted and made again", count: 3, linodes: 3,
			act: func(t *testing.T, sim *linodesim.Sim, _ client, _ string, pool int, _ []string) {
				if err := sim.DeleteInstance(workers(sim, pool)[0]); err != nil {
					t.Error(err)
				}
				time.Sleep(59 * time.Second)
				if n := len(workers(sim, pool)); n != 2 {
					t.Errorf("%d Linodes before LKE has noticed, want 2", n)
				}
			}},
		{name: "Linode deleted and left", count: 3, linodes: 2, behaviour: linodesim.Behaviour{LostLinode: linodesim.LeaveHole},
			act: func(t *testing.T, sim *linodesim.Sim, _ client, _ string, pool int, _ []string) {
				if err := sim.DeleteInstance(workers(sim, pool)[0]); err != nil {
					t.Error(err)
				}
			},
			survives: func(b, a []string) bool { return slices.Equal(a, b) }},
		{name: "all nodes, empty pool stays", count: 0, linodes: 0, act: deleteAll(200)},
		{name: "all nodes, pool goes", count: -1, linodes: 0, behaviour: linodesim.Behaviour{LastNode: linodesim.RemovePool},
			act: deleteAll(200)},
		{name: "all nodes, last refused", count: 1, linodes: 1, behaviour: linodesim.Behaviour{LastNode: linodesim.RefuseLastDelete},
			act: deleteAll(400)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: even(), Behaviour: c.behaviour, Seed: 7})
				_, path := addCluster(t, sim, linodesim.Standard)
				pool, nodes := addPool(t, api, path, 3)
				c.act(t, sim, api, path, pool, nodes)
				time.Sleep(10 * time.Minute)
				if n := len(workers(sim, pool)); n != c.linodes {
					t.Errorf("%d Linodes, want %d", n, c.linodes)
				}
				checkPool(t, sim, pool, c.count, nodes, c.survives)
			})
		})
	}
}

func checkPool(t *testing.T, sim *linodesim.Sim, pool, count int, before []string, survives func(before, after []string) bool) {
	t.Helper()
	for _, p := range sim.Snapshot().Clusters[0].Pools {
		if p.ID != pool {
			continue
		}
		if p.Count != count {
			t.Errorf("count %d, want %d", p.Count, count)
		}
		var after []string
		for _, n := range p.Nodes {
			after = append(after, n.ID)
		}
		if survives != nil && !survives(before, after) {
			t.Errorf("nodes %v became %v", before, after)
		}
		return
	}
	if count >= 0 {
		t.Errorf("the pool is gone, want count %d", count)
	}
}

func deleteAll(last int) func(*testing.T, *linodesim.Sim, client, string, int, []string) {
	return func(t *testing.T, _ *linodesim.Sim, api client, path string, _ int, nodes []string) {
		for i, n := range nodes {
			want := 200
			if i == len(nodes)-1 {
				want = last
			}
			if got := api.do("DELETE", path+"/nodes/"+n, ""); got.status != want {
				t.Errorf("node %d: answer %d: %s, want %d", i, got.status, got.raw, want)
			}
		}
	}
}

func mustDo(t *testing.T, api client, method, path, body string) reply {
	t.Helper()
	got := api.do(method, path, body)
	if got.status != 200 {
		t.Fatalf("%s %s: answer %d: %s", method, path, got.status, got.raw)
	}
	return got
}

func TestDeletedNodesLinodeLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, path := addCluster(t, sim, linodesim.Standard)
		pool, nodes := addPool(t, api, path, 2)
		id := sim.Snapshot().Clusters[0].Pools[1].Nodes[0].InstanceID
		mustDo(t, api, "DELETE", path+"/nodes/"+nodes[0], "")
		got := api.do("GET", fmt.Sprintf("/v4beta/linode/instances/%d", id), "")
		if got.status != 200 || got.body["status"] != "deleting" {
			t.Errorf("right after: %d %v, want 200 deleting", got.status, got.body["status"])
		}
		time.Sleep(5 * time.Second)
		if got := api.do("GET", fmt.Sprintf("/v4beta/linode/instances/%d", id), ""); got.status != 404 {
			t.Errorf("after a while: %d, want 404", got.status)
		}
		if n := len(workers(sim, pool)); n != 1 {
			t.Errorf("%d Linodes left, want 1", n)
		}
	})
}

func TestNodeDeletedBeforeItsLinodeExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, path := addCluster(t, sim, linodesim.Standard)
		got := mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":2}`)
		first := got.body["nodes"].([]any)[0].(map[string]any)["id"].(string)
		mustDo(t, api, "DELETE", path+"/nodes/"+first, "")
		time.Sleep(time.Hour)
		if n := len(workers(sim, int(got.body["id"].(float64)))); n != 1 {
			t.Errorf("%d Linodes, want 1", n)
		}
	})
}

func TestEditsOfAPool(t *testing.T) {
	for _, c := range []struct {
		name, tier, body string
		want             map[string]string // JSON of fields afterwards
		linode           string            // its tags afterwards, {l} for LKE's own
	}{
		{"left-out fields stay", linodesim.Standard, `{}`, map[string]string{
			"labels": `{"a":"b"}`, "tags": `["team-a"]`, "taints": `[{"effect":"NoSchedule","key":"k","value":"v"}]`, "count": "1"}, "mine"},
		{"empty values clear", linodesim.Standard, `{"labels":{},"taints":[],"tags":[]}`,
			map[string]string{"labels": `{}`, "tags": `[]`, "taints": `[]`}, "mine"},
		{"null is nothing given", linodesim.Standard, `{"labels":null,"tags":null}`,
			map[string]string{"labels": `{"a":"b"}`, "tags": `["team-a"]`}, "mine"},
		{"a set replaces the whole", linodesim.Standard, `{"labels":{"c":"d"}}`, map[string]string{"labels": `{"c":"d"}`}, "mine"},
		{"tags do not cascade", linodesim.Standard, `{"tags":["team-b"]}`, map[string]string{"tags": `["team-b"]`}, "mine"},
		{"tags cascade", linodesim.Enterprise, `{"tags":["team-b"]}`, map[string]string{"tags": `["team-b"]`}, "{l},mine,team-b"},
		{"autoscaler", linodesim.Standard, `{"autoscaler":{"enabled":true,"min":1,"max":3}}`,
			map[string]string{"autoscaler": `{"enabled":true,"max":3,"min":1}`}, "mine"},
		{"autoscaler keeps its range", linodesim.Standard, `{"count":2}`,
			map[string]string{"autoscaler": `{"enabled":false,"max":1,"min":1}`, "count": "2"}, "mine"},
		{"strategy", linodesim.Enterprise, `{"update_strategy":"rolling_update"}`,
			map[string]string{"update_strategy": `"rolling_update"`, "firewall_id": "null"}, "{l},team-a,mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				info, path := addCluster(t, sim, c.tier)
				made := mustDo(t, api, "POST", path+"/pools",
					`{"type":"g6-standard-2","count":1,"tags":["team-a"],"labels":{"a":"b"},"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}`)
				pool := int(made.body["id"].(float64))
				linode := fmt.Sprintf("/v4beta/linode/instances/%d", workers(sim, pool)[0])
				own := strings.Split(strings.Trim(join(mustDo(t, api, "GET", linode, "").body["tags"])+",mine", ","), ",")
				tags, _ := json.Marshal(own)
				mustDo(t, api, "PUT", linode, `{"tags":`+string(tags)+`}`)

				got := mustDo(t, api, "PUT", fmt.Sprintf("%s/pools/%d", path, pool), c.body)
				for field, want := range c.want {
					if have, _ := json.Marshal(got.body[field]); string(have) != want {
						t.Errorf("%s is %s, want %s", field, have, want)
					}
				}
				lke := fmt.Sprintf("lke%d,nodepool=%d", info.ID, pool)
				if have, want := join(mustDo(t, api, "GET", linode, "").body["tags"]), strings.ReplaceAll(c.linode, "{l}", lke); have != want {
					t.Errorf("the Linode's tags are %s, want %s", have, want)
				}
			})
		})
	}
}

func TestFloor(t *testing.T) {
	for _, c := range []struct {
		tier string
		want time.Duration
	}{{linodesim.Standard, 10 * time.Second}, {linodesim.Enterprise, 12 * time.Second}} {
		t.Run(c.tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: even()})
				_, path := addCluster(t, sim, c.tier)
				time.Sleep(time.Hour)
				start := time.Now()
				mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":3}`)
				time.Sleep(3 * time.Second)
				mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
				f := sim.Floor(start)
				if f.Nodes != 4 || f.Longest != c.want || f.Last.Sub(start) != c.want+3*time.Second {
					t.Errorf("floor %+v after %v, want 4 nodes, %v, last after %v", f, f.Last.Sub(start), c.want, c.want+3*time.Second)
				}
			})
		})
	}
}

func TestRecycledPoolReplacesOneNodeAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, path := addCluster(t, sim, linodesim.Standard)
		pool, before := addPool(t, api, path, 3)
		if err := sim.RecyclePool(sim.Snapshot().Clusters[0].ID, pool); err != nil {
			t.Fatal(err)
		}
		old := func() int {
			n := 0
			for _, node := range sim.Snapshot().Clusters[0].Pools[1].Nodes {
				if slices.Contains(before, node.ID) {
					n++
				}
			}
			return n
		}
		for want := 2; want >= 0; want-- {
			if n := old(); n != want {
				t.Errorf("%d old nodes left, want %d", n, want)
			}
			time.Sleep(110 * time.Second)
		}
	})
}

func TestSameSeedSameWorld(t *testing.T) {
	run := func(seed uint64) string {
		var out string
		synctest.Test(t, func(t *testing.T) {
			sim, api := newSim(t, linodesim.Config{Profile: linodesim.Realistic(), Seed: seed})
			_, path := addCluster(t, sim, linodesim.Enterprise)
			mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":5}`)
			time.Sleep(time.Hour)
			out = fmt.Sprintf("%+v", sim.Audit())
		})
		return out
	}
	if first, again := run(1), run(1); first != again {
		t.Error("two runs with one seed differ")
	}
	if run(1) == run(2) {
		t.Error("two seeds give the same run")
	}
}
