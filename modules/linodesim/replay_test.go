package linodesim_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
)

// The harness maps: IDs in lists and objects of requests, and IDs that
// answers have deep inside, such as the IDs of a VPC's subnets.
func TestReplayMapsIDsAtEveryDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []exchange
		if err := json.Unmarshal([]byte(`[
			{"method":"POST","path":"/v4beta/vpcs","request":{"label":"deep","region":"es-mad","subnets":[{"label":"a","ipv4":"10.0.0.0/24"}]},"status":200,
				"response":{"id":7,"label":"deep","description":"","region":"es-mad","ipv4":[{"range":"10.0.0.0/8"}],"ipv6":null,
				"subnets":[{"id":8,"label":"a","ipv4":"10.0.0.0/24","ipv6":null,"linodes":[],"databases":[],"nodebalancers":[],"created":"","updated":""}],"created":"","updated":""}},
			{"method":"GET","path":"/v4beta/vpcs/7/subnets/8","status":200,
				"response":{"id":8,"label":"a","ipv4":"10.0.0.0/24","ipv6":null,"linodes":[],"databases":[],"nodebalancers":[],"created":"","updated":""}},
			{"method":"GET","path":"/v4beta/vpcs/9","status":404,"response":{"errors":[{"reason":"Not found"}]}}
		]`), &list); err != nil {
			t.Fatal(err)
		}
		p := newReplay(t, list)
		p.ids["21"], p.ids["22"] = "31", "32"
		results := p.run()
		if len(results) != 3 {
			t.Error("not all was replayed")
		}
		for _, r := range results {
			if len(r.reasons) > 0 {
				t.Errorf("%s: %v", r.what, r.reasons)
			}
		}
		for from, want := range map[string]string{
			`{"linodes":[21,22]}`:                               `{"linodes":[31,32]}`,
			`{"interfaces":[{"purpose":"vpc","subnet_id":21}]}`: `{"interfaces":[{"purpose":"vpc","subnet_id":31}]}`,
			`{"devices":{"linodes":[22]},"count":21}`:           `{"count":21,"devices":{"linodes":[32]}}`,
			`{"devices":{"sda":{"disk_id":21}},"tags":["21"]}`:  `{"devices":{"sda":{"disk_id":31}},"tags":["21"]}`,
		} {
			var request map[string]any
			if err := json.Unmarshal([]byte(from), &request); err != nil {
				t.Fatal(err)
			}
			if got := p.ours(request); got != want {
				t.Errorf("%s became %s, want %s", from, got, want)
			}
		}
	})
}
