package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A request that the API refuses is refused in its shape: status, field and
// reason.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		name                 string
		tier                 string // "" = standard
		method, path, body   string // {c} and {p}: cluster and pool; a path without version is below /v4beta
		headers              []string
		status               int
		wantField, wantWords string
	}{
		{name: "unknown route", method: "GET", path: "/lke/nothing", status: 404, wantWords: "Not found"},
		{name: "unknown method", method: "PATCH", path: "/lke/clusters/{c}", status: 404},
		{name: "no version", method: "GET", path: "!/lke/clusters", status: 404},
		{name: "path that is not clean", method: "GET", path: "/lke//clusters", status: 404},
		{name: "beta operation on v4", method: "GET", path: "!/v4/lke/tiers/standard/versions", status: 404},
		{name: "unknown cluster", method: "GET", path: "/lke/clusters/0", status: 404, wantWords: "Not found"},
		{name: "cluster that is no number", method: "GET", path: "/lke/clusters/demo", status: 404},
		{name: "unknown pool", method: "GET", path: "/lke/clusters/{c}/pools/1", status: 404},
		{name: "pool of no cluster", method: "GET", path: "/lke/clusters/0/pools/{p}", status: 404},
		{name: "unknown node", method: "DELETE", path: "/lke/clusters/{c}/nodes/1-aa", status: 404},
		{name: "unknown plan", method: "GET", path: "/linode/types/missing-type", status: 404},
		{name: "unknown region", method: "GET", path: "/regions/xx-yyy/availability", status: 404},
		{name: "unknown version", method: "GET", path: "/lke/tiers/standard/versions/1.99", status: 404},
		{name: "unknown tier", method: "GET", path: "/lke/tiers/gold/versions", status: 404},
		{name: "unknown firewall", method: "GET", path: "/networking/firewalls/1", status: 404},

		{name: "page zero", method: "GET", path: "/linode/instances?page=0", status: 400, wantField: "page"},
		{name: "page that is no number", method: "GET", path: "/linode/instances?page=one", status: 400, wantField: "page"},
		{name: "page beyond the end", method: "GET", path: "/linode/instances?page=2", status: 404},
		{name: "page too small", method: "GET", path: "/linode/instances?page_size=24", status: 400, wantField: "page_size", wantWords: "25-500"},
		{name: "page too large", method: "GET", path: "/linode/instances?page_size=501", status: 400, wantField: "page_size"},
		{name: "filter field", method: "GET", path: "/linode/instances", headers: []string{"X-Filter", `{"foo":"bar"}`}, status: 400,
			wantField: "X-Filter", wantWords: "Cannot filter on foo"},
		{name: "filter on what looks filterable", method: "GET", path: "/linode/instances", headers: []string{"X-Filter", `{"lke_cluster_id":1}`},
			status: 400, wantField: "X-Filter", wantWords: "Cannot filter on lke_cluster_id"},
		{name: "beta filter on v4", method: "GET", path: "!/v4/lke/clusters", headers: []string{"X-Filter", `{"tier":"standard"}`}, status: 400,
			wantField: "X-Filter"},
		{name: "filter that is no JSON", method: "GET", path: "/linode/instances", headers: []string{"X-Filter", `{`}, status: 400,
			wantField: "X-Filter"},
		{name: "list of tags in a filter", method: "GET", path: "/linode/instances", headers: []string{"X-Filter", `{"tags":["abc"]}`},
			status: 400, wantField: "X-Filter"},

		{name: "body that is no JSON", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":`, status: 400, wantWords: "JSON"},
		{name: "two bodies", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2","count":1}{}`, status: 400,
			wantWords: "JSON"},
		{name: "body that is no object", method: "POST", path: "/lke/clusters/{c}/pools", body: `[]`, status: 400},
		{name: "no body", method: "POST", path: "/lke/clusters/{c}/pools", status: 400},
		{name: "missing count", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2"}`, status: 400,
			wantField: "count", wantWords: "required"},
		{name: "count of another type", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2","count":"1"}`,
			status: 400, wantField: "count", wantWords: "integer"},
		{name: "unknown field", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2","count":1,"colour":"red"}`,
			status: 400, wantField: "colour", wantWords: "not a known field"},
		{name: "unknown field inside", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"taints":[{"key":"a","value":"b","effect":"NoSchedule","x":1}]}`, status: 400,
			wantField: "taints[0].x"},
		{name: "type cannot change", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"type":"g6-standard-4"}`, status: 400,
			wantField: "type"},
		{name: "beta field on v4", tier: linodesim.Enterprise, method: "PUT", path: "!/v4/lke/clusters/{c}/pools/{p}",
			body: `{"update_strategy":"on_recycle"}`, status: 400, wantField: "update_strategy"},

		{name: "plan that does not exist", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-nope","count":1}`, status: 400,
			wantField: "type", wantWords: "type is not valid"},
		{name: "nanode", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-nanode-1","count":1}`, status: 400,
			wantField: "type"},
		{name: "quadro", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g1-gpu-rtx6000-1","count":1}`, status: 400,
			wantField: "type"},
		{name: "plan not in this region", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g8-dedicated-4-2","count":1}`,
			status: 400, wantField: "type", wantWords: "not available in region us-ord"},
		{name: "count zero", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"count":0}`, status: 400, wantField: "count",
			wantWords: "Must be 1-100"},
		{name: "count too high", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"count":101}`, status: 400, wantField: "count"},
		{name: "count too high on enterprise", tier: linodesim.Enterprise, method: "PUT", path: "/lke/clusters/{c}/pools/{p}",
			body: `{"count":501}`, status: 400, wantField: "count", wantWords: "500"},
		{name: "short tag", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2","count":1,"tags":["abc","ab"]}`,
			status: 400, wantField: "tags[1]", wantWords: `"ab" must be 3-50`},
		{name: "long tag", method: "PUT", path: "/linode/instances/{i}", body: fmt.Sprintf(`{"tags":[%q]}`, long[:51]), status: 400,
			wantField: "tags[0]"},
		{name: "reserved label", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"labels":{"node.kubernetes.io/x":"y"}}`, status: 400, wantField: "labels.node.kubernetes.io/x",
			wantWords: "reserved"},
		{name: "long label key", method: "POST", path: "/lke/clusters/{c}/pools",
			body: fmt.Sprintf(`{"type":"g6-standard-2","count":1,"labels":{%q:"y"}}`, long), status: 400, wantField: "labels." + long},
		{name: "bad label key", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"labels":{"-a":"y"}}`, status: 400,
			wantField: "labels.-a"},
		{name: "bad label value", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"labels":{"a":"a b"}}`, status: 400,
			wantField: "labels.a"},
		{name: "taint effect", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"taints":[{"key":"a","value":"b","effect":"Never"}]}`,
			status: 400, wantField: "taints[0].effect"},
		{name: "taint without value", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"taints":[{"key":"a","effect":"NoSchedule"}]}`,
			status: 400, wantField: "taints[0].value"},
		{name: "long taint key", method: "PUT", path: "/lke/clusters/{c}/pools/{p}",
			body: fmt.Sprintf(`{"taints":[{"key":%q,"value":"b","effect":"NoSchedule"}]}`, long), status: 400, wantField: "taints[0].key"},
		{name: "reserved taint value", method: "PUT", path: "/lke/clusters/{c}/pools/{p}",
			body: `{"taints":[{"key":"a","value":"linode.com","effect":"NoSchedule"}]}`, status: 400, wantField: "taints[0].value"},
		{name: "disk type", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"disks":[{"size":1,"type":"ntfs"}]}`, status: 400, wantField: "disks[0].type"},
		{name: "disk size", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"disks":[{"size":1,"type":"raw"},{"size":0,"type":"raw"}]}`, status: 400,
			wantField: "disks[1].size"},
		{name: "too many disks", method: "POST", path: "/lke/clusters/{c}/pools",
			body:   `{"type":"g6-standard-2","count":1,"disks":[` + strings.Repeat(`{"size":1,"type":"raw"},`, 7) + `{"size":1,"type":"raw"}]}`,
			status: 400, wantField: "disks"},
		{name: "disk encryption", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"disk_encryption":"maybe"}`, status: 400, wantField: "disk_encryption"},
		{name: "isolation", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"isolation":{"public_ipv4":false}}`, status: 400, wantField: "isolation"},
		{name: "min above max", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"autoscaler":{"enabled":true,"min":3,"max":2}}`,
			status: 400, wantField: "autoscaler.max"},
		{name: "min too low", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"autoscaler":{"min":0,"max":2}}`, status: 400,
			wantField: "autoscaler.min"},
		{name: "bad taint key", method: "PUT", path: "/lke/clusters/{c}/pools/{p}",
			body: `{"taints":[{"key":"a/b/c","value":"b","effect":"NoSchedule"}]}`, status: 400, wantField: "taints[0].key"},
		{name: "bad taint value", method: "PUT", path: "/lke/clusters/{c}/pools/{p}",
			body: `{"taints":[{"key":"a","value":"-","effect":"NoSchedule"}]}`, status: 400, wantField: "taints[0].value"},
		{name: "pool label", method: "POST", path: "/lke/clusters/{c}/pools", body: `{"type":"g6-standard-2","count":1,"label":"Bad"}`,
			status: 400, wantField: "label"},
		{name: "min without max", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"autoscaler":{"enabled":true,"min":1}}`,
			status: 400, wantField: "autoscaler"},
		{name: "version on standard", method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"k8s_version":"v1.33.6+lke7"}`, status: 400, wantField: "k8s_version", wantWords: "Enterprise"},
		{name: "firewall on standard", method: "PUT", path: "/lke/clusters/{c}/pools/{p}", body: `{"firewall_id":1}`, status: 400,
			wantField: "firewall_id", wantWords: "Enterprise"},
		{name: "firewall that does not exist", tier: linodesim.Enterprise, method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"firewall_id":1}`, status: 400, wantField: "firewall_id"},
		{name: "version that does not exist", tier: linodesim.Enterprise, method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"k8s_version":"v1.0.0+lke1"}`, status: 400, wantField: "k8s_version"},
		{name: "strategy that does not exist", tier: linodesim.Enterprise, method: "POST", path: "/lke/clusters/{c}/pools",
			body: `{"type":"g6-standard-2","count":1,"update_strategy":"never"}`, status: 400, wantField: "update_strategy"},
		{name: "last pool of a standard cluster", method: "DELETE", path: "/lke/clusters/{c}/pools/{p}", status: 400,
			wantWords: "last node pool"},
		{name: "Linode's label", method: "PUT", path: "/linode/instances/{i}", body: `{"label":"a--b"}`, status: 400, wantField: "label"},
		{name: "Linode's short label", method: "PUT", path: "/linode/instances/{i}", body: `{"label":"ab"}`, status: 400, wantField: "label",
			wantWords: "3-64"},
		{name: "Linode's policy", method: "PUT", path: "/linode/instances/{i}", body: `{"maintenance_policy":"never"}`, status: 400,
			wantField: "maintenance_policy"},
		{name: "Linode's status", method: "PUT", path: "/linode/instances/{i}", body: `{"status":"running"}`, status: 400, wantField: "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				if c.tier == "" {
					c.tier = linodesim.Standard
				}
				info, _ := addCluster(t, sim, c.tier)
				before := len(sim.Audit())
				path := strings.NewReplacer("{c}", fmt.Sprint(info.ID), "{p}", fmt.Sprint(info.Pools[0].ID), "{i}",
					fmt.Sprint(info.Pools[0].Nodes[0].InstanceID)).Replace(c.path)
				if p, ok := strings.CutPrefix(path, "!"); ok {
					path = p
				} else {
					path = "/v4beta" + path
				}
				got := api.do(c.method, path, c.body, c.headers...)
				field, reason := got.reason()
				if got.status != c.status || field != c.wantField || !strings.Contains(reason, c.wantWords) || reason == "" {
					t.Errorf("answer %d [%s] %q, want %d [%s] %q", got.status, field, reason, c.status, c.wantField, c.wantWords)
				}
				if now := len(sim.Audit()); now != before {
					t.Errorf("a refused request changed something: %v", sim.Audit()[before:])
				}
			})
		})
	}
}

func TestSeveralReasonsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{})
		_, path := addCluster(t, sim, linodesim.Standard)
		got := api.do("POST", path+"/pools", `{"type":"g6-nope","count":101,"tags":["x"],"labels":{"linode.com/a":"b"}}`)
		if list, _ := got.body["errors"].([]any); got.status != 400 || len(list) != 4 {
			t.Errorf("answer %d: %s; want four reasons", got.status, got.raw)
		}
	})
}

func TestClusterHoldsAtMost250Nodes(t *testing.T) {
	for _, c := range []struct {
		tier   string
		status int
	}{{linodesim.Standard, 400}, {linodesim.Enterprise, 200}} {
		t.Run(c.tier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				_, path := addCluster(t, sim, c.tier)
				for range 2 {
					if got := api.do("POST", path+"/pools", `{"type":"g6-standard-1","count":100}`); got.status != 200 {
						t.Fatalf("answer %d: %s", got.status, got.raw)
					}
				}
				if got := api.do("POST", path+"/pools", `{"type":"g6-standard-1","count":49}`); got.status != 200 {
					t.Fatalf("the 250th node: answer %d: %s", got.status, got.raw)
				}
				got := api.do("POST", path+"/pools", `{"type":"g6-standard-1","count":1}`)
				if got.status != c.status {
					t.Errorf("the 251st node: answer %d: %s, want %d", got.status, got.raw, c.status)
				}
			})
		})
	}
}

func TestTokensAndScopes(t *testing.T) {
	tokens := map[string][]string{
		"all": {"*"}, "reader": {"lke:read_only", "linodes:read_only"}, "writer": {"lke:read_write"}, "nothing": {},
	}
	for _, c := range []struct {
		name, token, method, path string
		status                    int
	}{
		{"no token", "", "GET", "/v4/lke/clusters", 401},
		{"wrong token", "guess", "GET", "/v4/lke/clusters", 401},
		{"all scopes", "all", "GET", "/v4/lke/clusters", 200},
		{"read", "reader", "GET", "/v4/lke/clusters", 200},
		{"write includes read", "writer", "GET", "/v4/lke/clusters", 200},
		{"another area", "writer", "GET", "/v4/linode/instances", 403},
		{"no scopes", "nothing", "GET", "/v4/linode/instances", 403},
		{"read may not write", "reader", "DELETE", "/v4/lke/clusters/1/pools/1", 403},
		{"write may", "writer", "DELETE", "/v4/lke/clusters/1/pools/1", 404},
		{"public without token", "", "GET", "/v4/linode/types", 200},
		{"public without scope", "nothing", "GET", "/v4/regions", 200},
		{"public with a wrong token", "guess", "GET", "/v4/regions", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, api := newSim(t, linodesim.Config{Tokens: tokens})
				api.token = c.token
				got := api.do(c.method, c.path, "")
				if got.status != c.status {
					t.Errorf("answer %d: %s, want %d", got.status, got.raw, c.status)
				}
				if _, reason := got.reason(); c.status == 401 && reason != "Invalid Token" {
					t.Errorf("reason %q, want Invalid Token", reason)
				}
				if c.status == 200 && got.header.Get("X-Accepted-OAuth-Scopes") == "" {
					t.Error("no X-Accepted-OAuth-Scopes header")
				}
				if want := strings.Join(tokens[c.token], " "); got.header.Get("X-OAuth-Scopes") != want {
					t.Errorf("X-OAuth-Scopes %q, want %q", got.header.Get("X-OAuth-Scopes"), want)
				}
			})
		})
	}
}

func TestRolesOfARestrictedUser(t *testing.T) {
	cfg := linodesim.Config{Tokens: map[string][]string{"all": {"*"}, "admin": {"*"}, "viewer": {"*"}, "none": {"*"}},
		Roles: map[string][]string{"admin": {"lkecluster_admin"}, "viewer": {"lkecluster_viewer"}, "none": {}}}
	for _, c := range []struct {
		token, method, path string
		status              int
	}{
		{"all", "DELETE", "/v4/lke/clusters/1/pools/1", 404},
		{"admin", "DELETE", "/v4/lke/clusters/1/pools/1", 404},
		{"viewer", "DELETE", "/v4/lke/clusters/1/pools/1", 403},
		{"viewer", "GET", "/v4/lke/clusters", 200},
		{"none", "GET", "/v4/lke/clusters", 403},
		{"none", "GET", "/v4/linode/instances", 200},
	} {
		_, api := newSim(t, cfg)
		api.token = c.token
		if got := api.do(c.method, c.path, ""); got.status != c.status {
			t.Errorf("%s: %s %s: %d %s, want %d", c.token, c.method, c.path, got.status, got.raw, c.status)
		}
		if got := api.do("GET", "/v4/profile", ""); strings.Contains(got.raw, `"restricted":true`) != (c.token != "all") {
			t.Errorf("%s: %s", c.token, got.raw)
		}
	}
	cfg.Roles["typo"] = nil
	if _, err := linodesim.New(cfg); err == nil {
		t.Error("roles of a token that there is not")
	}
}

// Recorded words do not change: clients and people know them.
func TestObservedWords(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
	_, path := addCluster(t, sim, linodesim.Standard)
	const linode = "/v4beta/linode/instances"
	older, _ := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"older","booted":false}`)
	newer, _ := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"newer","interface_generation":"linode","firewall_id":-1}`)
	mustDo(t, api, "POST", older+"/disks", `{"size":512}`)
	firewall := func(rule string) string {
		return `{"label":"web","rules":{"inbound_policy":"DROP","outbound_policy":"ACCEPT","inbound":[` + rule + `]}}`
	}
	for _, c := range []struct{ method, path, body, field, reason string }{
		{"POST", path + "/pools", `{"type":"g6-standard-1","count":101}`, "count", "Must be 1-100"},
		{"POST", path + "/pools", `{"type":"g6-standard-1","count":1,"autoscaler":{"enabled":true,"min":0,"max":3}}`, "autoscaler.min", "Must be 1-500"},
		{"POST", path + "/pools", `{"type":"g6-nanode-1","count":1}`, "type", "The Linode type g6-nanode-1 is currently not supported by LKE"},
		{"POST", "/v4beta/vpcs", `{"label":"no!","region":"us-ord"}`, "label", "Must only use ASCII letters, numbers, and underscores"},
		{"POST", "/v4beta/vpcs", `{"label":"fast","region":"us-ord","vpc_type":"rdma","ipv6":[{"range":"/52"}]}`, "ipv6",
			"RDMA VPCs cannot have IPv6 ranges"},
		{"POST", linode, `{"type":"g6-standard-1","region":"us-ord","ipv4":["192.0.2.1"]}`, "ipv4",
			"Must provide a single valid reserved ipv4 address"},
		{"POST", linode, `{"type":"g6-standard-1","region":"us-ord","image":"linode/debian12","root_pass":"short"}`, "root_pass",
			"Length must be 11-128 characters"},
		{"POST", linode, `{"type":"g6-standard-1","region":"us-ord","image":"linode/debian12","root_pass":"aaaaaaaaaaaaaaa"}`, "root_pass",
			"Password does not meet strength requirements."},
		{"POST", older + "/disks", `{"size":512}`, "", "Linode busy."},
		{"POST", newer + "/configs", `{"label":"x","devices":{},"helpers":{"updatedb_disabled":true,"distro":true,"modules_dep":true,"devtmpfs_automount":true,"network":true}}`, "helpers.network",
			"Option cannot be set on a Linode that is configured to use Linode Interfaces"},
		{"GET", older + "/interfaces", "", "", "This Linode has legacy interfaces, which belong to its configurations."},
		{"POST", linode, `{"type":"g6-standard-1","region":"us-ord","interface_generation":"linode"}`, "interfaces[0].firewall_id",
			"firewall_id is required: the account has no default firewall for this kind of interface"},
		{"POST", "/v4beta/networking/firewalls", strings.Replace(firewall(""), "web", "we--b", 1), "label",
			"Label must start with a letter, end with a letter or digit, and contain only letters, digits, -, _ and . without --, __ or .."},
		{"POST", "/v4beta/networking/firewalls", firewall(`{"action":"ACCEPT","protocol":"ICMP","ports":"22"}`), "rules.inbound[0].ports",
			"Ports are not allowed with protocol ICMP"},
		{"POST", "/v4beta/networking/firewalls", firewall(`{"action":"ACCEPT","protocol":"TCP","addresses":{"ipv4":["pl:none"]}}`),
			"rules.inbound[0].addresses.ipv4[0]", "Prefix list pl:none is not valid"},
		{"POST", "/v4beta/networking/firewalls", firewall(`{"ruleset":12}`), "rules.inbound[0].ruleset", "ruleset is not a known field"},
	} {
		got := api.do(c.method, c.path, c.body)
		if field, reason := got.reason(); got.status != 400 || field != c.field || reason != c.reason {
			t.Errorf("%s %s: %d [%s] %q, want [%s] %q", c.path, c.body, got.status, field, reason, c.field, c.reason)
		}
	}
}
