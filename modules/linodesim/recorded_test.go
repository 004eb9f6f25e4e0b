package linodesim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// recorded is one row of FACTS 18, third table: a request in a prepared account, and the answer that was recorded. Its
// state is made with real requests, in whose place {name} stands for an ID.
type recorded struct {
	fact    string
	profile *linodesim.Profile // nil = instant
	prepare func(a *account)
	method  string
	path    string // of v4beta
	body    string
	filter  string
	token   string
	status  int
	field   string
	reason  string
	want    map[string]any // by path of the answer, such as data[0].id
	then    func(a *account)
}

// account prepares the state for a row.
type account struct {
	client
	names map[string]string
}

func (a *account) fill(text string) string {
	for name, value := range a.names {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// make posts and remembers the ID under a name.
func (a *account) make(name, path, body string) map[string]any {
	a.t.Helper()
	got := mustDo(a.t, a.client, "POST", "/v4beta"+a.fill(path), a.fill(body))
	a.names[name] = fmt.Sprint(number(got.body["id"]))
	if subnets, ok := got.body["subnets"].([]any); ok {
		for n, s := range subnets {
			a.names[fmt.Sprintf("%s.%d", name, n)] = fmt.Sprint(number(s.(map[string]any)["id"]))
		}
	}
	return got.body
}

func (a *account) check(path string, want map[string]any) {
	a.t.Helper()
	got := mustDo(a.t, a.client, "GET", "/v4beta"+a.fill(path), "")
	a.compare(path, decoded(got), want)
}

func (a *account) compare(what string, answer any, want map[string]any) {
	a.t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		value, there := valueAt(answer, path)
		expected := want[path]
		if text, ok := expected.(string); ok {
			expected = a.fill(text)
			if n := json.Number(expected.(string)); strings.HasPrefix(text, "{") {
				expected, _ = n.Float64()
			}
		}
		if !there || !reflect.DeepEqual(value, expected) {
			a.t.Errorf("%s: %s is %v (there: %v), recorded %v", what, path, value, there, expected)
		}
	}
}

// valueAt finds a value by a path such as data[0].id.
func valueAt(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if index, ok := strings.CutPrefix(part, "["); ok {
			list, _ := v.([]any)
			var n int
			if _, err := fmt.Sscanf(index, "%d]", &n); err != nil || n >= len(list) {
				return nil, false
			}
			v = list[n]
			continue
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[part]; !ok {
			return nil, false
		}
	}
	return v, true
}

const (
	twoNetworks = `{"label":"net","region":"us-sea","ipv6":[{"range":"/52"}],"subnets":[{"label":"front","ipv4":"10.0.0.0/24","ipv6":[{"range":"/56"}]},{"label":"back","ipv4":"10.0.1.0/24"}]}`
	linodeOff   = `{"type":"g6-standard-1","region":"us-sea","image":"linode/debian12","root_pass":"not-a-secret","booted":false,"swap_size":0}`
	linodeOn    = `{"type":"g6-standard-1","region":"us-sea","image":"linode/debian12","root_pass":"not-a-secret"}`
	oneVolume   = `{"label":"data","region":"us-sea"}`
)

func spans(edit func(*linodesim.Profile)) *linodesim.Profile {
	p := linodesim.Instant()
	edit(&p)
	return &p
}

// minutesForJobs keeps volumes and disks in their making.
func minutesForJobs() *linodesim.Profile {
	return spans(func(p *linodesim.Profile) { p.Job = linodesim.Exactly(time.Minute) })
}

// Rows 15, 18, 21 and 27 are of families that are not served: reserved addresses, rebuilding and migrating, domains. Row 16 is in
// TestRefusedAddresses, row 25 in TestRegionsHaveWhatRecordedOnesHave.
var recordedRows = []recorded{
	{
		fact:    "1: frontend and backend in VPCs",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "POST", path: "/nodebalancers", status: 200,
		body: `{"region":"us-sea","label":"web","type":"premium","frontend_vpcs":[{"subnet_id":{vpc.0}}],"backend_vpcs":[{"subnet_id":{vpc.1}}]}`,
		want: map[string]any{
			"frontend_address_type": "vpc", "frontend_vpc_subnet_id": "{vpc.0}", "lke_cluster": nil, "locks": []any{}, "ipv4": "10.0.0.2",
			"backend_connectivity": "vpc",
		},
	},
	{
		fact:    "1: a backend alone has public addresses",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "POST", path: "/nodebalancers", body: `{"region":"us-sea","label":"web","backend_vpcs":[{"subnet_id":{vpc.1}}]}`, status: 200,
		want: map[string]any{"frontend_address_type": "public", "frontend_vpc_subnet_id": nil, "type": "common"},
	},
	{
		fact:    "1: a common one has no frontend",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "POST", path: "/nodebalancers",
		body:   `{"region":"us-sea","label":"web","type":"common","frontend_vpcs":[{"subnet_id":{vpc.0}}]}`,
		status: 400, reason: "NodeBalancer with frontend VPC IP must be premium",
	},
	{
		fact:    "1: IPv6 alone in a subnet without",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "POST", path: "/nodebalancers", status: 400, reason: "No IPv6 subnets available in VPC",
		body: `{"region":"us-sea","label":"web","type":"premium","frontend_vpcs":[{"subnet_id":{vpc.1},"ipv6_range":"/62"}]}`,
	},
	{
		fact:    "1: a subnet of another region",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "POST", path: "/nodebalancers", status: 400, field: "backend_vpcs[0].subnet_id",
		reason: "backend_vpcs[0].subnet_id is not valid",
		body:   `{"region":"us-ord","label":"web","backend_vpcs":[{"subnet_id":{vpc.1}}]}`,
	},
	{
		fact: "2: networks of a NodeBalancer, the frontend first",
		prepare: func(a *account) {
			a.make("vpc", "/vpcs", twoNetworks)
			a.make("nb", "/nodebalancers",
				`{"region":"us-sea","label":"web","type":"premium","backend_vpcs":[{"subnet_id":{vpc.1}}],"frontend_vpcs":[{"subnet_id":{vpc.0}}]}`)
		},
		method: "GET", path: "/nodebalancers/{nb}/vpcs", status: 200,
		want: map[string]any{
			"data[0].purpose": "frontend", "data[0].nodebalancer_id": "{nb}", "data[0].vpc_id": "{vpc}", "data[0].subnet_id": "{vpc.0}",
			"data[0].ipv4_range": "10.0.0.2/32", "data[1].purpose": "backend", "data[1].ipv4_range": "10.0.1.4/30", "data[1].ipv6_range": nil,
			"results": 2.0,
		},
	},
	{
		fact: "3: any NodeBalancer", method: "POST", path: "/nodebalancers", body: `{"region":"us-sea","label":"web"}`, status: 200,
		want: map[string]any{"lke_cluster": nil, "frontend_address_type": "public"},
	},
	{
		fact:    "4: a configuration for UDP",
		prepare: func(a *account) { a.make("nb", "/nodebalancers", `{"region":"us-sea","label":"web"}`) },
		method:  "POST", path: "/nodebalancers/{nb}/configs", body: `{"port":53,"protocol":"udp"}`, status: 200,
		want: map[string]any{"udp_session_timeout": 16.0},
	},
	{
		fact:    "4: a configuration for another protocol",
		prepare: func(a *account) { a.make("nb", "/nodebalancers", `{"region":"us-sea","label":"web"}`) },
		method:  "POST", path: "/nodebalancers/{nb}/configs", body: `{"port":80,"protocol":"tcp"}`, status: 200,
		want: map[string]any{"udp_session_timeout": 0.0},
	},
	{
		fact: "5: a new volume", profile: minutesForJobs(), method: "POST", path: "/volumes", body: oneVolume, status: 200,
		want: map[string]any{"status": "creating", "io_ready": false, "locks": []any{}, "linode_id": nil},
	},
	{
		fact: "5: a volume that is attached, then detached",
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOn)
			a.make("volume", "/volumes", oneVolume)
		},
		method: "POST", path: "/volumes/{volume}/attach", body: `{"linode_id":{linode}}`, status: 200,
		want: map[string]any{"io_ready": true, "linode_id": "{linode}"},
		then: func(a *account) {
			mustDo(a.t, a.client, "POST", a.fill("/v4beta/volumes/{volume}/detach"), "")
			a.check("/volumes/{volume}", map[string]any{"io_ready": false, "linode_id": nil})
		},
	},
	{
		fact: "6: attaching a volume in its making", profile: minutesForJobs(),
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOn)
			a.make("volume", "/volumes", oneVolume)
		},
		method: "POST", path: "/volumes/{volume}/attach", body: `{"linode_id":{linode}}`, status: 200,
		want: map[string]any{"status": "creating", "linode_id": "{linode}", "io_ready": false},
		then: func(a *account) {
			time.Sleep(2 * time.Minute)
			a.check("/volumes/{volume}", map[string]any{"status": "active", "io_ready": true})
		},
	},
	{
		fact: "7: a volume in its making as a device", profile: minutesForJobs(),
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOff)
			a.make("config", "/linode/instances/{linode}/configs", `{"label":"other","devices":{}}`)
			a.make("volume", "/volumes", oneVolume)
		},
		method: "PUT", path: "/linode/instances/{linode}/configs/{config}", body: `{"devices":{"sdb":{"volume_id":{volume}}}}`, status: 200,
		want: map[string]any{"devices.sdb.volume_id": "{volume}", "devices.sdb.disk_id": nil, "devices.sda": nil},
		then: func(a *account) {
			a.check("/linode/instances/{linode}/volumes", map[string]any{"results": 1.0, "data[0].id": "{volume}", "data[0].status": "creating"})
		},
	},
	{
		fact: "7: a volume of another Linode is no device",
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOff)
			a.make("config", "/linode/instances/{linode}/configs", `{"label":"other","devices":{}}`)
			a.make("other", "/linode/instances", linodeOff)
			a.make("volume", "/volumes", `{"label":"data","linode_id":{other}}`)
		},
		method: "PUT", path: "/linode/instances/{linode}/configs/{config}", body: `{"devices":{"sdb":{"volume_id":{volume}}}}`, status: 400,
		field: "devices.sdb.volume_id", reason: "volume_id is not valid",
	},
	{
		fact: "8: deleting a volume that is attached to a Linode that is off",
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOff)
			a.make("volume", "/volumes", `{"label":"data","linode_id":{linode}}`)
		},
		method: "DELETE", path: "/volumes/{volume}", status: 200,
	},
	{
		fact: "8: deleting a volume that is attached to a Linode that runs",
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOn)
			a.make("volume", "/volumes", `{"label":"data","linode_id":{linode}}`)
		},
		method: "DELETE", path: "/volumes/{volume}", status: 400, reason: "This Volume must be detached before it can be deleted.",
	},
	{
		fact: "9: devices beyond sdh",
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", linodeOff)
			a.make("config", "/linode/instances/{linode}/configs", `{"label":"other","devices":{}}`)
			a.make("k", "/volumes", oneVolume)
			a.make("l", "/volumes", `{"label":"more","region":"us-sea"}`)
		},
		method: "PUT", path: "/linode/instances/{linode}/configs/{config}", status: 200,
		body: `{"devices":{"sdk":{"volume_id":{k}},"sdl":{"volume_id":{l}}}}`,
		want: map[string]any{"devices.sdl.volume_id": "{l}", "devices.sdk.volume_id": "{k}",
			"devices.sdj": nil, "devices.sdi": nil, "devices.sda": nil},
		then: func(a *account) {
			got := mustDo(a.t, a.client, "GET", a.fill("/v4beta/linode/instances/{linode}/configs/{config}"), "")
			if n := len(got.body["devices"].(map[string]any)); n != 12 {
				a.t.Errorf("%d devices, recorded 12: up to the last one in use", n)
			}
		},
	},
	{
		fact: "10: a subnet with a /62", method: "POST", path: "/vpcs", status: 200,
		body: `{"label":"net","region":"us-sea","ipv6":[{"range":"/52"}],"subnets":[{"label":"one","ipv4":"10.0.0.0/24","ipv6":[{"range":"/62"}]}]}`,
		then: func(a *account) {
			list := a.do("GET", "/v4beta/vpcs", "").data(a.t)
			subnet := list[0]["subnets"].([]any)[0].(map[string]any)
			if got := subnet["ipv6"].([]any)[0].(map[string]any)["range"].(string); !strings.HasSuffix(got, "/62") {
				a.t.Errorf("the subnet has %s", got)
			}
		},
	},
	{
		fact:    "11: a new subnet with ! in its label",
		prepare: func(a *account) { a.make("vpc", "/vpcs", `{"label":"net","region":"us-sea"}`) },
		method:  "POST", path: "/vpcs/{vpc}/subnets", body: `{"label":"bad!","ipv4":"10.0.0.0/24"}`, status: 400,
		field: "label", reason: "Must only use ASCII letters, numbers, and underscores",
	},
	{
		fact:    "11: renaming a subnet",
		prepare: func(a *account) { a.make("vpc", "/vpcs", twoNetworks) },
		method:  "PUT", path: "/vpcs/{vpc}/subnets/{vpc.0}", body: `{"label":"bad!"}`, status: 400,
		field: "label", reason: "Must only use ASCII letters, numbers, and underscores",
	},
	{
		fact:    "12: other networks for a VPC",
		prepare: func(a *account) { a.make("vpc", "/vpcs", `{"label":"net","region":"no-osl-1"}`) },
		method:  "PUT", path: "/vpcs/{vpc}", body: `{"ipv4":[{"range":"10.200.0.0/20"}]}`, status: 200,
		want: map[string]any{"ipv4[0].range": "10.200.0.0/20"},
	},
	{
		fact:    "12: other networks where the region takes none",
		prepare: func(a *account) { a.make("vpc", "/vpcs", `{"label":"net","region":"us-sea"}`) },
		method:  "PUT", path: "/vpcs/{vpc}", body: `{"ipv4":[{"range":"10.200.0.0/20"}]}`, status: 400,
		field: "ipv4[0].range", reason: "Customer defined IPv4 ranges are not supported in this region",
	},
	{
		fact:    "12: the networks that the VPC has, where the region takes no others",
		prepare: func(a *account) { a.make("vpc", "/vpcs", `{"label":"net","region":"us-sea"}`) },
		method:  "PUT", path: "/vpcs/{vpc}", status: 200,
		body: `{"label":"other","ipv4":[{"range":"10.0.0.0/8"},{"range":"172.16.0.0/12"},{"range":"192.168.0.0/17"}]}`,
		want: map[string]any{"label": "other", "ipv4[2].range": "192.168.0.0/17"},
	},
	{
		fact: "13: default networks", method: "GET", path: "/vpcs/default-ranges", status: 200,
		want: map[string]any{"default_ipv4_ranges[0]": "10.0.0.0/8", "forbidden_ipv4_ranges[0]": "192.168.128.0/17"},
	},
	{
		fact: "14: the subnet of a NodeBalancer",
		prepare: func(a *account) {
			a.make("vpc", "/vpcs", twoNetworks)
			a.make("nb", "/nodebalancers", `{"region":"us-sea","label":"web","backend_vpcs":[{"subnet_id":{vpc.1}}]}`)
		},
		method: "GET", path: "/vpcs/{vpc}/subnets/{vpc.1}", status: 200,
		want: map[string]any{"nodebalancers[0].id": "{nb}", "nodebalancers[0].ipv4_range": "10.0.1.4/30"},
		then: func(a *account) {
			if got := a.do("DELETE", a.fill("/v4beta/vpcs/{vpc}"), ""); got.status != 400 {
				a.t.Errorf("a VPC with a NodeBalancer is deleted: %d", got.status)
			}
			mustDo(a.t, a.client, "DELETE", a.fill("/v4beta/nodebalancers/{nb}"), "")
			a.check("/vpcs/{vpc}/subnets/{vpc.1}", map[string]any{"nodebalancers": []any{}})
			mustDo(a.t, a.client, "DELETE", a.fill("/v4beta/vpcs/{vpc}"), "")
		},
	},
	{
		fact:    "17: the interface of a Linode that was never booted",
		profile: spans(func(p *linodesim.Profile) { p.Join = linodesim.Exactly(time.Minute) }),
		prepare: func(a *account) {
			a.make("vpc", "/vpcs", twoNetworks)
			a.make("linode", "/linode/instances", linodeOff)
			configs := a.do("GET", a.fill("/v4beta/linode/instances/{linode}/configs"), "").data(a.t)
			a.names["config"] = fmt.Sprint(number(configs[0]["id"]))
			a.make("nic", "/linode/instances/{linode}/configs/{config}/interfaces", `{"purpose":"vpc","subnet_id":{vpc.0}}`)
		},
		method: "DELETE", path: "/linode/instances/{linode}/configs/{config}/interfaces/{nic}", status: 200,
	},
	{
		fact:    "19: configurations filtered by their interfaces",
		prepare: func(a *account) { a.make("linode", "/linode/instances", linodeOff) },
		method:  "GET", path: "/linode/instances/{linode}/configs", filter: `{"interfaces":"none"}`, status: 200,
	},
	{fact: "20: a public route with a wrong token", method: "GET", path: "/regions", token: "guess", status: 200},
	{
		fact: "22: addresses of a young cluster's API, 10 s after its request",
		profile: spans(func(p *linodesim.Profile) {
			p.NewCluster = linodesim.Realistic().NewCluster
		}),
		prepare: func(a *account) {
			a.make("lke", "/lke/clusters", `{"label":"a","region":"us-sea","k8s_version":"1.35","node_pools":[{"type":"g6-standard-1","count":1}]}`)
			if got := a.do("GET", a.fill("/v4beta/lke/clusters/{lke}/api-endpoints"), ""); got.status != 503 {
				a.t.Errorf("at once: %d", got.status)
			}
			time.Sleep(10 * time.Second)
			if got := a.do("GET", a.fill("/v4beta/lke/clusters/{lke}/kubeconfig"), ""); got.status != 503 {
				a.t.Errorf("the kubeconfig after 10 s: %d", got.status)
			}
		},
		method: "GET", path: "/lke/clusters/{lke}/api-endpoints", status: 200,
	},
	{
		fact:    "23: a job on a Linode that has just become running",
		profile: spans(func(p *linodesim.Profile) { p.PlainLinode.Settle = linodesim.Exactly(4 * time.Second) }),
		prepare: func(a *account) { a.make("linode", "/linode/instances", linodeOn) },
		method:  "POST", path: "/linode/instances/{linode}/reboot", body: `{}`, status: 400, reason: "Linode busy.",
		then: func(a *account) {
			time.Sleep(4 * time.Second)
			mustDo(a.t, a.client, "POST", a.fill("/v4beta/linode/instances/{linode}/reboot"), "{}")
		},
	},
	{
		fact: "23: a second disk while one is made", profile: minutesForJobs(),
		prepare: func(a *account) {
			a.make("linode", "/linode/instances", `{"type":"g6-standard-1","region":"us-sea"}`)
			a.make("disk", "/linode/instances/{linode}/disks", `{"size":1000,"label":"one"}`)
		},
		method: "POST", path: "/linode/instances/{linode}/disks", body: `{"size":1000,"label":"two"}`, status: 400, reason: "Linode busy.",
		then: func(a *account) {
			time.Sleep(time.Minute)
			a.make("second", "/linode/instances/{linode}/disks", `{"size":1000,"label":"two"}`)
		},
	},
	{
		fact: "24: an image on a plan with a video processor", method: "POST", path: "/linode/instances", status: 200,
		body: `{"type":"g1-accelerated-netint-vpu-t1u1-s","region":"us-lax","image":"linode/debian12","root_pass":"not-a-secret"}`,
		want: map[string]any{"specs.disk": 204800.0, "specs.memory": 16384.0, "specs.vcpus": 8.0, "specs.transfer": 0.0,
			"specs.gpus": 0.0, "specs.accelerated_devices": 1.0},
	},
	{
		fact: "26: rules of a template", method: "GET", path: "/networking/firewalls/templates/vpc", status: 200,
		want: map[string]any{"rules.inbound[0].description": "Accept inbound TCP", "rules.inbound[1].description": "Accept inbound ICMP"},
	},
}

func TestRecordedFacts(t *testing.T) {
	for _, row := range recordedRows {
		t.Run(row.fact, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				profile := linodesim.Instant()
				if row.profile != nil {
					profile = *row.profile
				}
				_, c := newSim(t, linodesim.Config{Profile: profile})
				a := &account{client: c, names: map[string]string{}}
				if row.prepare != nil {
					row.prepare(a)
				}
				headers := []string{}
				if row.filter != "" {
					headers = append(headers, "X-Filter", row.filter)
				}
				if row.token != "" {
					headers = append(headers, "Authorization", "Bearer "+row.token)
				}
				got := a.do(row.method, "/v4beta"+a.fill(row.path), a.fill(row.body), headers...)
				field, reason := got.reason()
				if got.status != row.status || field != row.field || reason != row.reason {
					t.Fatalf("%d [%s] %q, recorded %d [%s] %q", got.status, field, reason, row.status, row.field, row.reason)
				}
				a.compare(row.path, decoded(got), row.want)
				if row.then != nil {
					row.then(a)
				}
			})
		})
	}
}

// A default firewall has the rules of a template, each with a description (FACTS 18, third table, 26).
func TestRulesOfADefaultFirewallAreDescribed(t *testing.T) {
	sim, c := newSim(t, linodesim.Config{Profile: linodesim.Instant()})
	id := sim.AddFirewall(linodesim.FirewallSpec{Label: "default", Default: true})
	rules := mustDo(t, c, "GET", fmt.Sprintf("/v4/networking/firewalls/%d/rules", id), "")
	for _, direction := range []string{"inbound", "outbound"} {
		list, _ := rules.body[direction].([]any)
		for _, r := range list {
			if r.(map[string]any)["description"] == nil {
				t.Errorf("%s: %v", direction, r)
			}
		}
		if direction == "inbound" && len(list) == 0 {
			t.Errorf("no rules: %s", rules.raw)
		}
	}
}
