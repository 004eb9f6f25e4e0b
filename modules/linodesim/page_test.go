package linodesim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func page(t *testing.T, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		if _, text := page(t, sim.Page(), "GET", "/", ""); !strings.Contains(text, "No clusters.") || !strings.Contains(text, "No request yet.") {
			t.Errorf("page of an empty account:\n%s", text)
		}
		info, path := addCluster(t, sim, linodesim.Standard)
		got := mustDo(t, api, "POST", path+"/pools",
			`{"type":"g6-standard-4","count":1,"tags":["<script>alert(1)</script>"],"labels":{"a":"b"},"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}`)
		_, text := page(t, sim.Page(), "GET", "/", "")
		for _, want := range []string{
			"demo", fmt.Sprintf("cluster %d, standard, us-ord", info.ID), "1 of 2 nodes joined", fmt.Sprintf("Pool %v", got.body["id"]),
			"g6-standard-4, count 1, by user1", "a=b, taint k=v:NoSchedule", "no Linode yet", "ready, running", "0s of 1m50s", "$0.036 per hour",
			"1 tag<", "API calls in 5s", "now 1, most 1", "POST " + path + "/pools", "general",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not show %q", want)
			}
		}
		if strings.Contains(text, "<script>alert") {
			t.Error("a tag is not escaped")
		}
		if strings.Contains(text, linodesim.DefaultToken+"\"") {
			t.Error("the page shows the token")
		}
		linode := sim.Snapshot().Instances[0].ID
		mustDo(t, api, "PUT", fmt.Sprintf("/v4/linode/instances/%d", linode), `{"tags":["karpenter.sh/nodeclaim=default-abcde"]}`)
		api.do("GET", "/v4/no/such/thing", "")
		_, text = page(t, sim.Page(), "GET", "/", "")
		for _, want := range []string{`<td data-h="Owner">default-abcde</td>`, "GET /v4/no/such/thing"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not show %q", want)
			}
		}
	})
}

func TestAdmin(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string // {c} {p} {n} {i}: cluster, pool, node, Linode
		status                   int
		words                    string
		then                     func(t *testing.T, sim *linodesim.Sim, api client, path string)
	}{
		{name: "state", method: "GET", path: "/state", status: 200, words: `"Label":"demo"`},
		{name: "calls", method: "GET", path: "/calls", status: 200, words: "[]"},
		{name: "audit", method: "GET", path: "/audit", status: 200, words: "pool.create"},
		{name: "meters", method: "GET", path: "/meters", status: 200},
		{name: "unknown", method: "GET", path: "/unknown", status: 200},
		{name: "violations", method: "GET", path: "/violations", status: 200},
		{name: "rule", method: "POST", path: "/rules", body: `{"method":"GET","status":418,"delay":"1.5s","times":1}`, status: 200,
			words: `"id":1`,
			then: func(t *testing.T, _ *linodesim.Sim, api client, path string) {
				start := time.Now()
				if got := api.do("GET", path, ""); got.status != 418 || time.Since(start) != 1500*time.Millisecond {
					t.Errorf("answer %d after %v", got.status, time.Since(start))
				}
			}},
		{name: "rule with a typo", method: "POST", path: "/rules", body: `{"stauts":418}`, status: 400, words: "stauts"},
		{name: "rule with a bad duration", method: "POST", path: "/rules", body: `{"delay":"soon"}`, status: 400, words: "soon"},
		{name: "end a rule", method: "DELETE", path: "/rules/1", status: 200},
		{name: "end a rule without number", method: "DELETE", path: "/rules/x", status: 400, words: "must be a number"},
		{name: "end all", method: "DELETE", path: "/rules", status: 200},
		{name: "maintenance", method: "POST", path: "/faults",
			body: `{"maintenance":true,"account_limit":1,"never_boot":1,"stall":1,"no_capacity":{"type":"g6-standard-2"}}`, status: 200,
			then: func(t *testing.T, sim *linodesim.Sim, api client, path string) {
				if got := api.do("GET", path, ""); got.status != 503 {
					t.Errorf("answer %d, want 503", got.status)
				}
				sim.SetMaintenance(false)
				if _, reason := api.do("POST", path+"/pools", `{"type":"g6-standard-2","count":1}`).reason(); !strings.Contains(reason, "capacity") {
					t.Errorf("reason %q", reason)
				}
			}},
		{name: "a region without Metadata", method: "POST", path: "/conditions",
			body: `{"no_capability":{"region":"us-ord","capability":"Metadata"}}`, status: 200,
			then: func(t *testing.T, sim *linodesim.Sim, api client, _ string) {
				const linode = `{"type":"g6-nanode-1","region":%q,"image":"linode/debian12","root_pass":"not-a-secret","metadata":{"user_data":""}}`
				has := func(region string) bool {
					capabilities := mustDo(t, api, "GET", "/v4/regions/"+region, "").body["capabilities"].([]any)
					return slices.Contains(capabilities, any("Metadata")) && slices.Contains(capabilities, any("Linodes"))
				}
				if got := api.do("POST", "/v4beta/linode/instances", fmt.Sprintf(linode, "us-ord")); has("us-ord") || got.status != 400 ||
					!strings.Contains(got.raw, "Metadata") {
					t.Errorf("the region has it: %v; a Linode with user data: %d %s", has("us-ord"), got.status, got.raw)
				}
				if !has("us-sea") {
					t.Error("another region lost it, too")
				}
				sim.RestoreCapabilities()
				if mustDo(t, api, "POST", "/v4beta/linode/instances", fmt.Sprintf(linode, "us-ord")); !has("us-ord") {
					t.Error("it is not there again")
				}
			}},
		{name: "faults with a typo", method: "POST", path: "/faults", body: `{"maintain":true}`, status: 400},
		{name: "a header of a rule", method: "POST", path: "/rules", body: `{"status":503,"header":{"X-Maintenance-Mode":"all"}}`, status: 200,
			then: func(t *testing.T, _ *linodesim.Sim, api client, path string) {
				if got := api.do("GET", path, ""); got.header.Get("X-Maintenance-Mode") != "all" {
					t.Errorf("header %v", got.header)
				}
			}},
		{name: "what the API can do", method: "DELETE", path: "/nodes/{c}/{n}", status: 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
				info, path := addCluster(t, sim, linodesim.Standard)
				pool := info.Pools[0]
				where := strings.NewReplacer("{c}", fmt.Sprint(info.ID), "{p}", fmt.Sprint(pool.ID), "{n}", pool.Nodes[0].ID, "{i}",
					fmt.Sprint(pool.Nodes[0].InstanceID)).Replace(c.path)
				status, text := page(t, sim.Admin(), c.method, where, c.body)
				if status != c.status || !strings.Contains(text, c.words) {
					t.Errorf("%d: %s, want %d with %q", status, text, c.status, c.words)
				}
				if c.then != nil {
					c.then(t, sim, api, path)
				}
			})
		})
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		name, words string
		cfg         linodesim.Config
	}{
		{"time scale", "TimeScale is -1", linodesim.Config{TimeScale: -1}},
		{"token", "empty token", linodesim.Config{Tokens: map[string][]string{"": nil}}},
		{"rate class", `class "lists"`,
			linodesim.Config{RateLimits: map[string]linodesim.RateLimit{"lists": {Requests: 1, Window: time.Second}}}},
		{"rate limit", "collections", linodesim.Config{RateLimits: map[string]linodesim.RateLimit{"collections": {}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := linodesim.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
		})
	}
}

func TestBadClusters(t *testing.T) {
	for _, c := range []struct {
		name, words string
		spec        linodesim.ClusterSpec
	}{
		{"label", "[label]", linodesim.ClusterSpec{}},
		{"tier", "[tier]", linodesim.ClusterSpec{Label: "a", Tier: "gold"}},
		{"region", "[region]", linodesim.ClusterSpec{Label: "a", Region: "xx"}},
		{"region without Kubernetes", "[region]", linodesim.ClusterSpec{Label: "a", Region: "us-den-1"}},
		{"region without Enterprise", "[region]", linodesim.ClusterSpec{Label: "a", Region: "us-east", Tier: linodesim.Enterprise}},
		{"version", "[k8s_version]", linodesim.ClusterSpec{Label: "a", K8sVersion: "1.0"}},
		{"tag", "[tags[0]]", linodesim.ClusterSpec{Label: "a", Tags: []string{"x"}}},
		{"pool", "[node_pools[0].type]", linodesim.ClusterSpec{Label: "a", Pools: []linodesim.PoolSpec{{Type: "x", Count: 1}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, _ := newSim(t, linodesim.Config{})
			if _, err := sim.AddCluster(c.spec); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %q", err, c.words)
			}
			if s := sim.Snapshot(); len(s.Clusters) != 0 {
				t.Errorf("a refused cluster exists: %+v", s.Clusters)
			}
		})
	}
}

// Programs read the state by the names of single fields, whichever Go types have them.
func TestStateInJSONHasOneObjectForEachClusterPoolAndLinode(t *testing.T) {
	sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	addCluster(t, sim, linodesim.Enterprise)
	_, text := page(t, sim.Admin(), "GET", "/state", "")
	var state struct {
		Clusters []struct {
			ID, VPCID                   *int
			Created, Reachable          *string
			HighAvailability, AuditLogs *bool
			Pools                       []struct {
				ID, Count                  *int
				K8sVersion, DiskEncryption *string
				Labels                     *map[string]string
			}
		}
		Instances []struct {
			ID, ClusterID, PlacementGroup                     *int
			HostUUID, PublicIPv4, BackupDay, Updated, Console *string
			HasUserData                                       *bool
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Clusters) != 1 || len(state.Clusters[0].Pools) == 0 || len(state.Instances) == 0 {
		t.Fatalf("no cluster with a pool and a Linode in %s", text)
	}
	for _, object := range []any{state.Clusters[0], state.Clusters[0].Pools[0], state.Instances[0]} {
		fields := reflect.ValueOf(object)
		for i := range fields.NumField() {
			if fields.Field(i).IsNil() {
				t.Errorf("%s is missing in %s", fields.Type().Field(i).Name, text)
			}
		}
	}
}

// The page shows the active faults, and the objects other than Linodes.
func TestPageShowsFaultsAndAssets(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	c, _ := addCluster(t, sim, linodesim.Standard)
	if err := sim.EditPool(c.ID, c.Pools[0].ID,
		linodesim.PoolEdit{Labels: &map[string]string{"karpenter.sh/nodepool": "default"}}); err != nil {
		t.Fatal(err)
	}
	if _, text := page(t, sim.Page(), "GET", "/", ""); strings.Contains(text, "Active faults") || len(sim.Active()) != 0 {
		t.Errorf("a healthy account has faults %v:\n%s", sim.Active(), text)
	}
	mustDo(t, api, "POST", "/v4/nodebalancers", `{"region":"us-ord","label":"web","configs":[{"port":80,"protocol":"tcp"}]}`)
	mustDo(t, api, "POST", "/v4/volumes", `{"region":"us-ord","label":"data"}`)
	sim.Fail(linodesim.Rule{Method: "PUT", Answer: linodesim.Answer{Status: 503}, Times: 3})
	sim.Fail(linodesim.Rule{Kind: linodesim.Writes, View: linodesim.View{Late: 30 * time.Second}, Probability: 0.5})
	sim.RefuseCapacity(linodesim.NoCapacity{Type: "g6-standard-2"})
	sim.WithdrawCapability(linodesim.NoCapability{Region: "us-ord", Capability: "Metadata"})
	sim.SetAccountLimit(5)
	sim.NeverBoot(0, 2)
	_, text := page(t, sim.Page(), "GET", "/", "")
	for _, want := range []string{
		"Active faults", "no capacity for g6-standard-2 in any region", "us-ord lacks Metadata", "the account is limited to 5 Linodes",
		"the next 2 Linodes never boot", "PUT: answered 503, at most 3 times", "writes: carried out 30s late, 0.5 of them",
		"NodePool default", "NodeBalancers and volumes",
		"1 ports, 0 nodes up, 0 down", "active, 20 GB", "$24 per month",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	sim.HealAll()
	if got := sim.Active(); len(got) != 0 {
		t.Errorf("healed, and %v", got)
	}
}
