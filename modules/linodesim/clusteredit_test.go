package linodesim_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestClustersCanBeChanged(t *testing.T) {
	for _, c := range []struct{ name, tier, body, field, want string }{
		{"label and tags", linodesim.Standard, `{"label":"new","tags":["abc","abc"]}`, "", "new 1.35 [abc] map[high_availability:false]"},
		{"high availability", linodesim.Standard, `{"control_plane":{"high_availability":true}}`, "", "demo 1.35 [] map[high_availability:true]"},
		{"audit logs", linodesim.Enterprise, `{"control_plane":{"audit_logs_enabled":true}}`, "",
			"demo v1.33.6+lke7 [] map[audit_logs_enabled:true high_availability:true]"},
		{"audit logs of Standard", linodesim.Standard, `{"control_plane":{"audit_logs_enabled":true}}`, "control_plane.audit_logs_enabled", ""},
		{"no high availability", linodesim.Enterprise, `{"control_plane":{"high_availability":false}}`, "control_plane.high_availability", ""},
		{"older version", linodesim.Standard, `{"k8s_version":"1.31"}`, "k8s_version", ""},
		{"unknown version", linodesim.Standard, `{"k8s_version":"9.99"}`, "k8s_version", ""},
		{"tag too short", linodesim.Standard, `{"tags":["x"]}`, "tags[0]", ""},
		{"empty label", linodesim.Standard, `{"label":""}`, "label", ""},
		{"no network", linodesim.Standard, `{"control_plane":{"acl":{"enabled":true,"addresses":{"ipv4":["10.0.0.0/33"]}}}}`,
			"control_plane.acl.addresses.ipv4[0]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				_, path := addCluster(t, sim, c.tier)
				got := api.do("PUT", path, c.body)
				if c.field != "" {
					if field, _ := got.reason(); got.status != 400 || field != c.field {
						t.Errorf("%d [%s], want 400 [%s]", got.status, field, c.field)
					}
					return
				}
				read := mustDo(t, api, "GET", path, "").body
				for _, b := range []map[string]any{got.body, read} {
					if is := fmt.Sprint(b["label"], " ", b["k8s_version"], " ", b["tags"], " ", b["control_plane"]); is != c.want {
						t.Errorf("%s, want %s", is, c.want)
					}
				}
			})
		})
	}
}

func TestUpgradeReachesNodesThatAreRecycled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "up", K8sVersion: "1.34", Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 2}, {Type: "g6-standard-4", Count: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/v4beta/lke/clusters/%d", info.ID)
		mustDo(t, api, "PUT", path, `{"k8s_version":"1.35"}`)
		mustDo(t, api, "POST", path+"/recycle", "")
		time.Sleep(time.Minute)
		if n := left(sim, info); n != 2 {
			t.Errorf("%d nodes are left after a minute; one after another is replaced", n)
		}
		time.Sleep(time.Hour)
		if n := left(sim, info); n != 0 {
			t.Errorf("%d nodes were not replaced", n)
		}
		for range 3 {
			if e := <-sim.Subscribe(t.Context()); e.K8sVersion != "1.35" {
				t.Errorf("node of version %s", e.K8sVersion)
			}
		}
	})
}

// left counts the earlier nodes that still exist.
func left(sim *linodesim.Sim, before linodesim.ClusterInfo) int {
	n := 0
	for i, p := range sim.Snapshot().Clusters[0].Pools {
		for _, was := range before.Pools[i].Nodes {
			for _, is := range p.Nodes {
				if was.ID == is.ID {
					n++
				}
			}
		}
	}
	return n
}

func TestCredentialsOfAClusterAreMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{})
		_, path := addCluster(t, sim, linodesim.Standard)
		kubeconfig := func() string {
			text, err := base64.StdEncoding.DecodeString(mustDo(t, api, "GET", path+"/kubeconfig", "").body["kubeconfig"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		seen := []string{kubeconfig()}
		for _, c := range []struct {
			method, path, body string
			changes            bool
		}{
			{"DELETE", "/kubeconfig", "", true}, {"POST", "/regenerate", `{"kubeconfig":true}`, true},
			{"POST", "/regenerate", `{"servicetoken":true}`, false}, {"DELETE", "/servicetoken", "", false},
		} {
			mustDo(t, api, c.method, path+c.path, c.body)
			now := kubeconfig()
			if slices.Contains(seen, now) == c.changes {
				t.Errorf("%s %s %s: changed is %v", c.method, c.path, c.body, !c.changes)
			}
			seen = append(seen, now)
		}
		if n := sim.Snapshot().Clusters[0].TokenSerial; n != 2 {
			t.Errorf("%d service tokens were made, want 2", n)
		}
	})
}

func TestControlPlaneACL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{})
		_, path := addCluster(t, sim, linodesim.Standard)
		path += "/control_plane_acl"
		const none = `{"acl":{"addresses":{"ipv4":[],"ipv6":[]},"enabled":false}}`
		read := func() string { return strings.TrimSpace(mustDo(t, api, "GET", path, "").raw) }
		if got := read(); got != none {
			t.Errorf("at first %s", got)
		}
		mustDo(t, api, "PUT", path, `{"acl":{"enabled":true,"addresses":{"ipv4":["10.0.0.1","192.0.2.0/24"],"ipv6":["1234::5678"]},"revision-id":"mine"}}`)
		if want := `{"acl":{"addresses":{"ipv4":["10.0.0.1/32","192.0.2.0/24"],"ipv6":["1234::5678/128"]},"enabled":true,"revision-id":"mine"}}`; read() != want {
			t.Errorf("%s, want %s", read(), want)
		}
		made := mustDo(t, api, "PUT", path, `{"acl":{"enabled":true}}`)
		if id, _ := made.body["acl"].(map[string]any)["revision-id"].(string); len(id) != 32 {
			t.Errorf("revision %q", id)
		}
		for body, want := range map[string]string{
			`{"acl":{"addresses":{"ipv4":["x"]}}}`: "acl.addresses.ipv4[0]", `{"acl":{"addresses":{"ipv6":["10.0.0.1"]}}}`: "acl.addresses.ipv6[0]",
		} {
			if field, _ := api.do("PUT", path, body).reason(); field != want {
				t.Errorf("%s: [%s], want [%s]", body, field, want)
			}
		}
		mustDo(t, api, "DELETE", path, "")
		if got := read(); got != none {
			t.Errorf("after DELETE %s", got)
		}
	})
}

func TestOperationsOfAMissingCluster(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	for _, request := range []string{
		"PUT /lke/clusters/1 {}", "POST /lke/clusters/1/recycle {}", "POST /lke/clusters/1/regenerate {}", "DELETE /lke/clusters/1/kubeconfig",
		"DELETE /lke/clusters/1/servicetoken", "GET /lke/clusters/1/control_plane_acl", `PUT /lke/clusters/1/control_plane_acl {"acl":{}}`,
		"DELETE /lke/clusters/1/control_plane_acl",
	} {
		part := strings.SplitN(request+" ", " ", 3)
		if got := api.do(part[0], "/v4beta"+part[1], part[2]); got.status != 404 {
			t.Errorf("%s: %d %s", request, got.status, got.raw)
		}
	}
}

func TestEventsOfTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, path := addCluster(t, sim, linodesim.Standard)
		_, created := newLinode(t, api,
			`{"type":"g6-nanode-1","region":"us-ord","label":"one","image":"linode/debian12","root_pass":"not-a-secret"}`)
		time.Sleep(time.Hour)
		mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":1}`)
		list := func(filter string) []map[string]any {
			return api.do("GET", "/v4beta/account/events", "", "X-Filter", filter).data(t)
		}
		mine := list(fmt.Sprintf(`{"entity.id":%v,"entity.type":"linode","+order_by":"id","+order":"asc"}`, number(created.body["id"])))
		var actions []string
		for _, e := range mine {
			actions = append(actions, e["action"].(string))
		}
		if want := []string{"linode_create", "linode_boot"}; !slices.Equal(actions, want) {
			t.Errorf("actions %q, want %q", actions, want)
		}
		if got := list(`{"action":"lke_pool_create"}`); len(got) != 2 || got[0]["id"].(float64) < got[1]["id"].(float64) ||
			got[0]["username"] != "user1" {
			t.Errorf("pools: %v", got)
		}
		if entity := mine[0]["entity"].(map[string]any); entity["label"] != "one" ||
			entity["url"] != fmt.Sprintf("/v4/linode/instances/%v", number(created.body["id"])) {
			t.Errorf("%v", mine[0])
		}
	})
}
