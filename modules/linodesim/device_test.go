package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A firewall protects a Linode with legacy interfaces as a whole, and others by their public and VPC interfaces: one firewall each.
func TestFirewallDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		firewall := func(label string) string {
			made := mustDo(t, api, "POST", "/v4beta/networking/firewalls",
				`{"label":"`+label+`","rules":{"inbound_policy":"DROP","outbound_policy":"ACCEPT"}}`)
			return fmt.Sprintf("/v4beta/networking/firewalls/%v", number(made.body["id"]))
		}
		one, other := firewall("one"), firewall("other")
		_, older := newLinode(t, api, `{"type":"g6-nanode-1","region":"us-ord"}`)
		path, newer := newLinode(t, api,
			`{"type":"g6-nanode-1","region":"us-ord","interface_generation":"linode","interfaces":[{"public":{},"firewall_id":-1},{"vlan":{"vlan_label":"side"}}]}`)
		interfaces := mustDo(t, api, "GET", path+"/interfaces", "").body["interfaces"].([]any)
		id := func(n int) any { return number(interfaces[n].(map[string]any)["id"]) }
		device := func(kind string, id any) string { return fmt.Sprintf(`{"type":%q,"id":%v}`, kind, id) }

		made := mustDo(t, api, "POST", one+"/devices", device("linode", number(older.body["id"])))
		mustDo(t, api, "POST", one+"/devices", device("linode_interface", id(0)))
		for _, c := range []struct{ what, firewall, body, field, words string }{
			{"again", one, device("linode", number(older.body["id"])), "id", "already"},
			{"a second firewall", other, device("linode", number(older.body["id"])), "id", "already"},
			{"an interface a second time", other, device("linode_interface", id(0)), "id", "already"},
			{"a Linode by itself that has interfaces", one, device("linode", number(newer.body["id"])), "type", "interfaces"},
			{"a VLAN", one, device("linode_interface", id(1)), "id", "not valid"},
			{"a NodeBalancer", one, device("nodebalancer", 1), "id", "not valid"},
			{"no such Linode", one, device("linode", 1), "id", "not valid"},
		} {
			got := api.do("POST", c.firewall+"/devices", c.body)
			if field, reason := got.reason(); got.status != 400 || field != c.field || !strings.Contains(reason, c.words) {
				t.Errorf("%s: %d [%s] %s, want 400 [%s] %s", c.what, got.status, field, reason, c.field, c.words)
			}
		}
		entities := mustDo(t, api, "GET", one, "").body["entities"].([]any)
		if len(entities) != 2 || entities[1].(map[string]any)["parent_entity"].(map[string]any)["id"] != newer.body["id"] {
			t.Errorf("the firewall protects %v", entities)
		}
		where := fmt.Sprintf("/devices/%v", number(made.body["id"]))
		if got := api.do("DELETE", other+where, ""); got.status != 404 {
			t.Errorf("a device of another firewall was deleted: %d", got.status)
		}
		mustDo(t, api, "DELETE", one+where, "")
		if got := api.do("DELETE", one+where, ""); got.status != 404 {
			t.Errorf("deleted twice: %d", got.status)
		}
		mustDo(t, api, "POST", other+"/devices", device("linode", number(older.body["id"])))
		mustDo(t, api, "DELETE", path, "")
		mustDo(t, api, "DELETE", other, "")
		mustDo(t, api, "POST", one+"/devices", device("linode", number(older.body["id"])))
		if got := api.do("GET", one+"/devices", "").data(t); len(got) != 1 {
			t.Errorf("devices %v", got)
		}
	})
}
