package linodesim_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// A Linode's addresses contain the one in a VPC, with the public one that leads to it where that was requested, for both generations
// of interfaces.
func TestAddressesContainThoseInVPCs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"nodes","ipv4":"10.0.0.0/24"}]}`)
		subnet := number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"])
		for _, c := range []struct {
			name, generation, asked string
			address                 string
			nat                     bool
		}{
			{"legacy with NAT", "legacy_config", `{"purpose":"vpc","subnet_id":%v,"primary":true,"ipv4":{"nat_1_1":"any"}}`, "10.0.0.2", true},
			{"legacy without", "legacy_config", `{"purpose":"vpc","subnet_id":%v,"primary":true,"ipv4":{"vpc":"10.0.0.77"}}`, "10.0.0.77", false},
			{"new with NAT", "linode", `{"vpc":{"subnet_id":%v,"ipv4":{"addresses":[{"address":"auto","primary":true,"nat_1_1_address":"auto"}]}}}`,
				"10.0.0.4", true},
			{"new without", "linode", `{"vpc":{"subnet_id":%v,"ipv4":{"addresses":[{"address":"10.0.0.99","primary":true}]}}}`, "10.0.0.99", false},
		} {
			path, _ := newLinode(t, api, fmt.Sprintf(`{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","interface_generation":%q,"firewall_id":-1,"interfaces":[`+c.asked+`]}`, c.generation, subnet))
			got := mustDo(t, api, "GET", path+"/ips", "")
			ipv4 := got.body["ipv4"].(map[string]any)
			public := ipv4["public"].([]any)[0].(map[string]any)["address"]
			inside := ipv4["vpc"].([]any)
			if len(inside) != 1 || inside[0].(map[string]any)["address"] != c.address || (inside[0].(map[string]any)["nat_1_1"] == public) != c.nat {
				t.Errorf("%s: %s", c.name, got.raw)
			}
			entry, first := inside[0].(map[string]any), ipv4["public"].([]any)[0].(map[string]any)
			if entry["gateway"] != "10.0.0.1" || entry["prefix"] != 24.0 || entry["subnet_mask"] != "255.255.255.0" ||
				entry["region"] != "us-ord" || (entry["config_id"] != nil) != (c.generation == "legacy_config") || entry["interface_id"] == nil {
				t.Errorf("%s: %v", c.name, entry)
			}
			if leads, _ := first["vpc_nat_1_1"].(map[string]any); (leads["address"] == c.address) != c.nat || first["rdns"] == nil {
				t.Errorf("%s: %v", c.name, first)
			}
			if local := got.body["ipv6"].(map[string]any)["link_local"].(map[string]any); local["public"] != false {
				t.Errorf("%s: %v", c.name, local)
			}
		}
	})
}
