package linodesim_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// What the cloud controller manager does for a Service without a NodeBalancer: it reserves an address, gives it to a Linode, shares it
// with others, and gives it back.
func TestAnAddressIsReservedAssignedSharedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		one, first := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"one"}`)
		two, second := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"two"}`)
		kept := mustDo(t, api, "POST", "/v4/networking/reserved/ips", `{"region":"us-ord","tags":["team-a"]}`)
		address := kept.body["address"].(string)
		if kept.body["reserved"] != true || kept.body["linode_id"] != nil || kept.body["rdns"] != nil || kept.body["assigned_entity"] != nil {
			t.Errorf("reserved %s", kept.raw)
		}
		given := mustDo(t, api, "POST", one+"/ips", fmt.Sprintf(`{"type":"ipv4","public":true,"address":%q}`, address))
		if given.body["linode_id"] != first.body["id"] || given.body["reserved"] != true {
			t.Errorf("assigned %s", given.raw)
		}
		share := func(ips string) {
			mustDo(t, api, "POST", "/v4/networking/ips/share", fmt.Sprintf(`{"linode_id":%v,"ips":[%s]}`, number(second.body["id"]), ips))
		}
		share(fmt.Sprintf("%q", address))
		shared := mustDo(t, api, "GET", two+"/ips", "").body["ipv4"].(map[string]any)["shared"].([]any)
		if len(shared) != 1 || shared[0].(map[string]any)["address"] != address {
			t.Errorf("shared %v", shared)
		}
		if all := mustDo(t, api, "GET", one, "").body["ipv4"].([]any); !slices.Contains(all, any(address)) || len(all) != 2 {
			t.Errorf("addresses %v", all)
		}
		share("")
		mustDo(t, api, "DELETE", one+"/ips/"+address, "")
		if got := mustDo(t, api, "GET", "/v4/networking/reserved/ips/"+address, ""); got.body["linode_id"] != nil {
			t.Errorf("after it was taken from its Linode: %s", got.raw)
		}
		third := mustDo(t, api, "POST", "/v4/linode/instances", fmt.Sprintf(`{"type":"g6-standard-1","region":"us-ord","ipv4":[%q]}`, address))
		if third.body["ipv4"].([]any)[0] != address {
			t.Errorf("a Linode with a reserved address: %s", third.raw)
		}
		mustDo(t, api, "DELETE", fmt.Sprintf("/v4/linode/instances/%v", number(third.body["id"])), "")
		if got := api.do("GET", "/v4/networking/reserved/ips", "").data(t); len(got) != 1 || got[0]["linode_id"] != nil {
			t.Errorf("after its Linode was deleted: %v", got)
		}
		mustDo(t, api, "DELETE", "/v4/networking/reserved/ips/"+address, "")
		if got := api.do("GET", "/v4/networking/reserved/ips/"+address, ""); got.status != 404 {
			t.Errorf("after it was given back: %d", got.status)
		}
		private := mustDo(t, api, "POST", two+"/ips", `{"type":"ipv4","public":false}`)
		if private.body["public"] != false || private.body["prefix"] != 17.0 {
			t.Errorf("private %s", private.raw)
		}
		more := mustDo(t, api, "POST", two+"/ips", `{"type":"ipv4","public":true}`)
		mustDo(t, api, "DELETE", two+"/ips/"+second.body["ipv4"].([]any)[0].(string), "")
		if got := mustDo(t, api, "GET", two, "").body["ipv4"].([]any); got[0] != more.body["address"] {
			t.Errorf("the remaining public address is %v, want %v", got, more.body["address"])
		}
	})
}

// The words are recorded (TestInstance_AddReservedIPToInstanceVariants and TestReservedIPAddresses of the vendor's Go client), but the
// last two.
func TestRefusedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		path, made := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"one"}`)
		reserved := func(region string) string {
			return mustDo(t, api, "POST", "/v4/networking/reserved/ips", fmt.Sprintf(`{"region":%q}`, region)).body["address"].(string)
		}
		here, there := reserved("us-ord"), reserved("us-sea")
		give := func(kind, public, address string) string {
			return fmt.Sprintf(`{"type":%q,"public":%s,"address":%q}`, kind, public, address)
		}
		for _, c := range []struct {
			method, path, body string
			status             int
			field, reason      string
		}{
			{"POST", path + "/ips", give("ipv4", "false", here), 400, "address", "Cannot reserve a private address."},
			{"POST", path + "/ips", give("ipv4", "true", "198.51.100.250"), 400, "address",
				"Address must be reserved and must be currently unassigned."},
			{"POST", path + "/ips", give("ipv4", "true", there), 400, "address", "Address must belong to same region as linode."},
			{"POST", path + "/ips", give("ipv4", "true", "12345"), 400, "address", "Must provide a valid reserved address"},
			{"POST", path + "/ips", `{"type":"ipv6","public":true}`, 400, "", "Only addresses of type ipv4 are currently supported."},
			{"POST", "/v4/linode/instances/1/ips", `{"type":"ipv4","public":true}`, 404, "", "Not found"},
			{"POST", "/v4/networking/reserved/ips", `{"region":""}`, 400, "region", "region is not valid"},
			{"DELETE", "/v4/networking/reserved/ips/192.0.2.1", "", 404, "", "Not found"},
			{"DELETE", path + "/ips/192.0.2.1", "", 404, "", "Not found"},
			{"POST", "/v4/networking/ips/share", `{"linode_id":1,"ips":[]}`, 400, "linode_id", "Linode is not active"},
			{"POST", "/v4/linode/instances", fmt.Sprintf(`{"type":"g6-standard-1","region":"us-ord","ipv4":[%q]}`, there), 400, "ipv4",
				"Must provide a single valid reserved ipv4 address"},
			{"DELETE", path + "/ips/" + made.body["ipv4"].([]any)[0].(string), "", 400, "", "A Linode must have at least one public IPv4 address"},
			{"POST", "/v4/networking/ips/share", fmt.Sprintf(`{"linode_id":%v,"ips":[%q]}`, number(made.body["id"]), here), 400, "ips[0]",
				here + " is no public address of another Linode in us-ord"},
		} {
			got := api.do(c.method, c.path, c.body)
			if field, reason := got.reason(); got.status != c.status || field != c.field || reason != c.reason {
				t.Errorf("%s %s %s: %d [%s] %q, want %d [%s] %q", c.method, c.path, c.body, got.status, field, reason, c.status, c.field, c.reason)
			}
		}
		for range 12 {
			reserved("us-ord")
		}
		got := api.do("POST", "/v4/networking/reserved/ips", `{"region":"us-ord"}`)
		const limit = "Additional Reserved IPv4 addresses require technical justification. Please contact support describing your requirement."
		if _, reason := got.reason(); got.status != 400 || reason != limit {
			t.Errorf("beyond the account's limit: %d %s", got.status, got.raw)
		}
	})
}

func TestAReservedAddressTakesTags(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	address := mustDo(t, api, "POST", "/v4/networking/reserved/ips", `{"region":"us-ord"}`).body["address"]
	mustDo(t, api, "POST", "/v4/tags", fmt.Sprintf(`{"label":"balancer","reserved_ipv4_addresses":[%q]}`, address))
	got := mustDo(t, api, "GET", fmt.Sprintf("/v4/networking/reserved/ips/%s", address), "")
	if tags := fmt.Sprint(got.body["tags"]); tags != "[balancer]" {
		t.Errorf("tags %v", tags)
	}
	if tagged := mustDo(t, api, "GET", "/v4/tags/balancer", "").data(t); len(tagged) != 1 || tagged[0]["type"] != "reserved_ipv4_address" {
		t.Errorf("objects with the tag: %v", tagged)
	}
	mustDo(t, api, "DELETE", "/v4/tags/balancer", "")
	if got := mustDo(t, api, "GET", fmt.Sprintf("/v4/networking/reserved/ips/%s", address), ""); fmt.Sprint(got.body["tags"]) != "[]" {
		t.Errorf("after its tag was deleted: %s", got.raw)
	}
	if got := api.do("POST", "/v4/tags", `{"label":"other","reserved_ipv4_addresses":["192.0.2.1"]}`); got.status != 400 {
		t.Errorf("an address that is not the account's: %d", got.status)
	}
}
