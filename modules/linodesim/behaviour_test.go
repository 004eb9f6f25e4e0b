package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// If the real answer is not known, a Behaviour can choose the other answer.
func TestChosenBehaviour(t *testing.T) {
	const enterprise = linodesim.Enterprise
	for _, c := range []struct {
		name, tier, method, path, body, filter string // {p} and {n}: a pool and its unlisted node
		other                                  linodesim.Behaviour
		byDefault, then                        int
	}{
		{name: "last pool", method: "DELETE", path: "/pools/{first}", byDefault: 400, then: 200,
			other: linodesim.Behaviour{AllowLastPool: true}},
		{name: "last pool of enterprise", tier: enterprise, method: "DELETE", path: "/pools/{first}", byDefault: 200, then: 200},
		{name: "count zero", tier: enterprise, method: "PUT", path: "/pools/{first}", body: `{"count":0}`, byDefault: 400, then: 200,
			other: linodesim.Behaviour{AllowZeroCount: true}},
		{name: "count zero on standard", method: "PUT", path: "/pools/{first}", body: `{"count":0}`, byDefault: 400, then: 400,
			other: linodesim.Behaviour{AllowZeroCount: true}},
		{name: "isolation", method: "POST", path: "/pools", body: `{"type":"g6-standard-2","count":1,"isolation":{"public_ipv4":false}}`,
			byDefault: 400, then: 200, other: linodesim.Behaviour{AllowIsolation: true}},
		{name: "reserved taint keys", method: "PUT", path: "/pools/{first}",
			body:      `{"taints":[{"key":"node.kubernetes.io/x","value":"","effect":"NoSchedule"}]}`,
			byDefault: 200, then: 400, other: linodesim.Behaviour{RefuseReservedTaintKeys: true}},
		{name: "pool filter", method: "GET", path: "/pools", filter: `{"type":"x"}`, byDefault: 400, then: 200,
			other: linodesim.Behaviour{IgnorePoolFilter: true}},
		{name: "page beyond the end", method: "GET", path: "/pools?page=9", byDefault: 404, then: 200,
			other: linodesim.Behaviour{LenientPages: true}},
		{name: "unlisted node", tier: enterprise, method: "GET", path: "/nodes/{n}", byDefault: 200, then: 404,
			other: linodesim.Behaviour{UnlistedNotFound: true}},
		{name: "unlisted node's deletion", tier: enterprise, method: "DELETE", path: "/nodes/{n}", byDefault: 200, then: 404,
			other: linodesim.Behaviour{UnlistedNotFound: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for behaviour, want := range map[linodesim.Behaviour]int{{}: c.byDefault, c.other: c.then} {
				synctest.Test(t, func(t *testing.T) {
					if c.tier == "" {
						c.tier = linodesim.Standard
					}
					sim, api := newSim(t, linodesim.Config{Profile: even(), Behaviour: behaviour})
					info, path := addCluster(t, sim, c.tier)
					where := strings.ReplaceAll(c.path, "{first}", fmt.Sprint(info.Pools[0].ID))
					if strings.Contains(where, "{n}") {
						mustDo(t, api, "POST", path+"/pools", `{"type":"g6-standard-2","count":2}`)
						where = strings.ReplaceAll(where, "{n}", sim.Snapshot().Clusters[0].Pools[1].Nodes[0].ID)
					}
					if got := api.do(c.method, path+where, c.body, "X-Filter", c.filter); got.status != want {
						t.Errorf("with %+v: answer %d: %s, want %d", behaviour, got.status, got.raw, want)
					}
					if sim.Behaviour() != behaviour {
						t.Errorf("behaviour %+v", sim.Behaviour())
					}
				})
			}
		})
	}
}
