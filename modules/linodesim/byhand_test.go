package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Actions of the account's owner outside of LKE.
func TestTheOwnersHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		info, path := addCluster(t, sim, linodesim.Enterprise)
		id, err := sim.AddInstance(linodesim.InstanceSpec{Label: "bastion", Type: "g6-nanode-1", Image: "linode/debian12",
			Tags: []string{"mine"}})
		if err != nil {
			t.Fatal(err)
		}
		linode := fmt.Sprintf("/v4/linode/instances/%d", id)
		for _, want := range []string{"provisioning", "booting", "running"} {
			if got := api.do("GET", linode, ""); got.body["status"] != want || got.body["lke_cluster_id"] != nil ||
				got.body["image"] != "linode/debian12" {
				t.Errorf("status %v, want %s; %s", got.body["status"], want, got.raw)
			}
			time.Sleep(50 * time.Second)
		}
		if err := sim.EditInstanceTags(id, []string{"yours"}); err != nil {
			t.Error(err)
		}
		if got := api.do("GET", linode, ""); join(got.body["tags"]) != "yours" {
			t.Errorf("tags %v", got.body["tags"])
		}
		other := fmt.Sprintf("/v4/linode/instances/%d", info.Pools[0].Nodes[0].InstanceID)
		if field, reason := api.do("PUT", other, `{"label":"bastion"}`).reason(); field != "label" ||
			!strings.Contains(reason, "Label must be unique") {
			t.Errorf("a label in use: [%s] %s", field, reason)
		}

		firewall := sim.AddFirewall(linodesim.FirewallSpec{Label: "mine", InboundPolicy: "DROP", OutboundPolicy: "DROP", Disabled: true})
		if got := api.do("GET", "/v4/networking/firewalls", "", "X-Filter", `{"label":"mine"}`).data(t); len(got) != 1 ||
			got[0]["status"] != "disabled" {
			t.Errorf("firewalls %v", got)
		}
		pool, err := sim.AddPool(info.ID, linodesim.PoolSpec{Type: "g6-standard-2", Count: 2, FirewallID: &firewall})
		if err != nil {
			t.Fatal(err)
		}
		got := mustDo(t, api, "GET", fmt.Sprintf("%s/pools/%d", path, pool.ID), "")
		if got.body["firewall_id"] != float64(firewall) {
			t.Errorf("firewall_id %v, want %d", got.body["firewall_id"], firewall)
		}
		if err := sim.DeleteNode(info.ID, pool.Nodes[0].ID); err != nil {
			t.Error(err)
		}
		if err := sim.DeleteNode(info.ID, pool.Nodes[0].ID); err == nil {
			t.Error("a node was deleted twice")
		}
		if err := sim.DeleteInstance(id); err != nil {
			t.Error(err)
		}
		if got := api.do("GET", linode, ""); got.status != 404 {
			t.Errorf("the deleted Linode: %d", got.status)
		}
	})
}

// An upgrade changes the control plane; an Enterprise pool keeps its version, and
// one that is made afterwards has the new one.
func TestUpgradeOfTheControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from, to = "v1.32.9+lke5", "v1.33.6+lke7"
		sim, api := newSim(t, linodesim.Config{})
		info, err := sim.AddCluster(linodesim.ClusterSpec{
			Label: "up", Tier: linodesim.Enterprise, K8sVersion: from, Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, version := range map[int]string{info.ID: "v9.9.9+lke9", info.ID + 1: to} {
			if err := sim.UpgradeCluster(id, version); err == nil {
				t.Errorf("cluster %d was upgraded to %s", id, version)
			}
		}
		if err := sim.UpgradeCluster(info.ID, to); err != nil {
			t.Fatal(err)
		}
		pool, err := sim.AddPool(info.ID, linodesim.PoolSpec{Type: "g6-standard-2", Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/v4beta/lke/clusters/%d", info.ID)
		for at, want := range map[string]string{
			path: to, fmt.Sprintf("%s/pools/%d", path, info.Pools[0].ID): from, fmt.Sprintf("%s/pools/%d", path, pool.ID): to,
		} {
			if got := mustDo(t, api, "GET", at, "").body["k8s_version"]; got != want {
				t.Errorf("%s has version %v, want %s", at, got, want)
			}
		}
	})
}

func TestSettingsOfALinode(t *testing.T) {
	for _, c := range []struct{ name, body, path, want string }{
		{"label", `{"label":"new-name"}`, "label", "new-name"},
		{"watchdog", `{"watchdog_enabled":false}`, "watchdog_enabled", "false"},
		{"policy", `{"maintenance_policy":"linode/migrate"}`, "maintenance_policy", "linode/migrate"},
		{"alerts", `{"alerts":{"cpu":10}}`, "alerts", "map[cpu:10 io:10000 network_in:10 network_out:10 transfer_quota:80]"},
		{"backups", `{"backups":{"schedule":{"day":"Monday","window":"W22"}}}`, "backups",
			"map[available:false enabled:false last_successful:<nil> schedule:map[day:Monday window:W22]]"},
		{"tags, each once", `{"tags":["abc","abc","def"]}`, "tags", "[abc def]"},
		{"nothing", `{}`, "tags", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				info, _ := addCluster(t, sim, linodesim.Standard)
				linode := fmt.Sprintf("/v4/linode/instances/%d", info.Pools[0].Nodes[0].InstanceID)
				before := mustDo(t, api, "GET", linode, "")
				time.Sleep(time.Minute)
				mustDo(t, api, "PUT", linode, c.body)
				after := mustDo(t, api, "GET", linode, "")
				if got := fmt.Sprint(after.body[c.path]); got != c.want {
					t.Errorf("%s is %s, want %s", c.path, got, c.want)
				}
				if changed := before.body["updated"] != after.body["updated"]; changed != (c.body != `{}`) {
					t.Errorf("updated %v, before %v", after.body["updated"], before.body["updated"])
				}
			})
		})
	}
}

// The label of a worker's Linode may change; the node keeps its name.
func TestRenamedWorkerStaysItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		info, path := addCluster(t, sim, linodesim.Standard)
		node := info.Pools[0].Nodes[0]
		mustDo(t, api, "PUT", fmt.Sprintf("/v4/linode/instances/%d", node.InstanceID), `{"label":"renamed"}`)
		if got := mustDo(t, api, "GET", path+"/nodes/"+node.ID, ""); got.body["instance_id"] != float64(node.InstanceID) {
			t.Errorf("node %s", got.raw)
		}
		if e := <-sim.Subscribe(t.Context()); e.Name != node.Name() {
			t.Errorf("event's name %q, want %q", e.Name, node.Name())
		}
	})
}

// An answer that differs from the description is not sent.
func TestViolations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true})
		if err != nil {
			t.Fatal(err)
		}
		sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 200, Reason: "an error that calls itself success"}})
		got := client{t, sim, linodesim.DefaultToken}.do("GET", "/v4/profile", "")
		if _, reason := got.reason(); got.status != 500 || !strings.Contains(reason, "differs from the API's description") {
			t.Errorf("answer %d: %s", got.status, got.raw)
		}
		if v := sim.Violations(); len(v) != 1 || !strings.Contains(v[0], "GET /profile") {
			t.Errorf("violations %v", v)
		}
	})
}

func TestCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{})
		regions := len(sim.Catalog().Regions)
		plan := mustDo(t, api, "GET", "/v4/linode/types/g6-standard-2", "")
		if want := `map[hourly:0.036 monthly:24]`; fmt.Sprint(plan.body["price"]) != want {
			t.Errorf("price %v, want %s", plan.body["price"], want)
		}
		if want := `[map[hourly:0.043 id:id-cgk monthly:28.8] map[hourly:0.05 id:br-gru monthly:33.6]]`; fmt.Sprint(plan.body["region_prices"]) != want {
			t.Errorf("region_prices %v, want %s", plan.body["region_prices"], want)
		}
		for _, c := range []struct {
			filter string
			n      int
		}{
			{`{"class":"nanode"}`, 1}, {`{"gpus":{"+gt":0}}`, 13}, {`{"class":"premium","vcpus":{"+gte":48}}`, 3}, {`{"label":"Dedicated 4GB"}`, 1},
		} {
			if got := api.do("GET", "/v4/linode/types", "", "X-Filter", c.filter).data(t); len(got) != c.n {
				t.Errorf("%s: %d plans, want %d", c.filter, len(got), c.n)
			}
		}
		// A plan that is not restricted has no row; one that is has one in each region.
		for _, c := range []struct {
			plan string
			n    int
		}{{"g6-standard-2", 0}, {"g7-premium-2", regions}, {"g2-gpu-rtx4000a1-s", regions}} {
			if got := api.do("GET", "/v4/regions/availability", "", "X-Filter", fmt.Sprintf(`{"plan":%q}`, c.plan)).data(t); len(got) != c.n {
				t.Errorf("%s: %d rows, want %d", c.plan, len(got), c.n)
			}
		}
		if got := mustDo(t, api, "GET", "/v4/regions/us-ord", ""); got.body["country"] != "us" {
			t.Errorf("region %s", got.raw)
		}
		if got := mustDo(t, api, "GET", "/v4beta/lke/tiers/enterprise/versions/v1.33.6+lke7", ""); got.body["tier"] != "enterprise" {
			t.Errorf("version %s", got.raw)
		}
	})
}
