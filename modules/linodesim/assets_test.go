package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

const instances = "/v4beta/linode/instances"

// newLinode makes one over HTTP and gives its path and answer.
func newLinode(t *testing.T, api client, body string) (string, reply) {
	t.Helper()
	made := mustDo(t, api, "POST", instances, body)
	return fmt.Sprintf("%s/%v", instances, number(made.body["id"])), made
}

// TestLinodeLife follows a Linode through what one can do with it.
func TestLinodeLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		path, made := newLinode(t, api,
			`{"type":"g6-standard-2","region":"us-ord","label":"web-1","image":"linode/debian12","root_pass":"not-a-secret","private_ip":true,"metadata":{"user_data":"eA=="},"swap_size":1024}`)
		if made.body["status"] != "provisioning" || made.body["has_user_data"] != true || len(made.body["ipv4"].([]any)) != 2 {
			t.Errorf("new Linode: %s", made.raw)
		}
		disks := api.do("GET", path+"/disks", "").data(t)
		if len(disks) != 2 || disks[0]["label"] != "Debian 12 Disk" || disks[0]["size"] != float64(81920-1024) ||
			disks[0]["status"] != "not ready" || disks[1]["filesystem"] != "swap" {
			t.Errorf("disks %v", disks)
		}
		configs := api.do("GET", path+"/configs", "").data(t)
		if len(configs) != 1 || fmt.Sprint(configs[0]["devices"].(map[string]any)["sda"]) != fmt.Sprintf("map[disk_id:%v volume_id:<nil>]",
			disks[0]["id"]) {
			t.Errorf("configs %v", configs)
		}
		for _, step := range []struct {
			do     string // below the Linode's path; "" = wait
			status int
			is     string // status after a while
		}{
			{"/boot", 400, "booting"}, // busy
			{"", 0, "running"},
			{"/boot", 400, "running"},
			{"/shutdown", 200, "shutting_down"},
			{"/shutdown", 400, "offline"},
			{"/boot", 200, "booting"},
			{"", 0, "running"},
		} {
			if step.do != "" {
				if got := api.do("POST", path+step.do, ""); got.status != step.status {
					t.Errorf("%s: %d %s, want %d", step.do, got.status, got.raw, step.status)
				}
			}
			if step.status == 200 {
				if got := mustDo(t, api, "GET", path, ""); got.body["status"] != step.is {
					t.Errorf("%s: status %v, want %s", step.do, got.body["status"], step.is)
				}
			}
			time.Sleep(51 * time.Second)
			if got := mustDo(t, api, "GET", path, ""); step.status != 200 && got.body["status"] != step.is {
				t.Errorf("%q: status %v afterwards, want %s", step.do, got.body["status"], step.is)
			}
		}
		ips := mustDo(t, api, "GET", path+"/ips", "")
		if !strings.Contains(ips.raw, `"subnet_mask":"255.255.128.0"`) || !strings.Contains(ips.raw, `"slaac":{`) {
			t.Errorf("addresses %s", ips.raw)
		}
		mustDo(t, api, "DELETE", path, "")
		for _, gone := range []string{"", "/disks", "/configs", "/interfaces", "/ips"} {
			if got := api.do("GET", path+gone, ""); got.status != 404 {
				t.Errorf("%s of a deleted Linode: %d", gone, got.status)
			}
		}
	})
}

func TestLinodeRefused(t *testing.T) {
	for _, c := range []struct{ name, body, field, words string }{
		{"no type", `{"region":"us-ord"}`, "type", "required"},
		{"unknown plan", `{"type":"g6-x","region":"us-ord"}`, "type", "not valid"},
		{"unknown region", `{"type":"g6-nanode-1","region":"xx"}`, "region", "not valid"},
		{"plan that the region lacks", `{"type":"g7-premium-2","region":"us-east"}`, "type", "not available"},
		{"tag too short", `{"type":"g6-nanode-1","region":"us-ord","tags":["x"]}`, "tags[0]", "3-50"},
		{"label with two dashes", `{"type":"g6-nanode-1","region":"us-ord","label":"a--b"}`, "label", "without --, __ or .."},
		{"label in use", `{"type":"g6-nanode-1","region":"us-ord","label":"taken"}`, "label", "Label must be unique"},
		{"image without a way to log in", `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12"}`, "",
			"Must provide valid root_pass, authorized_keys, or authorized_users"},
		{"unknown image", `{"type":"g6-nanode-1","region":"us-ord","image":"linode/x","root_pass":"not-a-secret"}`, "image", "not valid"},
		{"image without cloud-init", `{"type":"g6-nanode-1","region":"us-ord","image":"linode/slackware15.0","root_pass":"not-a-secret","metadata":{"user_data":"eA=="}}`, "image", "user data"},
		{"user data that is no base64", `{"type":"g6-nanode-1","region":"us-ord","metadata":{"user_data":"%"}}`, "metadata.user_data", "base64"},
		{"user data too long", `{"type":"g6-nanode-1","region":"us-ord","metadata":{"user_data":"` + strings.Repeat("a", 65536) + `"}}`,
			"metadata.user_data", "65535"},
		{"unknown firewall", `{"type":"g6-nanode-1","region":"us-ord","firewall_id":5}`, "firewall_id", "not valid"},
		{"unknown group", `{"type":"g6-nanode-1","region":"us-ord","placement_group":{"id":5}}`, "placement_group.id", "not valid"},
		{"unknown policy", `{"type":"g6-nanode-1","region":"us-ord","maintenance_policy":"x"}`, "maintenance_policy",
			"Unsupported maintenance policy slug format."},
		{"unknown field", `{"type":"g6-nanode-1","region":"us-ord","colour":"red"}`, "colour", "not a known field"},
		{"no backup", `{"type":"g6-nanode-1","region":"us-ord","backup_id":5}`, "backup_id", "not valid"},
		{"no script", `{"type":"g6-nanode-1","region":"us-ord","stackscript_id":5}`, "stackscript_id", "not valid"},
		{"swap larger than the plan", `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","swap_size":99999}`, "swap_size", "do not fit"},
		{"interface of the other kind", `{"type":"g6-nanode-1","region":"us-ord","interfaces":[{"public":{}}]}`, "interfaces[0]", "generation"},
		{"unknown subnet", `{"type":"g6-nanode-1","region":"us-ord","interfaces":[{"purpose":"vpc","subnet_id":5}]}`, "interfaces[0].subnet_id",
			"not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{})
				newLinode(t, api, `{"type":"g6-nanode-1","region":"us-ord","label":"taken"}`)
				got := api.do("POST", instances, c.body)
				if field, reason := got.reason(); got.status != 400 || field != c.field || !strings.Contains(reason, c.words) {
					t.Errorf("%d [%s] %s, want 400 [%s] %s", got.status, field, reason, c.field, c.words)
				}
				if n := len(sim.Snapshot().Instances); n != 1 {
					t.Errorf("%d Linodes exist after a refusal", n)
				}
			})
		})
	}
}

// TestNeighbours is about what a Linode is put next to.
func TestNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		firewall := mustDo(t, api, "POST", "/v4beta/networking/firewalls",
			`{"label":"web","rules":{"inbound":[{"action":"ACCEPT","protocol":"TCP","ports":"22"}],"inbound_policy":"DROP","outbound_policy":"ACCEPT"}}`).body["id"]
		group := mustDo(t, api, "POST", "/v4beta/placement/groups",
			`{"label":"spread","region":"us-ord","placement_group_type":"anti_affinity:local","placement_group_policy":"strict"}`).body["id"]
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"nodes","ipv4":"10.0.0.0/24"}]}`)
		subnet := vpc.body["subnets"].([]any)[0].(map[string]any)["id"]

		path, made := newLinode(t, api,
			fmt.Sprintf(`{"type":"g6-nanode-1","region":"us-ord","firewall_id":%v,"placement_group":{"id":%v},"interface_generation":"linode","interfaces":[{"public":{}},{"vpc":{"subnet_id":%v}}]}`,
				number(firewall), number(group), number(subnet)))
		if made.body["placement_group"].(map[string]any)["label"] != "spread" || made.body["interface_generation"] != "linode" {
			t.Errorf("Linode %s", made.raw)
		}
		where := fmt.Sprintf("/v4beta/networking/firewalls/%v", number(firewall))
		if got := mustDo(t, api, "GET", where, ""); !strings.Contains(got.raw,
			fmt.Sprintf(`"url":"/v4/linode/instances/%v"`, number(made.body["id"]))) || len(got.body["entities"].([]any)) != 2 {
			t.Errorf("firewall %s", got.raw)
		}
		list := mustDo(t, api, "GET", path+"/interfaces", "").body["interfaces"].([]any)
		one := mustDo(t, api, "GET", fmt.Sprintf("%s/interfaces/%v", path, number(list[1].(map[string]any)["id"])), "")
		if one.body["public"] != nil || !strings.Contains(one.raw, `"address":"10.0.0.2"`) {
			t.Errorf("interface %s", one.raw)
		}
		net := fmt.Sprintf("/v4beta/vpcs/%v", number(vpc.body["id"]))
		if got := mustDo(t, api, "GET", fmt.Sprintf("%s/subnets/%v", net, number(subnet)), ""); len(got.body["linodes"].([]any)) != 1 {
			t.Errorf("subnet %s", got.raw)
		}
		spread := fmt.Sprintf("/v4beta/placement/groups/%v", number(group))
		if got := api.do("GET", instances, "", "X-Filter", `{"placement_group.label":"spread"}`).data(t); len(got) != 1 {
			t.Errorf("%d Linodes in the group", len(got))
		}
		for _, c := range []struct{ method, path, words string }{
			{"DELETE", spread, "cannot be deleted"}, {"DELETE", net, "still in subnet"},
		} {
			if _, reason := api.do(c.method, c.path, "").reason(); !strings.Contains(reason, c.words) {
				t.Errorf("%s %s: %q", c.method, c.path, reason)
			}
		}
		id := fmt.Sprintf(`{"linodes":[%v]}`, number(made.body["id"]))
		mustDo(t, api, "POST", spread+"/unassign", id)
		if got := mustDo(t, api, "POST", spread+"/assign", id); len(got.body["members"].([]any)) != 1 {
			t.Errorf("group %s", got.raw)
		}
		mustDo(t, api, "DELETE", path, "")
		for _, empty := range []string{spread, net, where} {
			mustDo(t, api, "DELETE", empty, "")
		}
	})
}

func TestImagesAreMadeOfDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even(), Tokens: map[string][]string{
			linodesim.DefaultToken: {"*"}, "images only": {"images:read_write"}, "none": {"lke:read_only"},
		}})
		path, _ := newLinode(t, api, `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","authorized_users":["me"],"booted":false}`)
		disk := fmt.Sprintf(`{"disk_id":%v,"cloud_init":true}`, number(api.do("GET", path+"/disks", "").data(t)[0]["id"]))
		if got := (client{t, api.sim, "images only"}).do("POST", "/v4beta/images", disk); got.status != 403 {
			t.Errorf("an image without linodes:read_only: %d", got.status)
		}
		made := mustDo(t, api, "POST", "/v4beta/images", disk)
		where := "/v4beta/images/" + strings.Replace(made.body["id"].(string), "/", "%2F", 1)
		if made.body["status"] != "creating" {
			t.Errorf("new image %s", made.raw)
		}
		body := fmt.Sprintf(`{"type":"g6-nanode-1","region":"us-ord","image":%q,"authorized_users":["me"],"swap_size":0}`, made.body["id"])
		if _, reason := api.do("POST", instances, body).reason(); !strings.Contains(reason, "not available yet") {
			t.Errorf("a Linode of a young image: %q", reason)
		}
		time.Sleep(101 * time.Second)
		if got := mustDo(t, api, "GET", where, ""); got.body["status"] != "available" {
			t.Errorf("image %s", got.raw)
		}
		newLinode(t, api, body)
		for _, anonymous := range []string{"", "none"} {
			c := client{t, api.sim, anonymous}
			if got := c.do("GET", where, ""); got.status != 404 {
				t.Errorf("a private image with token %q: %d", anonymous, got.status)
			}
			if strings.Contains(c.do("GET", "/v4beta/images", "").raw, "private/") {
				t.Errorf("token %q lists private images", anonymous)
			}
		}
		if got := api.do("DELETE", "/v4beta/images/linode%2Fdebian12", ""); got.status != 403 {
			t.Errorf("deleting a public image: %d", got.status)
		}
		mustDo(t, api, "DELETE", where, "")
		if got := api.do("GET", where, ""); got.status != 404 {
			t.Errorf("the deleted image: %d", got.status)
		}
	})
}

func TestDisksAndConfigs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		path, _ := newLinode(t, api, `{"type":"g6-nanode-1","region":"us-ord"}`)
		time.Sleep(51 * time.Second)
		if _, reason := api.do("POST", path+"/boot", "").reason(); !strings.Contains(reason, "no configuration") {
			t.Errorf("booting nothing: %q", reason)
		}
		if field, _ := api.do("POST", path+"/disks", `{"size":25601}`).reason(); field != "size" {
			t.Errorf("a disk larger than the plan is refused for %q", field)
		}
		disk := mustDo(t, api, "POST", path+"/disks", `{"size":1000,"label":"data","filesystem":"raw"}`).body["id"]
		for _, c := range []struct{ body, field string }{
			{`{"label":"boot","devices":{"sdbm":{"disk_id":1}}}`, "devices.sdbm"},
			{`{"label":"boot","devices":{"sda":{"disk_id":1}}}`, "devices.sda.disk_id"},
			{`{"label":"boot","devices":{"sda":{"volume_id":1}}}`, "devices.sda.volume_id"}, {`{"label":"boot","devices":{},"initrd":5}`, "initrd"},
			{`{"label":"boot","devices":{},"interfaces":[{"purpose":"vlan"}]}`, "interfaces[0].label"},
		} {
			if field, reason := api.do("POST", path+"/configs", c.body).reason(); field != c.field {
				t.Errorf("%s: refused for %q (%s), want %q", c.body, field, reason, c.field)
			}
		}
		made := mustDo(t, api, "POST", path+"/configs",
			fmt.Sprintf(`{"label":"boot","devices":{"sda":{"disk_id":%v}},"interfaces":[{"purpose":"public","primary":true},{"purpose":"vlan","label":"lan"}]}`, number(disk)))
		config := fmt.Sprintf("%s/configs/%v", path, number(made.body["id"]))
		if got := mustDo(t, api, "PUT", config, `{"kernel":"linode/grub2"}`); got.body["kernel"] != "linode/grub2" ||
			got.body["label"] != "boot" || len(got.body["interfaces"].([]any)) != 2 {
			t.Errorf("config %s", got.raw)
		}
		where := fmt.Sprintf("%s/disks/%v", path, number(disk))
		time.Sleep(11 * time.Second)
		if got := mustDo(t, api, "GET", where, ""); got.body["status"] != "ready" {
			t.Errorf("disk %s", got.raw)
		}
		mustDo(t, api, "DELETE", where, "")
		if got := mustDo(t, api, "GET", config, ""); got.body["devices"].(map[string]any)["sda"] != nil {
			t.Errorf("config of a deleted disk %s", got.raw)
		}
		mustDo(t, api, "DELETE", config, "")
	})
}

func TestTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{})
		path, made := newLinode(t, api, `{"type":"g6-nanode-1","region":"us-ord","tags":["from-linode"]}`)
		mustDo(t, api, "POST", "/v4beta/tags", fmt.Sprintf(`{"label":"a=b/c","linodes":[%v]}`, number(made.body["id"])))
		mustDo(t, api, "POST", "/v4beta/tags", `{"label":"on-nothing"}`)
		if got := api.do("GET", "/v4beta/tags",
			"").data(t); fmt.Sprint(got) != "[map[label:a=b/c] map[label:from-linode] map[label:on-nothing]]" {
			t.Errorf("tags %v", got)
		}
		if got := api.do("GET", "/v4beta/linode/instances", "", "X-Filter", `{"tags":"a=b/c"}`).data(t); len(got) != 1 {
			t.Errorf("tagged %v", got)
		}
		for _, c := range []struct{ body, field string }{
			{`{"label":"x"}`, "label"}, {`{"label":"on-nothing"}`, "label"}, {`{"label":"other","linodes":[1]}`, "linodes"},
			{`{"label":"other","volumes":[1]}`, "volumes"},
		} {
			if field, _ := api.do("POST", "/v4beta/tags", c.body).reason(); field != c.field {
				t.Errorf("%s: refused for %q", c.body, field)
			}
		}
		mustDo(t, api, "DELETE", "/v4beta/tags/from-linode", "")
		if got := mustDo(t, api, "GET", path, ""); join(got.body["tags"]) != "a=b/c" {
			t.Errorf("tags of the Linode %v", got.body["tags"])
		}
	})
}

// TestClusterOverHTTP makes one as a user would, and recycles.
func TestClusterOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profile := even()
		profile.NewCluster.ControlPlane, profile.NewCluster.Endpoints = linodesim.Exactly(time.Minute), linodesim.Exactly(10*time.Second)
		_, api := newSim(t, linodesim.Config{Profile: profile})
		for _, c := range []struct{ name, body, field string }{
			{"no pools", `{"label":"a","region":"us-ord","k8s_version":"1.35","node_pools":[]}`, "node_pools"},
			{"bad plan", `{"label":"a","region":"us-ord","k8s_version":"1.35","node_pools":[{"type":"g6-nanode-1","count":1}]}`,
				"node_pools[0].type"},
			{"too many nodes", `{"label":"a","region":"us-ord","k8s_version":"1.35","node_pools":[{"type":"g6-standard-1","count":100},{"type":"g6-standard-1","count":100},{"type":"g6-standard-1","count":100}]}`, "node_pools[2].count"},
			{"a VPC on Standard", `{"label":"a","region":"us-ord","k8s_version":"1.35","vpc_id":1,"node_pools":[{"type":"g6-standard-1","count":1}]}`, "vpc_id"},
			{"no VPC", `{"label":"a","region":"us-ord","k8s_version":"v1.33.6+lke7","tier":"enterprise","vpc_id":1,"node_pools":[]}`, "vpc_id"},
		} {
			if field, reason := api.do("POST", "/v4beta/lke/clusters", c.body).reason(); field != c.field {
				t.Errorf("%s: refused for %q (%s), want %q", c.name, field, reason, c.field)
			}
		}
		made := mustDo(t, api, "POST", "/v4beta/lke/clusters",
			`{"label":"a","region":"us-ord","k8s_version":"1.35","control_plane":{"high_availability":true},"node_pools":[{"type":"g6-standard-1","count":2}]}`)
		path := fmt.Sprintf("/v4beta/lke/clusters/%v", number(made.body["id"]))
		for _, young := range []string{"/kubeconfig", "/api-endpoints"} {
			if got := api.do("GET", path+young, ""); got.status != 503 {
				t.Errorf("%s of a new cluster: %d", young, got.status)
			}
		}
		time.Sleep(200 * time.Second)
		for _, old := range []string{"/kubeconfig", "/api-endpoints"} {
			mustDo(t, api, "GET", path+old, "")
		}
		before := fmt.Sprint(nodeIDs(api, t, path))
		pool := api.do("GET", path+"/pools", "").data(t)[0]
		mustDo(t, api, "POST", fmt.Sprintf("%s/pools/%v/recycle", path, number(pool["id"])), "")
		time.Sleep(10 * time.Minute)
		after := nodeIDs(api, t, path)
		if len(after) != 2 || fmt.Sprint(after) == before {
			t.Errorf("nodes before the recycling %v, after it %v", before, after)
		}
		mustDo(t, api, "POST", path+"/nodes/"+after[0]+"/recycle", "")
		if got := nodeIDs(api, t, path); len(got) != 2 || got[0] != after[1] {
			t.Errorf("nodes %v, before %v", got, after)
		}
		mustDo(t, api, "DELETE", path, "")
		if got := api.do("GET", path, ""); got.status != 404 {
			t.Errorf("the deleted cluster: %d", got.status)
		}
		time.Sleep(time.Minute)
		if got := api.do("GET", instances, "").data(t); len(got) != 0 {
			t.Errorf("%d Linodes are left", len(got))
		}
	})
}

func nodeIDs(api client, t *testing.T, path string) []string {
	var out []string
	for _, p := range api.do("GET", path+"/pools", "").data(t) {
		for _, n := range p["nodes"].([]any) {
			out = append(out, n.(map[string]any)["id"].(string))
		}
	}
	return out
}
