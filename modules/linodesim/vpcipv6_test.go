package linodesim_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// An interface in a VPC has the IPv6 networks that were requested, in both generations, where its subnet has any to give.
func TestInterfacesInVPCsHaveIPv6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs", `{"label":"net","region":"us-ord","ipv6":[{"range":"/52"}],"subnets":[
			{"label":"dual","ipv4":"10.0.0.0/24","ipv6":[{"range":"/56"}]},{"label":"old","ipv4":"10.0.1.0/24"}]}`)
		subnet := func(n int) any { return number(vpc.body["subnets"].([]any)[n].(map[string]any)["id"]) }
		const form = `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","interface_generation":%q,"firewall_id":-1,"interfaces":[%s]}`
		asked := func(generation, ipv6 string, n int) string {
			if generation == "linode" {
				return fmt.Sprintf(form, generation, fmt.Sprintf(`{"vpc":{"subnet_id":%v,"ipv6":%s}}`, subnet(n), ipv6))
			}
			return fmt.Sprintf(form, generation, fmt.Sprintf(`{"purpose":"vpc","subnet_id":%v,"ipv6":%s}`, subnet(n), ipv6))
		}
		for _, generation := range []string{"legacy_config", "linode"} {
			path, _ := newLinode(t, api, asked(generation,
				`{"slaac":[{"range":"/64"}],"ranges":[{"range":"/64"},{"range":"auto"}],"is_public":true}`, 0))
			var got map[string]any
			if generation == "linode" {
				got = mustDo(t, api, "GET", path+"/interfaces", "").body["interfaces"].([]any)[0].(map[string]any)["vpc"].(map[string]any)
			} else {
				got = mustDo(t, api, "GET", path+"/configs", "").body["data"].([]any)[0].(map[string]any)["interfaces"].([]any)[0].(map[string]any)
			}
			ipv6 := got["ipv6"].(map[string]any)
			seen := map[any]bool{}
			for _, list := range []string{"slaac", "ranges"} {
				for _, entry := range ipv6[list].([]any) {
					seen[entry.(map[string]any)["range"]] = true
				}
			}
			if len(seen) != 3 || ipv6["is_public"] != true {
				t.Errorf("%s: %v", generation, ipv6)
			}
			for _, c := range []struct {
				ipv6, field string
				subnet      int
			}{
				{`{"slaac":[{"range":"/64"}]}`, "interfaces[0].ipv6", 1},
				{`{"slaac":[{"range":"/80"}]}`, "interfaces[0].ipv6.slaac", 0},
				{`{"ranges":[{"range":"/48"}]}`, "interfaces[0].ipv6.ranges[0].range", 0},
			} {
				got := api.do("POST", "/v4beta/linode/instances", asked(generation, c.ipv6, c.subnet))
				errors, _ := got.body["errors"].([]any)
				if got.status != 400 || len(errors) != 1 || errors[0].(map[string]any)["field"] != c.field {
					t.Errorf("%s %s: %d %s", generation, c.ipv6, got.status, got.raw)
				}
			}
		}
	})
}

// A public interface of the generation linode has the ranges that were requested, of lengths that it takes.
func TestPublicInterfacesHaveIPv6Ranges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		const form = `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","interface_generation":%q,"firewall_id":-1,"interfaces":[%s]}`
		path, _ := newLinode(t, api, fmt.Sprintf(form, "linode", `{"public":{"ipv6":{"ranges":[{"range":"/64"},{"range":"/56"}]}}}`))
		public := mustDo(t, api, "GET", path+"/interfaces", "").body["interfaces"].([]any)[0].(map[string]any)["public"].(map[string]any)
		slaac := strings.TrimSuffix(mustDo(t, api, "GET", path, "").body["ipv6"].(string), "/128")
		var lengths []int
		for _, entry := range public["ipv6"].(map[string]any)["ranges"].([]any) {
			network, err := netip.ParsePrefix(entry.(map[string]any)["range"].(string))
			if err != nil || network != network.Masked() || entry.(map[string]any)["route_target"] != slaac {
				t.Errorf("range %v, %v", entry, err)
			}
			lengths = append(lengths, network.Bits())
		}
		if !slices.Equal(lengths, []int{64, 56}) || len(public["ipv4"].(map[string]any)["addresses"].([]any)) != 1 {
			t.Errorf("%v", public)
		}
		for _, c := range []struct{ generation, entry, field string }{
			{"linode", `{"public":{"ipv6":{"ranges":[{"range":"/80"}]}}}`, "interfaces[0].public.ipv6.ranges[0].range"},
			{"legacy_config", `{"purpose":"public","ipv6":{"ranges":[{"range":"/64"}]}}`, "interfaces[0].ipv6"},
		} {
			got := api.do("POST", "/v4beta/linode/instances", fmt.Sprintf(form, c.generation, c.entry))
			errors, _ := got.body["errors"].([]any)
			if got.status != 400 || len(errors) != 1 || errors[0].(map[string]any)["field"] != c.field {
				t.Errorf("%s %s: %d %s", c.generation, c.entry, got.status, got.raw)
			}
		}
	})
}
