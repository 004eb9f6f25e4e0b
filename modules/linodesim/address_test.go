package linodesim_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The requests of the cloud controller manager for a Service without a NodeBalancer, whose address a Linode has already.
func TestAnAddressIsSharedAndTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		_, first := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"one"}`)
		two, second := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"two"}`)
		address := first.body["ipv4"].([]any)[0]
		share := func(ips string) {
			mustDo(t, api, "POST", "/v4/networking/ips/share", fmt.Sprintf(`{"linode_id":%v,"ips":[%s]}`, number(second.body["id"]), ips))
		}
		share(fmt.Sprintf("%q", address))
		shared := mustDo(t, api, "GET", two+"/ips", "").body["ipv4"].(map[string]any)["shared"].([]any)
		if len(shared) != 1 || shared[0].(map[string]any)["address"] != address {
			t.Errorf("shared %v", shared)
		}
		share("")
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

// The words are recorded (TestInstance_AddReservedIPToInstanceVariants and TestReservedIPAddresses of the vendor's Go
// client; an address in use: FACTS 18, third table, 16), but the last two.
func TestRefusedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: linodesim.Fast(), NoRateLimits: true})
		path, made := newLinode(t, api, `{"type":"g6-standard-1","region":"us-ord","label":"one"}`)
		used := made.body["ipv4"].([]any)[0].(string)
		give := func(public, address string) string {
			return fmt.Sprintf(`{"type":"ipv4","public":%s,"address":%q}`, public, address)
		}
		linode := func(address string) string {
			return fmt.Sprintf(`{"type":"g6-standard-1","region":"us-ord","ipv4":[%q]}`, address)
		}
		for _, c := range []struct {
			method, path, body string
			status             int
			field, reason      string
		}{
			{"POST", path + "/ips", give("false", "198.51.100.250"), 400, "address", "Cannot reserve a private address."},
			{"POST", path + "/ips", give("true", "198.51.100.250"), 400, "address",
				"Address must be reserved and must be currently unassigned."},
			{"POST", path + "/ips", give("true", "12345"), 400, "address", "Must provide a valid reserved address"},
			{"POST", path + "/ips", `{"type":"ipv6","public":true}`, 400, "", "Only addresses of type ipv4 are currently supported."},
			{"POST", "/v4/linode/instances/1/ips", `{"type":"ipv4","public":true}`, 404, "", "Not found"},
			{"DELETE", path + "/ips/192.0.2.1", "", 404, "", "Not found"},
			{"POST", "/v4/networking/ips/share", `{"linode_id":1,"ips":[]}`, 400, "linode_id", "Linode is not active"},
			{"POST", "/v4/linode/instances", linode("192.0.2.1"), 400, "ipv4", "Must provide a single valid reserved ipv4 address"},
			{"POST", "/v4/linode/instances", linode(used), 400, "ipv4", "Address must be currently unassigned."},
			{"DELETE", path + "/ips/" + used, "", 400, "", "A Linode must have at least one public IPv4 address"},
			{"POST", "/v4/networking/ips/share", fmt.Sprintf(`{"linode_id":%v,"ips":[%q]}`, number(made.body["id"]), used), 400, "ips[0]",
				used + " is not a public address of another Linode in us-ord"},
		} {
			got := api.do(c.method, c.path, c.body)
			if field, reason := got.reason(); got.status != c.status || field != c.field || reason != c.reason {
				t.Errorf("%s %s %s: %d [%s] %q, want %d [%s] %q", c.method, c.path, c.body, got.status, field, reason, c.status, c.field, c.reason)
			}
		}
	})
}
