package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The requests of the cloud controller manager for a Service: a NodeBalancer with ports and nodes, rebuilt when nodes come and go, behind a
// firewall whose rules change.
func TestNodeBalancerOfAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		c, _ := addCluster(t, sim, linodesim.Standard)
		private := sim.Snapshot().Instances[0].PrivateIPv4
		firewall := sim.AddFirewall(linodesim.FirewallSpec{Label: "balancers"})
		made := mustDo(t, api, "POST", "/v4/nodebalancers", fmt.Sprintf(
			`{"label":"ccm-1","region":"us-ord","firewall_id":%d,"configs":[{"port":80,"protocol":"tcp","check":"connection","nodes":[{"label":"a","address":"%s:30080","mode":"accept","weight":100}]}]}`,
			firewall, private))
		path := fmt.Sprintf("/v4/nodebalancers/%v", number(made.body["id"]))
		for _, filter := range []string{`{"label":"ccm-1"}`, fmt.Sprintf(`{"ipv4":%q}`, made.body["ipv4"])} {
			if all := api.do("GET", "/v4/nodebalancers", "", "X-Filter", filter).data(t); len(all) != 1 {
				t.Errorf("%s finds %v", filter, all)
			}
		}
		configs := mustDo(t, api, "GET", path+"/configs", "").data(t)
		if up := configs[0]["nodes_status"].(map[string]any)["up"]; len(configs) != 1 || up != 1.0 {
			t.Fatalf("configs %v", configs)
		}
		config := fmt.Sprintf("%s/configs/%v", path, number(configs[0]["id"]))
		node := mustDo(t, api, "GET", config+"/nodes", "").data(t)[0]
		rebuilt := mustDo(t, api, "POST", config+"/rebuild", fmt.Sprintf(
			`{"port":80,"protocol":"tcp","algorithm":"leastconn","nodes":[{"id":%v,"label":"a","address":"%s:30081"},{"label":"b","address":"%s:30082"}]}`,
			number(node["id"]), private, private))
		nodes := mustDo(t, api, "GET", config+"/nodes", "").data(t)
		if rebuilt.body["algorithm"] != "leastconn" || len(nodes) != 2 || nodes[0]["id"] != node["id"] ||
			nodes[0]["address"] != private+":30081" || nodes[0]["weight"] != 100.0 {
			t.Errorf("after rebuild %s, nodes %v", rebuilt.raw, nodes)
		}
		if got := mustDo(t, api, "GET", path+"/firewalls", "").data(t); len(got) != 1 || got[0]["label"] != "balancers" {
			t.Errorf("firewalls %v", got)
		}
		rules := fmt.Sprintf("/v4/networking/firewalls/%d/rules", firewall)
		changed := mustDo(t, api, "PUT", rules, `{"inbound":[{"action":"ACCEPT","protocol":"TCP","ports":"80","addresses":{"ipv4":["192.0.2.0/24"]}}],"inbound_policy":"DROP","outbound_policy":"ACCEPT"}`)
		if changed.body["version"] != 2.0 || mustDo(t, api, "GET", rules, "").raw != changed.raw {
			t.Errorf("rules %s", changed.raw)
		}
		for _, wrong := range []struct{ method, path, body, field string }{
			{"POST", "/v4/nodebalancers", `{"region":"nowhere"}`, "region"},
			{"POST", "/v4/nodebalancers", `{"region":"us-ord","label":"ccm-1"}`, "label"},
			{"POST", "/v4/nodebalancers", `{"region":"us-ord","configs":[{"port":80,"protocol":"tcp"},{"port":80,"protocol":"http"}]}`, "configs[1].port"},
			{"POST", path + "/configs", `{"port":80}`, "port"},
			{"POST", path + "/configs", `{"port":443,"protocol":"https"}`, "ssl_cert"},
			{"POST", config + "/nodes", `{"label":"c","address":"192.168.200.200:80"}`, "address"},
			{"POST", config + "/rebuild", `{"nodes":[{"id":1,"label":"c","address":"` + private + `:80"}]}`, "nodes[0].id"},
			{"PUT", rules, `{"inbound":[{"action":"ACCEPT","protocol":"ICMP","ports":"1"}],"inbound_policy":"DROP","outbound_policy":"ACCEPT"}`, "inbound[0].ports"},
		} {
			if r := api.do(wrong.method, wrong.path, wrong.body); r.status != 400 {
				t.Errorf("%s %s: %d", wrong.path, wrong.body, r.status)
			} else if field, _ := r.reason(); field != wrong.field {
				t.Errorf("%s %s: field %q, want %q", wrong.path, wrong.body, field, wrong.field)
			}
		}
		if err := sim.DeletePool(c.ID, c.Pools[0].ID); err == nil {
			t.Fatal("the last pool went")
		}
		mustDo(t, api, "DELETE", fmt.Sprintf("/v4/linode/instances/%d", c.Pools[0].Nodes[0].InstanceID), "")
		if got := mustDo(t, api, "GET", config, "").body["nodes_status"].(map[string]any); got["down"] != 2.0 {
			t.Errorf("nodes without their Linode: %v", got)
		}
		mustDo(t, api, "DELETE", path, "")
		if r := api.do("GET", config, ""); r.status != 404 {
			t.Errorf("a port of a NodeBalancer that is gone: %d", r.status)
		}
		if got := mustDo(t, api, "GET", fmt.Sprintf("/v4/networking/firewalls/%d", firewall), ""); len(got.body["entities"].([]any)) != 0 {
			t.Errorf("firewall %s", got.raw)
		}
	})
}

// A volume that is attached as the CSI driver attaches it, with persist_across_boots false, is lost with a boot of its
// Linode, at a moment that is not known. One that persists stays.
func TestAVolumeThatDoesNotPersistIsLostWithABoot(t *testing.T) {
	for _, test := range []struct {
		name                  string
		other                 linodesim.Behaviour
		rebooting, again, off bool // whether it is attached while the Linode reboots, after that, and while it is off
	}{
		{"at the stop", linodesim.Behaviour{}, false, false, false},
		{"at the boot", linodesim.Behaviour{PassingVolumes: linodesim.DetachAtBoot}, true, false, true},
		{"kept by a reboot", linodesim.Behaviour{PassingVolumes: linodesim.KeepAtReboot}, true, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true, Behaviour: test.other})
				id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Image: "linode/debian12"})
				if err != nil {
					t.Fatal(err)
				}
				linode, wait := fmt.Sprintf("/v4/linode/instances/%d", id), func() { time.Sleep(time.Minute) }
				volume := func(label string) string {
					made := mustDo(t, api, "POST", "/v4/volumes", fmt.Sprintf(`{"label":%q,"region":"us-ord","size":10}`, label))
					wait()
					return fmt.Sprintf("/v4/volumes/%v", number(made.body["id"]))
				}
				passing, lasting := volume("passing"), volume("lasting")
				attach := func(persist string) {
					mustDo(t, api, "POST", passing+"/attach", fmt.Sprintf(`{"linode_id":%d%s}`, id, persist))
					wait()
				}
				const briefly = `,"persist_across_boots":false`
				attached := func(when string, want bool) {
					t.Helper()
					for path, want := range map[string]bool{passing: want, lasting: true} {
						if got := mustDo(t, api, "GET", path, "").body["linode_id"]; (got != nil) != want {
							t.Errorf("%s: linode_id of %s is %v, attached %t is wanted", when, path, got, want)
						}
					}
				}
				mustDo(t, api, "POST", lasting+"/attach", fmt.Sprintf(`{"linode_id":%d}`, id))
				attach(briefly)
				mustDo(t, api, "POST", linode+"/reboot", "{}")
				attached("rebooting", test.rebooting)
				wait()
				attached("after the reboot", test.again)
				if !test.again {
					attach(briefly)
				}
				mustDo(t, api, "POST", linode+"/shutdown", "")
				wait()
				attached("off", test.off)
				other := volume("another")
				for body, field := range map[string]string{
					fmt.Sprintf(`{"linode_id":%d%s}`, id, briefly):                  "linode_id",
					fmt.Sprintf(`{"linode_id":%d,"config_id":4711%s}`, id, briefly): "config_id",
				} {
					r := api.do("POST", other+"/attach", body)
					if got, reason := r.reason(); r.status != 400 || got != field || !strings.Contains(reason, "persist_across_boots") {
						t.Errorf("%s to a Linode that is off: %d %s: %s", body, r.status, got, reason)
					}
				}
				mustDo(t, api, "POST", linode+"/boot", "{}")
				wait()
				attached("booted", false)
			})
		})
	}
}

// The requests of the CSI driver about a volume; each step has an event that ends with the step.
func TestAVolumesLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		id, err := sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Image: "linode/debian12"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // it runs
		made := mustDo(t, api, "POST", "/v4/volumes", `{"label":"pvc1","region":"us-ord","size":10,"tags":["csi"]}`)
		path := fmt.Sprintf("/v4/volumes/%v", number(made.body["id"]))
		attach := fmt.Sprintf(`{"linode_id":%d,"persist_across_boots":true}`, id)
		state := func() string {
			v := mustDo(t, api, "GET", path, "").body
			return fmt.Sprint(v["status"], " ", v["linode_id"] != nil, " ", v["size"])
		}
		refused := func(method, path, body, words string) {
			t.Helper()
			r := api.do(method, path, body)
			if _, reason := r.reason(); r.status != 400 || !strings.Contains(reason, words) {
				t.Errorf("%s %s: %d %q, want %q", path, body, r.status, reason, words)
			}
		}
		if state() != "creating false 10" {
			t.Errorf("%s", state())
		}
		wait := func() { time.Sleep(time.Second) }
		mustDo(t, api, "POST", path+"/attach", attach)
		wait()
		if got := mustDo(t, api, "GET", fmt.Sprintf("/v4/linode/instances/%d/volumes", id), "").data(t); len(got) != 1 ||
			got[0]["label"] != "pvc1" {
			t.Errorf("volumes of the Linode %v", got)
		}
		refused("POST", path+"/attach", attach, "already attached")
		refused("DELETE", path, "", "must be detached")
		refused("POST", path+"/resize", `{"size":10}`, "more than 10")
		mustDo(t, api, "POST", path+"/resize", `{"size":20}`)
		if state() != "resizing true 20" {
			t.Errorf("%s", state())
		}
		wait()
		mustDo(t, api, "POST", path+"/detach", "")
		if state() != "active true 20" {
			t.Errorf("%s", state())
		}
		wait()
		if state() != "active false 20" {
			t.Errorf("%s", state())
		}
		refused("POST", "/v4/volumes", `{"label":"pvc1","region":"us-ord"}`, "unique")
		refused("POST", "/v4/volumes", `{"label":"small","region":"us-ord","size":9}`, "10-16384")
		mustDo(t, api, "POST", path+"/clone", `{"label":"pvc2"}`)
		mustDo(t, api, "DELETE", path, "")
		var actions []string
		for _, e := range api.events("volume", made.body["id"]) {
			actions = append(actions, e.Action+" "+e.Status)
		}
		if got, want := strings.Join(actions, ", "),
			"volume_create finished, volume_attach finished, volume_resize finished, volume_detach finished, volume_delete finished"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		for n := range 6 { // a Linode with two disks has room for 6
			r := api.do("POST", "/v4/volumes", fmt.Sprintf(`{"label":"v%d","linode_id":%d}`, n, id))
			if r.status != 200 {
				t.Errorf("volume %d: %s", n, r.raw)
			}
		}
		refused("POST", "/v4/volumes", fmt.Sprintf(`{"label":"seventh","linode_id":%d}`, id), "can have no more")
		mustDo(t, api, "DELETE", fmt.Sprintf("/v4/linode/instances/%d", id), "")
		for _, v := range mustDo(t, api, "GET", "/v4/volumes", "").data(t) {
			if v["linode_id"] != nil {
				t.Errorf("attached to a Linode that is gone: %v", v)
			}
		}
	})
}

// The firewalls of a Linode are set in one request.
func TestFirewallsOfALinode(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	a, b := sim.AddFirewall(linodesim.FirewallSpec{Label: "aaa"}), sim.AddFirewall(linodesim.FirewallSpec{Label: "bbb"})
	path, _ := newLinode(t, api, fmt.Sprintf(`{"type":"g6-standard-1","region":"us-ord","firewall_id":%d}`, a))
	for body, want := range map[string]int{fmt.Sprintf(`{"firewall_ids":[%d]}`, b): b, `{"firewall_ids":[]}`: 0} {
		mustDo(t, api, "PUT", path+"/firewalls", body)
		list := mustDo(t, api, "GET", path+"/firewalls", "").data(t)
		if len(list) != min(want, 1) || want != 0 && list[0]["id"] != float64(want) {
			t.Errorf("%s: %v", body, list)
		}
	}
	if r := api.do("PUT", path+"/firewalls", fmt.Sprintf(`{"firewall_ids":[%d,%d]}`, a, b)); r.status != 400 {
		t.Errorf("two firewalls: %d", r.status)
	}
}
