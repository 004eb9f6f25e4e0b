package linodesim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// An upgrade of a pool needs 3 nodes from v1.33 on; the count may come with it.
func TestUpgradesNeedNodes(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	versions := sim.Catalog().Versions[linodesim.Enterprise]
	c, err := sim.AddCluster(linodesim.ClusterSpec{Label: "big", Tier: linodesim.Enterprise, K8sVersion: versions[len(versions)-1],
		Settled: true,
		Pools:   []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/v4beta/lke/clusters/%d/pools/%d", c.ID, c.Pools[0].ID)
	for _, step := range []struct {
		body   string
		status int
	}{
		{`{"k8s_version":%q}`, 400}, {`{"k8s_version":%q,"count":2}`, 400}, {`{"k8s_version":%q,"count":3}`, 200}, {`{"k8s_version":%q,"count":1}`, 200},
	} {
		r := api.do("PUT", path, fmt.Sprintf(step.body, versions[0]))
		if _, reason := r.reason(); r.status != step.status || r.status == 400 && !strings.Contains(reason, "at least 3 nodes") {
			t.Errorf("%s: %d %s", step.body, r.status, r.raw)
		}
	}
}

// A new Enterprise cluster gets a VPC and a firewall of its own, unless it names a VPC, whose subnet has both families.
func TestEnterpriseClustersHaveANetwork(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	const form = `{"label":%q,"region":"us-lax","k8s_version":"v1.33.6+lke7","tier":"enterprise","node_pools":[]%s}`
	own := mustDo(t, api, "POST", "/v4beta/lke/clusters", fmt.Sprintf(form, "own", "")).body
	if own["stack_type"] != "ipv4" || own["vpc_id"] == nil || own["subnet_id"] == nil {
		t.Errorf("cluster %v", own)
	}
	name := fmt.Sprintf("lke%v", number(own["id"]))
	if vpc := mustDo(t, api, "GET", fmt.Sprintf("/v4/vpcs/%v", number(own["vpc_id"])), "").body; vpc["label"] != name {
		t.Errorf("VPC %v", vpc)
	}
	if all := api.do("GET", "/v4/networking/firewalls", "", "X-Filter", `{"label":"`+name+`"}`).data(t); len(all) != 1 {
		t.Errorf("firewalls %v", all)
	}
	vpc := mustDo(t, api, "POST", "/v4/vpcs", `{"label":"net","region":"us-lax","ipv6":[{"range":"/52"}],"subnets":[{"label":"v4","ipv4":"10.0.0.0/24"},{"label":"both","ipv4":"10.0.1.0/24","ipv6":[{"range":"auto"}]}]}`).body
	subnets := vpc["subnets"].([]any)
	for n, status := range []int{400, 200} {
		named := fmt.Sprintf(`,"vpc_id":%v,"subnet_id":%v`, number(vpc["id"]), number(subnets[n].(map[string]any)["id"]))
		r := api.do("POST", "/v4beta/lke/clusters", fmt.Sprintf(form, "named", named))
		if field, _ := r.reason(); r.status != status || status == 400 && field != "subnet_id" {
			t.Errorf("subnet %d: %d %s", n, r.status, r.raw)
		}
	}
}

// Linodes of a pool with a label have it in their own, which is the name of their Kubernetes Node.
func TestPoolLabelsInNodeNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, _ := newSim(t, linodesim.Config{Profile: linodesim.Fast()})
		c, _ := addCluster(t, sim, linodesim.Standard)
		events := sim.Subscribe(t.Context())
		<-events // of the cluster's first node
		if _, err := sim.AddPool(c.ID, linodesim.PoolSpec{Type: "g6-standard-1", Count: 1, Label: "web"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		e := <-events
		label := ""
		for _, i := range sim.Snapshot().Instances {
			if i.ID == e.InstanceID {
				label = i.Label
			}
		}
		if want := fmt.Sprintf("lke%d-web-", c.ID); !strings.HasPrefix(label, want) || e.Name != label {
			t.Errorf("label %q, node %q, want %s...", label, e.Name, want)
		}
	})
}

// The account's default firewalls can be set, and protect objects that name no firewall.
func TestDefaultFirewalls(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	id := sim.AddFirewall(linodesim.FirewallSpec{Label: "default"})
	const settings = "/v4/networking/firewalls/settings"
	if r := api.do("PUT", settings, `{"default_firewall_ids":{"public_interface":1}}`); r.status != 400 {
		t.Errorf("a firewall that does not exist: %d %s", r.status, r.raw)
	}
	mustDo(t, api, "PUT", settings, fmt.Sprintf(`{"default_firewall_ids":{"public_interface":%d,"linode":%d}}`, id, id))
	if got := mustDo(t, api, "GET", settings, ""); !strings.Contains(got.raw, fmt.Sprintf(`"public_interface":%d`, id)) {
		t.Errorf("settings %s", got.raw)
	}
	for _, generation := range []string{"linode", "legacy_config"} {
		newLinode(t, api, fmt.Sprintf(`{"type":"g6-standard-1","region":"us-ord","interface_generation":%q}`, generation))
	}
	if got := mustDo(t, api, "GET", fmt.Sprintf("/v4/networking/firewalls/%d", id), ""); len(got.body["entities"].([]any)) != 2 {
		t.Errorf("firewall %s", got.raw)
	}
}
