package linodesim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// As recorded: a Linode has an interface in an RDMA VPC for each of its GPUs, with no firewall and no default route, beside ordinary
// ones; one of them moves to another RDMA VPC.
func TestInterfacesInRDMAVPCs(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	firewall := sim.AddFirewall(linodesim.FirewallSpec{Label: "web"})
	subnets := map[string]string{}
	for label, kind := range map[string]string{"one": "rdma", "two": "rdma", "ordinary": "regular"} {
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs", fmt.Sprintf(
			`{"label":%q,"region":"us-ord","vpc_type":%q,"subnets":[{"label":"a","ipv4":"192.168.0.0/25"}]}`, label, kind))
		subnets[label] = fmt.Sprint(number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"]))
	}
	const form = `{"type":"g6-dedicated-2","region":"us-ord","interface_generation":"linode","interfaces":[%s]}`
	rdma := func(subnet, firewall string) string {
		return fmt.Sprintf(`{"firewall_id":%s,"rdma_vpc":{"subnet_id":%s,"ipv4":{"addresses":[{"address":"auto","primary":true}]}}}`, firewall, subnet)
	}
	wanted := []string{`{"firewall_id":-1,"public":{}}`}
	for range 8 {
		wanted = append(wanted, rdma(subnets["one"], "-1"))
	}
	made := mustDo(t, api, "POST", "/v4beta/linode/instances", fmt.Sprintf(form, strings.Join(wanted, ",")))
	path := fmt.Sprintf("/v4beta/linode/instances/%v/interfaces", number(made.body["id"]))
	list := mustDo(t, api, "GET", path, "").body["interfaces"].([]any)
	if len(list) != 9 {
		t.Fatalf("%d interfaces, want 9", len(list))
	}
	second := list[1].(map[string]any)
	if got := fmt.Sprint(second["rdma_vpc"].(map[string]any)["ipv4"]); second["vpc"] != nil || second["public"] != nil ||
		fmt.Sprint(second["default_route"]) != "map[ipv4:false ipv6:false]" || got != "map[addresses:[map[address:192.168.0.2 primary:true]]]" {
		t.Errorf("interface %v", second)
	}
	moved := mustDo(t, api, "PUT", fmt.Sprintf("%s/%v", path, number(second["id"])), `{"rdma_vpc":{"subnet_id":`+subnets["two"]+`}}`)
	got := moved.body["rdma_vpc"].(map[string]any)
	if fmt.Sprint(number(got["subnet_id"])) != subnets["two"] || moved.body["version"] != 2.0 ||
		!strings.Contains(moved.raw, `"192.168.0.2"`) {
		t.Errorf("moved %s", moved.raw)
	}
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", "/v4beta/linode/instances", fmt.Sprintf(form, rdma(subnets["one"], fmt.Sprint(firewall))), "interfaces[0].firewall_id"},
		{"POST", "/v4beta/linode/instances", fmt.Sprintf(form, rdma(subnets["ordinary"], "-1")), "interfaces[0].subnet_id"},
		{"POST", "/v4beta/linode/instances", fmt.Sprintf(form, `{"firewall_id":-1,"vpc":{"subnet_id":`+subnets["one"]+`}}`), "interfaces[0].subnet_id"},
		{"POST", "/v4beta/linode/instances", fmt.Sprintf(form, strings.Repeat(`{"firewall_id":-1,"public":{}},`, 3)+wanted[0]), "interfaces"},
		{"PUT", fmt.Sprintf("%s/%v", path, number(second["id"])), `{"rdma_vpc":{"subnet_id":` + subnets["ordinary"] + `}}`, "rdma_vpc.subnet_id"},
		{"PUT", fmt.Sprintf("%s/%v", path, number(second["id"])), `{"vpc":{}}`, "vpc"},
	} {
		got := api.do(c.method, c.path, c.body)
		if field, _ := got.reason(); got.status != 400 || field != c.field {
			t.Errorf("%s %s: %d %s, want field %s", c.path, c.body, got.status, got.raw, c.field)
		}
	}
}
