package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// LKE Enterprise accepts a pool, and more nodes, beyond the account's limits or without capacity, and nothing comes of
// them until there is room (FACTS 18.7). Standard, and plain Linodes, are refused.
func TestEnterpriseSaysNothingAboutWhatItLacks(t *testing.T) {
	for _, c := range []struct {
		name   string
		lack   func(*linodesim.Sim, int)
		room   func(*linodesim.Sim)
		reason string // on Standard
	}{
		{"more Linodes than the account may have", func(s *linodesim.Sim, has int) { s.SetAccountLimit(has + 1) },
			func(s *linodesim.Sim) { s.SetAccountLimit(0) }, "Account Limit reached. Please open a support ticket."},
		{"more vCPUs than the account may have", func(s *linodesim.Sim, has int) { s.SetVCPULimit(2*has + 3) },
			func(s *linodesim.Sim) { s.SetVCPULimit(0) }, "Account Limit reached. Please open a support ticket."},
		{"no capacity", func(s *linodesim.Sim, _ int) { s.RefuseCapacity(linodesim.NoCapacity{Silent: true}) },
			func(s *linodesim.Sim) { s.RestoreCapacity() }, "There is currently not enough capacity for plan g6-standard-2 in region us-ord."},
		{"healed", func(s *linodesim.Sim, _ int) { s.RefuseCapacity(linodesim.NoCapacity{Silent: true}) },
			func(s *linodesim.Sim) { s.HealAll() }, "There is currently not enough capacity for plan g6-standard-2 in region us-ord."},
	} {
		for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
			t.Run(c.name+"/"+tier, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
					lke, err := sim.AddCluster(linodesim.ClusterSpec{Label: "one", Tier: tier, Settled: true,
						Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2}}})
					if err != nil {
						t.Fatal(err)
					}
					linodes := func() int { return len(sim.Snapshot().Instances) }
					had := linodes()
					c.lack(sim, had)
					pools := fmt.Sprintf("/v4beta/lke/clusters/%d/pools", lke.ID)
					got := api.do("POST", pools, `{"type":"g6-standard-2","count":3}`)
					if tier == linodesim.Standard {
						if _, reason := got.reason(); got.status != 400 || reason != c.reason {
							t.Errorf("%d %q, want a refusal: %s", got.status, reason, c.reason)
						}
						return
					}
					fit := 0
					if c.name != "no capacity" && c.name != "healed" {
						fit = 1
					}
					time.Sleep(24 * time.Hour)
					if n := linodes(); got.status != 200 || n != had+fit {
						t.Fatalf("%d: %s; %d Linodes after a day, want %d", got.status, got.raw, n, had+fit)
					}
					path := fmt.Sprintf("%s/%v", pools, number(got.body["id"]))
					if grown := mustDo(t, api, "PUT", path, `{"count":4}`); grown.body["count"] != 4.0 || linodes() != had+fit {
						t.Errorf("growth: %s, %d Linodes", grown.raw, linodes())
					}
					if len(sim.Active()) == 0 {
						t.Error("the page does not say so")
					}
					c.room(sim)
					time.Sleep(time.Minute)
					if n := linodes(); n != had+4 {
						t.Errorf("%d Linodes once there is room, want %d", n, had+4)
					}
				})
			})
		}
	}
}

// At the account's limit of VPCs a new Enterprise cluster without a VPC is accepted and hangs (FACTS 18.7).
func TestAnEnterpriseClusterHangsAtTheLimitOfVPCs(t *testing.T) {
	const nodes = `"node_pools":[{"type":"g6-standard-2","count":1}]}`
	const enterprise = `{"label":"big","region":"us-ord","k8s_version":"v1.33.6+lke7","tier":"enterprise",`
	for _, c := range []struct {
		name, cluster string
		room          func(*linodesim.Sim, client, any) // nil: it does not hang
		refuses       bool
	}{
		{"the limit is raised", enterprise + nodes, func(s *linodesim.Sim, _ client, _ any) { s.SetVPCLimit(2) }, false},
		{"another VPC is deleted", enterprise + nodes, func(_ *linodesim.Sim, api client, vpc any) {
			mustDo(t, api, "DELETE", fmt.Sprintf("/v4beta/vpcs/%v", vpc), "")
		}, false},
		{"all faults end", enterprise + nodes, func(s *linodesim.Sim, _ client, _ any) { s.HealAll() }, false},
		{"in a VPC that exists", enterprise + `"vpc_id":%v,"subnet_id":%v,` + nodes, nil, false},
		{"Standard", `{"label":"small","region":"us-ord","k8s_version":"1.35",` + nodes, nil, false},
		{"an account that is refused beyond its limits", enterprise + nodes, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), Behaviour: linodesim.Behaviour{RefuseBeyondLimits: c.refuses}})
				vpc := mustDo(t, api, "POST", "/v4beta/vpcs",
					`{"label":"mine","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[{"label":"nodes","ipv4":"10.0.0.0/24","ipv6":[{"range":"auto"}]}]}`)
				id, subnet := number(vpc.body["id"]), number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"])
				sim.SetVPCLimit(1)
				if got := api.do("POST", "/v4beta/vpcs", `{"label":"more","region":"us-ord"}`); got.status != 400 {
					t.Errorf("another VPC: %d", got.status)
				}
				body := c.cluster
				if strings.Contains(body, "%v") {
					body = fmt.Sprintf(body, id, subnet)
				}
				got := api.do("POST", "/v4beta/lke/clusters", body)
				if c.refuses {
					if _, reason := got.reason(); got.status != 400 || reason != "Account Limit reached. Please open a support ticket." {
						t.Errorf("%d: %s", got.status, got.raw)
					}
					return
				}
				path := fmt.Sprintf("/v4beta/lke/clusters/%v", number(got.body["id"]))
				works := func() bool {
					joined := len(sim.Snapshot().Instances) == 1
					answers := api.do("GET", path+"/kubeconfig", "").status == 200 && api.do("GET", path+"/api-endpoints", "").status == 200
					if joined != answers {
						t.Errorf("a Linode: %v, a control plane: %v", joined, answers)
					}
					return joined
				}
				time.Sleep(24 * time.Hour)
				if works() != (c.room == nil) {
					t.Fatalf("after a day it works: %v", c.room != nil)
				}
				if c.room == nil {
					return
				}
				if shown := fmt.Sprint(sim.Active()); !strings.Contains(shown, "limited to 1 VPCs") {
					t.Errorf("the page shows %s", shown)
				}
				c.room(sim, api, id)
				time.Sleep(time.Minute)
				if !works() {
					t.Error("it hangs although there is room")
				}
			})
		})
	}
}

// The hostile profile keeps some nodes of LKE Enterprise without a Linode for minutes, and no request for them fails.
func TestHostileEnterpriseIsSilentAboutSomeNodes(t *testing.T) {
	const nodes = 200
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		for _, healed := range []bool{false, true} {
			t.Run(fmt.Sprint(tier, " healed ", healed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					profile := linodesim.Instant()
					hostile := linodesim.Hostile().Faults
					profile.Faults = linodesim.FaultRates{Silence: hostile.Silence, SilenceFor: hostile.SilenceFor}
					sim, api := newSim(t, linodesim.Config{Profile: profile})
					lke, _ := addCluster(t, sim, tier)
					before := len(sim.Snapshot().Instances)
					for range nodes / 50 {
						mustDo(t, api, "POST", fmt.Sprintf("/v4beta/lke/clusters/%d/pools", lke.ID), `{"type":"g6-standard-2","count":50}`)
					}
					missing := func() int { return before + nodes - len(sim.Snapshot().Instances) }
					time.Sleep(hostile.SilenceFor - time.Second)
					if n := missing(); n > nodes/10 || (n > 0) != (tier == linodesim.Enterprise) {
						t.Errorf("%d of %d nodes have no Linode", n, nodes)
					}
					if healed {
						sim.HealAll()
					}
					time.Sleep(time.Second)
					if n := missing(); n != 0 {
						t.Errorf("%d nodes have no Linode in the end", n)
					}
				})
			})
		}
	}
}

// Room that another node leaves goes to the request that has waited longest. A node that is deleted while it waits waits no longer.
func TestRoomGoesToTheNodeThatWaitsLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		lke, err := sim.AddCluster(linodesim.ClusterSpec{Label: "one", Tier: linodesim.Enterprise, Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		sim.SetAccountLimit(2)
		pools := fmt.Sprintf("/v4beta/lke/clusters/%d/pools", lke.ID)
		paths := make([]string, 3)
		for n := range paths {
			paths[n] = fmt.Sprintf("%s/%v", pools, number(mustDo(t, api, "POST", pools, `{"type":"g6-standard-2","count":1}`).body["id"]))
			time.Sleep(time.Second)
		}
		mustDo(t, api, "DELETE", paths[0], "")
		mustDo(t, api, "DELETE", fmt.Sprintf("/v4beta/lke/clusters/%d/nodes/%s", lke.ID, lke.Pools[0].Nodes[0].ID), "")
		time.Sleep(time.Minute)
		for n, want := range map[int]bool{1: true, 2: false} {
			node := mustDo(t, api, "GET", paths[n], "").body["nodes"].([]any)[0].(map[string]any)
			if got := node["instance_id"] != nil; got != want {
				t.Errorf("pool %d has a Linode: %v, want %v", n, got, want)
			}
		}
	})
}

// Guesses and facts about LKE Enterprise that a client can meet, each with what Standard does.
func TestEnterprisePeculiarities(t *testing.T) {
	const long = "sixteen-letters-x"
	for _, c := range []struct {
		name, tier, label string
		joins             bool
	}{
		{"a pool's label of 15 characters", linodesim.Enterprise, long[:15], true},
		{"a pool's label of 16 characters: its node never registers (18.6)", linodesim.Enterprise, "sixteen-letters1", false},
		{"the same on Standard", linodesim.Standard, "sixteen-letters1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				lke, _ := addCluster(t, sim, c.tier)
				made := mustDo(t, api, "POST", fmt.Sprintf("/v4beta/lke/clusters/%d/pools", lke.ID),
					fmt.Sprintf(`{"type":"g6-standard-2","count":1,"label":%q}`, c.label))
				time.Sleep(24 * time.Hour)
				got := mustDo(t, api, "GET", fmt.Sprintf("/v4beta/lke/clusters/%d/pools/%v", lke.ID, number(made.body["id"])), "")
				node := got.body["nodes"].([]any)[0].(map[string]any)
				if joined := node["status"] == "ready"; joined != c.joins || node["instance_id"] == nil {
					t.Errorf("node %v, joined wanted %v", node, c.joins)
				}
			})
		})
	}
}

// Clusters as they were recorded or seen: App Platform without control_plane (18.15), a subnet without its VPC (18.8).
func TestClustersThatAreAskedForInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		standard := mustDo(t, api, "POST", "/v4beta/lke/clusters",
			`{"label":"apl","region":"us-ord","k8s_version":"1.35","apl_enabled":true,"node_pools":[{"type":"g6-standard-2","count":1}]}`)
		if plane := standard.body["control_plane"].(map[string]any); plane["high_availability"] != true || standard.body["apl_enabled"] != true {
			t.Errorf("App Platform: %s", standard.raw)
		}
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs",
			`{"label":"mine","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[{"label":"nodes","ipv4":"10.0.0.0/24","ipv6":[{"range":"auto"}]}]}`)
		subnet := number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"])
		made := mustDo(t, api, "POST", "/v4beta/lke/clusters", fmt.Sprintf(
			`{"label":"net","region":"us-ord","k8s_version":"v1.33.6+lke7","tier":"enterprise","subnet_id":%v,"node_pools":[]}`, subnet))
		own := mustDo(t, api, "GET", fmt.Sprintf("/v4beta/vpcs/%v", number(made.body["vpc_id"])), "")
		if made.body["vpc_id"] == vpc.body["id"] || number(made.body["subnet_id"]) == subnet ||
			own.body["label"] != fmt.Sprintf("lke%v", number(made.body["id"])) {
			t.Errorf("a subnet without its VPC: %s in %s", made.raw, own.raw)
		}
	})
}

// The versions of Enterprise are exact builds, and an account may be offered others than the catalogue has (18.10).
func TestVersionsDifferByAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		create := func(version string) reply {
			return api.do("POST", "/v4beta/lke/clusters",
				fmt.Sprintf(`{"label":"v","region":"us-ord","k8s_version":%q,"tier":"enterprise","node_pools":[]}`, version))
		}
		if got := create("v1.33.6+lke7"); got.status != 200 {
			t.Fatal(got.raw)
		}
		sim.OfferEnterpriseVersions("v1.34.6+lke2", "v1.32.9+lke4")
		list := api.do("GET", "/v4beta/lke/tiers/enterprise/versions", "").data(t)
		if len(list) != 2 || list[0]["id"] != "v1.34.6+lke2" {
			t.Errorf("offered %v", list)
		}
		if field, _ := create("v1.33.6+lke7").reason(); field != "k8s_version" {
			t.Errorf("a pin that worked before is refused for %q", field)
		}
		if got := create("v1.34.6+lke2"); got.status != 200 {
			t.Error(got.raw)
		}
		sim.HealAll()
		if got := create("v1.33.6+lke7"); got.status != 200 {
			t.Error(got.raw)
		}
	})
}

// Isolation is refused on Standard, which is inferred from the vendor's Terraform provider; an account may have access on both tiers.
func TestIsolationByTier(t *testing.T) {
	for _, c := range []struct {
		tier, reason string
	}{
		{linodesim.Standard, "isolation is only available for LKE Enterprise clusters"},
		{linodesim.Enterprise, "isolation is not available to this account"},
	} {
		for _, allowed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), Behaviour: linodesim.Behaviour{AllowIsolation: allowed}})
				lke, _ := addCluster(t, sim, c.tier)
				got := api.do("POST", fmt.Sprintf("/v4beta/lke/clusters/%d/pools", lke.ID),
					`{"type":"g6-standard-2","count":1,"isolation":{"public_ipv4":false}}`)
				field, reason := got.reason()
				if allowed && got.status != 200 || !allowed && (field != "isolation" || reason != c.reason) {
					t.Errorf("%s, access %v: %d [%s] %q", c.tier, allowed, got.status, field, reason)
				}
			})
		}
	}
}

// Both tiers are played both ways, and the default of Enterprise is a guess.
func TestWhenPoolsTaintsAreSetByTier(t *testing.T) {
	for choice, late := range map[linodesim.PoolTaints][2]bool{
		linodesim.TaintsByTier: {true, false}, linodesim.TaintsAtRegistration: {false, false}, linodesim.TaintsLate: {true, true},
	} {
		if got := [2]bool{choice.Late(linodesim.Standard), choice.Late(linodesim.Enterprise)}; got != late {
			t.Errorf("%d: late on Standard and Enterprise %v, want %v", choice, got, late)
		}
	}
}
