package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Reboot, rebuild, resize and migrate take their time, end with their events, and refuse each other meanwhile.
func TestWorkOnALinode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		path, made := newLinode(t, api,
			`{"type":"g6-standard-1","region":"us-ord","label":"one","image":"linode/debian12","root_pass":"not-a-secret","swap_size":0}`)
		wait := func() { time.Sleep(time.Minute) }
		wait()
		get := func() map[string]any { return mustDo(t, api, "GET", path, "").body }
		for _, c := range []struct{ action, body, during, changed string }{
			{"reboot", "", "rebooting", ""},
			{"rebuild", `{"image":"linode/ubuntu22.04","root_pass":"not-a-secret"}`, "rebuilding", "linode/ubuntu22.04"},
			{"resize", `{"type":"g6-standard-2"}`, "migrating", "g6-standard-2"},
			{"migrate", `{"region":"us-east"}`, "migrating", "us-east"},
		} {
			addresses := get()["ipv4"]
			mustDo(t, api, "POST", path+"/"+c.action, c.body)
			if now := get()["status"]; now != c.during {
				t.Errorf("%s: status %v", c.action, now)
			}
			for _, other := range []string{"reboot", "migrate", "shutdown"} {
				if _, reason := api.do("POST", path+"/"+other, "").reason(); reason != "Linode busy." {
					t.Errorf("%s during %s: %q", other, c.action, reason)
				}
			}
			wait()
			after := get()
			if after["status"] != "running" || fmt.Sprint(after["ipv4"]) != fmt.Sprint(addresses) ||
				!strings.Contains(fmt.Sprint(after["image"], after["type"], after["region"]), c.changed) {
				t.Errorf("after %s: %v", c.action, after)
			}
		}
		disk := mustDo(t, api, "GET", path+"/disks", "").data(t)[0]
		if disk["size"] != 81408.0 {
			t.Errorf("the disk did not follow the plan: %v", disk)
		}
		mustDo(t, api, "POST", path+"/shutdown", "")
		wait()
		resize := fmt.Sprintf("%s/disks/%v/resize", path, number(disk["id"]))
		mustDo(t, api, "POST", resize, `{"size":40000}`)
		wait()
		if disk := mustDo(t, api, "GET", path+"/disks", "").data(t)[0]; disk["size"] != 40000.0 || disk["status"] != "ready" {
			t.Errorf("resized disk %v", disk)
		}
		for _, c := range []struct{ path, body, words string }{
			{"/resize", `{"type":"g6-standard-2"}`, "already running this service plan"},
			{"/resize", `{"type":"g6-nanode-1","allow_auto_disk_resize":false}`, "do not fit"},
			{"/rebuild", `{"image":"linode/none","root_pass":"not-a-secret"}`, "image is not valid"},
			{"/rebuild", `{"image":"linode/debian12"}`, "Must provide valid root_pass"},
			{"/migrate", `{"region":"nowhere"}`, "region is not valid"},
			{"/reboot", "", "not running"},
		} {
			if r := api.do("POST", path+c.path, c.body); r.status != 400 || !strings.Contains(r.raw, c.words) {
				t.Errorf("%s %s: %d %s", c.path, c.body, r.status, r.raw)
			}
		}
		for _, e := range api.events("linode", made.body["id"]) {
			if e.Status != "finished" {
				t.Errorf("%s is %s", e.Action, e.Status)
			}
		}
	})
}

// Subnets come and go after their VPC, which lists the addresses in it.
func TestSubnetsAndTheirAddresses(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	vpc := mustDo(t, api, "POST", "/v4/vpcs", `{"label":"net","region":"us-ord","ipv4":[{"range":"10.0.0.0/16"}],"ipv6":[{"range":"/52"}]}`)
	path := fmt.Sprintf("/v4/vpcs/%v", number(vpc.body["id"]))
	made := mustDo(t, api, "POST", path+"/subnets", `{"label":"a","ipv4":"10.0.0.0/24","ipv6":[{"range":"auto"}]}`)
	for body, field := range map[string]string{
		`{"label":"b","ipv4":"10.0.0.128/25"}`: "ipv4", `{"label":"b","ipv4":"172.16.0.0/24"}`: "ipv4", `{"label":"a","ipv4":"10.0.1.0/24"}`: "label",
	} {
		if got, _ := api.do("POST", path+"/subnets", body).reason(); got != field {
			t.Errorf("%s: field %q, want %q", body, got, field)
		}
	}
	linode, _ := newLinode(t, api, fmt.Sprintf(
		`{"type":"g6-standard-1","region":"us-ord","interface_generation":"linode","firewall_id":-1,"interfaces":[{"vpc":{"subnet_id":%v,"ipv6":{"slaac":[{"range":"auto"}]}}}]}`,
		number(made.body["id"])))
	for _, list := range []string{path + "/ips", "/v4/vpcs/ips"} {
		if got := mustDo(t, api, "GET", list, "").data(t); len(got) != 1 || got[0]["address"] != "10.0.0.2" || got[0]["linode_id"] == nil {
			t.Errorf("%s: %v", list, got)
		}
	}
	if got := mustDo(t, api, "GET", path+"/ipv6s", "").data(t); len(got) != 1 || got[0]["ipv6_range"] == nil || got[0]["address"] != nil {
		t.Errorf("IPv6 %v", got)
	}
	subnet := fmt.Sprintf("%s/subnets/%v", path, number(made.body["id"]))
	if r := mustDo(t, api, "PUT", subnet, `{"label":"renamed"}`); r.body["label"] != "renamed" {
		t.Errorf("renamed %s", r.raw)
	}
	if r := api.do("DELETE", subnet, ""); r.status != 400 {
		t.Errorf("with a Linode in it: %d", r.status)
	}
	mustDo(t, api, "DELETE", linode, "")
	mustDo(t, api, "DELETE", subnet, "")
	if r := mustDo(t, api, "PUT", path, `{"label":"other","description":"text"}`); r.body["label"] != "other" || len(r.body["subnets"].([]any)) != 0 {
		t.Errorf("VPC %s", r.raw)
	}
}

// Interfaces of a configuration are edited one by one.
func TestInterfacesOfAConfiguration(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	vpc := mustDo(t, api, "POST", "/v4/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"a","ipv4":"10.0.0.0/24"}]}`)
	subnet := number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"])
	path, _ := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","booted":false}`)
	config := fmt.Sprintf("%s/configs/%v/interfaces", path, number(api.do("GET", path+"/configs", "").data(t)[0]["id"]))
	first := mustDo(t, api, "POST", config, `{"purpose":"public"}`)
	second := mustDo(t, api, "POST", config, fmt.Sprintf(`{"purpose":"vpc","subnet_id":%v}`, subnet))
	one := fmt.Sprintf("%s/%v", config, number(second.body["id"]))
	changed := mustDo(t, api, "PUT", one, `{"primary":true,"ipv4":{"vpc":"10.0.0.9","nat_1_1":"any"},"ip_ranges":["10.0.0.64/28"]}`)
	if changed.body["primary"] != true || !strings.Contains(changed.raw, `"vpc":"10.0.0.9"`) || strings.Contains(changed.raw, `"any"`) {
		t.Errorf("changed %s", changed.raw)
	}
	mustDo(t, api, "POST", config+"/order", fmt.Sprintf(`{"ids":[%v,%v]}`, number(second.body["id"]), number(first.body["id"])))
	if list := mustDo(t, api, "GET", config, ""); !strings.HasPrefix(list.raw, fmt.Sprintf(`[{"active":false,"id":%v`, number(second.body["id"]))) {
		t.Errorf("order %s", list.raw)
	}
	if r := api.do("POST", config+"/order", `{"ids":[1]}`); r.status != 400 {
		t.Errorf("another interface: %d", r.status)
	}
	mustDo(t, api, "DELETE", one, "")
	if r := api.do("GET", one, ""); r.status != 404 {
		t.Errorf("deleted: %d", r.status)
	}
}

// Settings of the account are about Linodes to come.
func TestAccountSettingsAreDefaults(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	mustDo(t, api, "PUT", "/v4/account/settings",
		`{"interfaces_for_new_linodes":"linode_only","backups_enabled":true,"maintenance_policy":"linode/migrate"}`)
	_, made := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","firewall_id":-1}`)
	if made.body["interface_generation"] != "linode" || made.body["maintenance_policy"] != "linode/migrate" ||
		made.body["backups"].(map[string]any)["enabled"] != true {
		t.Errorf("Linode %s", made.raw)
	}
	r := api.do("POST", "/v4/linode/instances", `{"type":"g6-standard-1","region":"us-ord","interface_generation":"legacy_config"}`)
	if field, _ := r.reason(); r.status != 400 || field != "interface_generation" {
		t.Errorf("legacy: %d %s", r.status, r.raw)
	}
}
