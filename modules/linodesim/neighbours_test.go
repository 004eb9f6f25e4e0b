package linodesim_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// The owner's Linodes have the addresses by which a cluster knows them, and requests are counted by token.
func TestAddressesOfTheOwnersLinodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		vpc := mustDo(t, api, "POST", "/v4beta/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"nodes","ipv4":"10.0.0.0/24"}]}`)
		subnet := int(vpc.body["subnets"].([]any)[0].(map[string]any)["id"].(float64))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := sim.SubscribeLinodes(ctx)
		for _, spec := range []linodesim.InstanceSpec{{Label: "one", PrivateIP: true}, {Label: "two", SubnetID: subnet}} {
			spec.Type, spec.Image = "g6-nanode-1", "linode/debian12"
			if _, err := sim.AddInstance(spec); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			e := <-events
			if inVPC := e.Name == "two"; strings.HasPrefix(e.VPCIPv4, "10.0.0.") != inVPC || strings.HasPrefix(e.PrivateIPv4, "192.168.") == inVPC {
				t.Errorf("the addresses of %s are %q and %q", e.Name, e.VPCIPv4, e.PrivateIPv4)
			}
		}
		if n := len(sim.CallsWith(linodesim.DefaultToken)); n != len(sim.Calls()) || n == 0 {
			t.Errorf("%d kinds of calls with the token, %d of all", n, len(sim.Calls()))
		}
		if n := len(sim.CallsWith("other")); n != 0 {
			t.Errorf("%d kinds of calls with another token", n)
		}
	})
}

// Linode interfaces have no private address.
func TestLinodeInterfacesHaveNoPrivateIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := newSim(t, linodesim.Config{Profile: even()})
		const body = `{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","private_ip":true,"firewall_id":-1,"interface_generation":`
		if got := api.do("POST", "/v4beta/linode/instances", body+`"linode"}`); got.status != http.StatusBadRequest ||
			!strings.Contains(string(got.raw), "private_ip") {
			t.Errorf("%d: %s", got.status, got.raw)
		}
		mustDo(t, api, "POST", "/v4beta/linode/instances", body+`"legacy_config"}`)
	})
}
