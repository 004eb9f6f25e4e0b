package linodesim_test

import (
	"fmt"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// Records of a domain are made, changed and found by name, as Cluster API's provider does for a control plane.
func TestDomainRecords(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	zone := mustDo(t, api, "POST", "/v4/domains", `{"domain":"example.org","type":"master","soa_email":"admin@example.org"}`)
	if got := api.do("GET", "/v4/domains", "", "X-Filter", `{"domain":"example.org"}`).data(t); len(got) != 1 {
		t.Errorf("domains %v", got)
	}
	path := fmt.Sprintf("/v4/domains/%v", number(zone.body["id"]))
	made := mustDo(t, api, "POST", path+"/records", `{"type":"A","name":"api","target":"192.0.2.1","ttl_sec":30}`)
	record := fmt.Sprintf("%s/records/%v", path, number(made.body["id"]))
	mustDo(t, api, "PUT", record, `{"target":"192.0.2.2"}`)
	filter := `{"name":"api","type":"A","target":"192.0.2.2"}`
	if got := api.do("GET", path+"/records", "", "X-Filter", filter).data(t); len(got) != 1 || got[0]["ttl_sec"] != 30.0 {
		t.Errorf("records %v", got)
	}
	for body, field := range map[string]string{
		`{"domain":"example.org","type":"master","soa_email":"admin@example.org"}`: "domain", `{"domain":"x","type":"slave"}`: "domain",
		`{"domain":"other.org","type":"master"}`: "soa_email",
	} {
		if got, _ := api.do("POST", "/v4/domains", body).reason(); got != field {
			t.Errorf("%s: field %q, want %q", body, got, field)
		}
	}
	if r := api.do("POST", path+"/records", `{"type":"AAAA","name":"api","target":"192.0.2.1"}`); r.status != 400 {
		t.Errorf("an IPv4 address as AAAA: %d", r.status)
	}
	mustDo(t, api, "DELETE", record, "")
	mustDo(t, api, "DELETE", path, "")
	if r := api.do("GET", record, ""); r.status != 404 {
		t.Errorf("deleted: %d", r.status)
	}
}

// An interface of the new generation gets ranges and routes, and stays of its kind.
func TestUpdateInterface(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	vpc := mustDo(t, api, "POST", "/v4/vpcs", `{"label":"net","region":"us-ord","subnets":[{"label":"a","ipv4":"10.0.0.0/16"}]}`)
	path, _ := newLinode(t, api, fmt.Sprintf(
		`{"type":"g6-standard-1","region":"us-ord","interface_generation":"linode","firewall_id":-1,"interfaces":[{"vpc":{"subnet_id":%v}}]}`,
		number(vpc.body["subnets"].([]any)[0].(map[string]any)["id"])))
	iface := mustDo(t, api, "GET", path+"/interfaces", "").body["interfaces"].([]any)[0].(map[string]any)
	one := fmt.Sprintf("%s/interfaces/%v", path, number(iface["id"]))
	mustDo(t, api, "PUT", one, `{"vpc":{"ipv4":{"addresses":[{"address":"10.0.0.2","primary":true}],"ranges":[{"range":"10.0.7.0/24"}]}}}`)
	ips := mustDo(t, api, "GET", path+"/ips", "").body["ipv4"].(map[string]any)["vpc"].([]any)
	if len(ips) != 2 || ips[0].(map[string]any)["address"] != "10.0.0.2" || ips[1].(map[string]any)["address_range"] != "10.0.7.0/24" {
		t.Errorf("addresses %v", ips)
	}
	if r := api.do("PUT", one, `{"public":{}}`); r.status != 400 {
		t.Errorf("another kind: %d", r.status)
	}
}
