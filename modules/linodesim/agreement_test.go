package linodesim_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The tests of this file hold the simulator against facts of recordings that
// are not at hand.

func TestRegionsHaveWhatRecordedOnesHave(t *testing.T) {
	_, c := newSim(t, linodesim.Config{})
	regions := c.do("GET", "/v4beta/regions", "").data(t)
	regions = slices.DeleteFunc(regions, func(r map[string]any) bool { return r["site_type"] == "distributed" })
	with := map[string]int{}
	for _, r := range regions {
		for _, capability := range r["capabilities"].([]any) {
			with[capability.(string)]++
		}
		if limits := r["placement_group_limits"].(map[string]any); limits["maximum_linodes_per_flexible_pg"] != 250.0 {
			t.Errorf("%s: %v", r["id"], limits)
		}
		monitors, _ := r["monitors"].(map[string]any)
		if _, ok := monitors["alerts"].([]any); !ok || monitors["metrics"] == nil {
			t.Errorf("%s: monitors %v", r["id"], r["monitors"])
		}
	}
	if all := len(regions); with["Maintenance Policy"] != all || with["LA Disk Encryption"] == all || with["LA Disk Encryption"] < all*8/10 {
		t.Errorf("of %d regions: %v", all, with)
	}
	for _, some := range []string{"VPC Dual Stack", "VPC IPv6 Stack"} {
		if with[some] == 0 || with[some] != with["VPCs"] {
			t.Errorf("%s in %d regions, VPCs in %d", some, with[some], with["VPCs"])
		}
	}
}

// Fields that were sent and accepted are; others are refused and kept.
func TestRequestFieldsAreJudgedByOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, c := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		path, made := newLinode(t, c, `{"type":"g6-nanode-1","region":"us-ord","label":"one"}`)
		linode := made.body
		config := mustDo(t, c, "POST", path+"/configs", `{"label":"a","devices":{},"init_rd":null}`)
		mustDo(t, c, "PUT", fmt.Sprintf("%s/configs/%v", path, number(config.body["id"])), `{"label":"b","init_rd":null}`)
		if got := mustDo(t, c, "PUT", path, `{"group":"web"}`); got.body["group"] != "web" {
			t.Errorf("group %v", got.body["group"])
		}
		const rules = `"rules":{"inbound_policy":"DROP","outbound_policy":"ACCEPT"}`
		firewall := mustDo(t, c, "POST", "/v4/networking/firewalls",
			fmt.Sprintf(`{"label":"fw-1",%s,"devices":{"linodes":[%v],"nodebalancers":null}}`, rules, number(linode["id"])))
		if entities := firewall.body["entities"].([]any); len(entities) != 1 || entities[0].(map[string]any)["id"] != linode["id"] {
			t.Errorf("entities %v", firewall.body["entities"])
		}
		for body, field := range map[string]string{
			`{"label":"fw-2",` + rules + `,"devices":{"linodes":[1]}}`:       "devices.linodes[0]",
			`{"label":"fw-3",` + rules + `,"devices":{"nodebalancers":[1]}}`: "devices.nodebalancers[0]",
			`{"label":"fw-4",` + rules + `,"colour":"red"}`:                  "colour",
		} {
			if got, _ := c.do("POST", "/v4/networking/firewalls", body).reason(); got != field {
				t.Errorf("%s: field %q, want %q", body, got, field)
			}
		}
		c.do("GET", "/v4/linode/instances", "", "X-Filter", `{"status":"running"}`)
		c.do("GET", "/v4/longview/clients", "")
		c.do("GET", "/v4/nodebalancers/types", "") // no NodeBalancer has that ID
		want := []string{"POST /networking/firewalls: field colour", "GET /linode/instances: filter status", "GET /v4/longview/clients",
			"GET /v4/nodebalancers/types"}
		if got := sim.Unknown(); !slices.Equal(got, want) {
			t.Errorf("unknown %q, want %q", got, want)
		}
	})
}

func TestReadsThatTakeAnyToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant(),
			Tokens: map[string][]string{"a": {"lke:read_write", "linodes:read_write"}, "b": {"*"}}})
		if err != nil {
			t.Fatal(err)
		}
		narrow, full := client{t, sim, "a"}, client{t, sim, "b"}
		vpc := mustDo(t, full, "POST", "/v4/vpcs", `{"label":"one","region":"us-ord","subnets":[{"label":"one","ipv4":"10.0.0.0/24"}]}`)
		one := fmt.Sprintf("/v4/vpcs/%v", number(vpc.body["id"]))
		subnet := fmt.Sprintf("%s/subnets/%v", one, number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"]))
		for path, scopes := range map[string]string{
			"/v4/profile": "*", "/v4/vpcs": "*", one: "*", one + "/subnets": "*", subnet: "*", "/v4/images": "images:read_only",
			"/v4/images/linode%2Fdebian12": "images:read_only",
		} {
			if got := narrow.do("GET", path, ""); got.status != 200 || got.header.Get("X-Accepted-OAuth-Scopes") != scopes {
				t.Errorf("%s: %d, scopes %q, want 200 and %q", path, got.status, got.header.Get("X-Accepted-OAuth-Scopes"), scopes)
			}
		}
		if got := narrow.do("POST", "/v4/vpcs", `{"label":"two","region":"us-ord"}`); got.status != 403 {
			t.Errorf("a write: %d", got.status)
		}
	})
}

func TestProfileHasEveryRecordedField(t *testing.T) {
	_, c := newSim(t, linodesim.Config{})
	got := c.do("GET", "/v4/profile", "")
	for _, field := range []string{
		"uid", "username", "email", "verified_phone_number", "timezone", "email_notifications", "referrals", "ip_whitelist_enabled",
		"lish_auth_method", "authorized_keys", "two_factor_auth", "restricted", "authentication_type",
	} {
		if _, ok := got.body[field]; !ok {
			t.Errorf("%s is missing in %s", field, got.raw)
		}
	}
}

func TestVPCsWithIPv6(t *testing.T) {
	_, c := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	vpc := mustDo(t, c, "POST", "/v4beta/vpcs",
		`{"label":"one","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[{"label":"a","ipv4":"10.0.0.0/24"},{"label":"b","ipv4":"10.0.1.0/24","ipv6":[{"range":"/56"}]}]}`)
	subnets := vpc.body["subnets"].([]any)
	first, second := subnets[0].(map[string]any), subnets[1].(map[string]any)
	if null, there := first["ipv6"]; null != nil || !there || vpc.body["vpc_type"] == nil || first["vpc_type"] == nil {
		t.Errorf("%s", vpc.raw)
	}
	if network := fmt.Sprint(second["ipv6"]); !strings.Contains(network, "/56") {
		t.Errorf("ipv6 %s", network)
	}
	for body, want := range map[string]string{
		`{"label":"no!","region":"us-ord"}`: "label",
		`{"label":"two","region":"us-ord","subnets":[{"label":"a","ipv4":"10.0.0.0/24","ipv6":[{"range":"auto"}]}]}`:                        "subnets[0].ipv6",
		`{"label":"two","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[{"label":"a","ipv4":"10.0.0.0/24","ipv6":[{"range":"/8"}]}]}`: "subnets[0].ipv6[0].range",
	} {
		if got := c.do("POST", "/v4beta/vpcs", body); got.status != 400 {
			t.Errorf("%s: %d", body, got.status)
		} else if field, _ := got.reason(); field != want {
			t.Errorf("%s: field %q, want %q", body, field, want)
		}
	}
}

func TestEnterpriseClustersShowAuditLogs(t *testing.T) {
	sim, c := newSim(t, linodesim.Config{})
	for tier, want := range map[string]string{linodesim.Enterprise: "map[audit_logs_enabled:false high_availability:true]",
		linodesim.Standard: "map[high_availability:false]"} {
		_, path := addCluster(t, sim, tier)
		if got := fmt.Sprint(mustDo(t, c, "GET", path, "").body["control_plane"]); got != want {
			t.Errorf("%s: %s, want %s", tier, got, want)
		}
	}
}

func TestFirewallRulesKeepTheirForm(t *testing.T) {
	_, c := newSim(t, linodesim.Config{})
	create := func(rules string) reply {
		return c.do("POST", "/v4/networking/firewalls", `{"rules":{"inbound_policy":"DROP","outbound_policy":"DROP",`+rules+`}}`)
	}
	for _, got := range []reply{create(`"inbound":[],"outbound":null`), create(`"inbound":[]`)} {
		if !strings.Contains(got.raw, `"inbound":[]`) || !strings.Contains(got.raw, `"outbound":null`) {
			t.Errorf("%s", got.raw)
		}
	}
	for protocol, status := range map[string]int{"TCP": 200, "ALL": 200, "50": 200, "6": 200, "IPENCAP": 200, "tcp": 400, "256": 400,
		"": 400} {
		got := create(fmt.Sprintf(`"inbound":[{"action":"ACCEPT","protocol":%q}]`, protocol))
		if field, _ := got.reason(); got.status != status || status == 400 && field != "rules.inbound[0].protocol" {
			t.Errorf("protocol %q: %d [%s]", protocol, got.status, field)
		}
	}
}

func TestImagesHaveTheRecordedSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newSim(t, linodesim.Config{Profile: even()})
		for id, size := range map[string]float64{"debian11": 1500, "debian12": 1800, "debian13": 1800, "almalinux9": 2500, "rocky9": 2500,
			"alpine3.22": 500} {
			if got := c.do("GET", "/v4/images/linode%2F"+id, "").body["size"]; got != size {
				t.Errorf("%s: %v, want %v", id, got, size)
			}
		}
		if got := fmt.Sprint(c.do("GET", "/v4/images/linode%2Farch", "").body["capabilities"]); !strings.Contains(got, "cloud-init") {
			t.Errorf("arch: %s", got)
		}
		for body, want := range map[string]float64{
			`{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret"}`: 1754,
			`{"type":"g6-nanode-1","region":"us-ord"}`:                                                      366,
		} {
			linode, _ := newLinode(t, c, body)
			time.Sleep(time.Hour)
			if want == 366 {
				mustDo(t, c, "POST", linode+"/disks", `{"size":25088,"filesystem":"ext4"}`)
				time.Sleep(time.Hour)
			}
			disk := c.do("GET", linode+"/disks", "").data(t)[0]["id"]
			made := mustDo(t, c, "POST", "/v4/images", fmt.Sprintf(`{"disk_id":%v}`, number(disk)))
			if made.body["size"] != 25088.0 || made.body["status"] != "creating" {
				t.Errorf("while it is made: %s", made.raw)
			}
			time.Sleep(time.Hour)
			got := mustDo(t, c, "GET", "/v4/images/"+strings.ReplaceAll(made.body["id"].(string), "/", "%2F"), "")
			if got.body["size"] != want || got.body["total_size"] != want {
				t.Errorf("when it is available: %s, want %v", got.raw, want)
			}
		}
	})
}

func TestTierVersionsCarryNoRateLimits(t *testing.T) {
	sim, c := newSim(t, linodesim.Config{Profile: linodesim.Instant(),
		RateLimits: map[string]linodesim.RateLimit{"collections": {Requests: 1, Window: time.Hour}}})
	for path, want := range map[string]bool{"/v4beta/lke/tiers/standard/versions": false, "/v4beta/lke/tiers/standard/versions/1.35": false,
		"/v4beta/lke/versions/1.35": true} {
		if got := c.do("GET", path, ""); (got.header.Get("X-RateLimit-Limit") != "") != want {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	if got := c.do("GET", "/v4beta/lke/tiers/standard/versions", ""); got.status != 429 || len(sim.Meters()) == 0 {
		t.Errorf("%d: the requests count all the same", got.status)
	}
}

// The simulator sends null where an interface has nothing, and the client's
// types keep it.
func TestLegacyInterfacesKeepNulls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
		vpc := mustDo(t, c, "POST", "/v4/vpcs", `{"label":"one","region":"us-ord","subnets":[{"label":"one","ipv4":"10.0.0.0/24"}]}`)
		subnet := vpc.body["subnets"].([]any)[0].(map[string]any)["id"]
		linode, _ := newLinode(t, c, `{"type":"g6-nanode-1","region":"us-ord"}`)
		got := mustDo(t, c, "POST", linode+"/configs",
			fmt.Sprintf(`{"label":"a","devices":{},"interfaces":[{"purpose":"public"},{"purpose":"vlan","label":"v"},{"purpose":"vpc","subnet_id":%v,"ipv4":{"nat_1_1":"any"}}]}`, number(subnet)))
		want := []string{
			`"active":false,"id":%d,"ip_ranges":null,"ipam_address":null,"ipv4":null,"ipv6":null,"label":null,"primary":false,"purpose":"public","subnet_id":null,"vpc_id":null`,
			`"active":false,"id":%d,"ip_ranges":null,"ipam_address":"","ipv4":null,"ipv6":null,"label":"v","primary":false,"purpose":"vlan","subnet_id":null,"vpc_id":null`,
		}
		var typed api.InstanceConfig
		if err := json.Unmarshal([]byte(got.raw), &typed); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(typed)
		if err != nil {
			t.Fatal(err)
		}
		for n, form := range want {
			line := fmt.Sprintf(form, typed.Interfaces[n].ID)
			var mine, clients map[string]any
			_ = json.Unmarshal([]byte("{"+line+"}"), &mine)
			for _, raw := range []string{got.raw, string(again)} {
				_ = json.Unmarshal([]byte(raw), &clients)
				if sent := clients["interfaces"].([]any)[n]; fmt.Sprint(sent) != fmt.Sprint(mine) {
					t.Errorf("interface %d: %v, want %v", n, sent, mine)
				}
			}
		}
		if nat := fmt.Sprint(got.body["interfaces"].([]any)[2].(map[string]any)["ipv4"]); !strings.Contains(nat, "vpc:10.0.0.2") ||
			strings.Contains(nat, "any") {
			t.Errorf("addresses %s", nat)
		}
		if got := c.do("GET", linode+"/configs", "", "X-Filter", `{"interfaces":"x"}`); got.status != 200 { // FACTS 18, third table, 19
			t.Errorf("filter on interfaces: %d", got.status)
		}
	})
}
