package faults_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/faults"
)

// account is a served simulator with one cluster, and a client that does not try again.
type account struct {
	*testing.T
	sim    *linodesim.Sim
	client *linode.Client
	target faults.Target
	pool   linodesim.Pool
}

func newAccount(t *testing.T) *account {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant(), Tokens: map[string][]string{"secret": {"*"}}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	a := &account{T: t, sim: sim, pool: info.Pools[0], target: faults.Target{
		API: served(t, sim), Admin: served(t, sim.Admin()), Token: "secret", ClusterID: info.ID,
		Record: filepath.Join(t.TempDir(), "broken.json"),
	}}
	a.client, err = linode.New(linode.Config{Token: linode.StaticToken("secret"), BaseURL: a.target.API})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func served(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func (a *account) buy(plan string) error {
	_, err := a.client.CreatePool(a.Context(), a.target.ClusterID, api.LKENodePoolCreate{Type: plan, Count: 1})
	return err
}

func (a *account) broke(name string, settings faults.Settings) string {
	a.Helper()
	fault, detail, err := faults.Break(a.Context(), a.target, name, settings)
	if err != nil || fault.Name != name || fault.What == "" || fault.Watch == "" {
		a.Fatalf("%s: %+v, %v", name, fault, err)
	}
	return detail
}

func (a *account) mended(want string) {
	a.Helper()
	name, err := faults.Mend(a.Context(), a.target)
	if err != nil || name != want || faults.Broken(a.target.Record) != "" {
		a.Fatalf("mended %q, %v, want %q", name, err, want)
	}
}

func TestAFaultLastsUntilItIsMended(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings faults.Settings
		detail   string
		plan     string // bought while it lasts
		words    string // of the refusal; "" = none
	}{
		{"no-capacity", faults.Settings{}, "plan: g6-standard-6", "g6-standard-6", "capacity"},
		{"no-capacity", faults.Settings{}, "plan: g6-standard-6", "g6-standard-2", ""},
		{"no-capacity", faults.Settings{Plan: "all"}, "plan: any", "g6-standard-2", "capacity"},
		{"account-limit", faults.Settings{}, "limit: 2 Linodes", "g6-standard-2", "Limit"},
		{"revoked-token", faults.Settings{}, "", "g6-standard-2", "Invalid Token"},
	} {
		t.Run(c.name+" "+c.settings.Plan+" "+c.plan, func(t *testing.T) {
			a := newAccount(t)
			if detail := a.broke(c.name, c.settings); detail != c.detail {
				t.Errorf("detail %q, want %q", detail, c.detail)
			}
			if faults.Broken(a.target.Record) != c.name {
				t.Error("it is not on record")
			}
			err := a.buy(c.plan)
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("a pool of %s: %v, want %q", c.plan, err, c.words)
			}
			a.mended(c.name)
			if err := a.buy(c.plan); err != nil {
				t.Errorf("after mending: %v", err)
			}
			a.mended("")
		})
	}
}

// On LKE Enterprise a pool without capacity is accepted, and its node has no Linode until the fault is mended. Standard refuses.
func TestCapacityThatLacksInSilence(t *testing.T) {
	a := newAccount(t)
	a.broke("silent-capacity", faults.Settings{Plan: "all"})
	if err := a.buy("g6-standard-2"); err == nil || !strings.Contains(err.Error(), "capacity") {
		t.Errorf("on Standard: %v", err)
	}
	enterprise, err := a.sim.AddCluster(linodesim.ClusterSpec{Label: "large", Tier: linodesim.Enterprise, Settled: true})
	if err != nil {
		t.Fatal(err)
	}
	made, err := a.client.CreatePool(t.Context(), enterprise.ID, api.LKENodePoolCreate{Type: "g6-standard-2", Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	linodes := func() int { return len(a.sim.Snapshot().Instances) }
	before := linodes()
	a.mended("silent-capacity")
	if now := linodes(); made.Count != 1 || before != 2 || now != 3 {
		t.Errorf("the pool has %d nodes; %d Linodes while it lasts and %d afterwards, want 1, 2 and 3", made.Count, before, now)
	}
}

// The rules of these faults are taken by the simulator as they are written.
func TestFaultsOfRequestsAreRules(t *testing.T) {
	for _, name := range []string{"api-down", "slow-api", "late-writes", "missing-objects", "revoked-token"} {
		a := newAccount(t)
		a.broke(name, faults.Settings{})
		a.mended(name)
	}
}

// A second fault ends the first one, and mending leaves alone what others did to the simulator.
func TestOnlyOneFaultLasts(t *testing.T) {
	a := newAccount(t)
	theirs := a.sim.Fail(linodesim.Rule{Method: http.MethodPut, Answer: linodesim.Answer{Status: http.StatusTeapot}})
	a.broke("api-down", faults.Settings{})
	a.broke("no-capacity", faults.Settings{})
	if err := a.buy("g6-standard-2"); err != nil {
		t.Errorf("the first fault lasts: %v", err)
	}
	a.mended("no-capacity")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.target.API+"/v4/linode/instances/1", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer secret")
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != http.StatusTeapot || a.sim.Hits(theirs) != 1 {
		t.Errorf("the other rule: %+v, %v", answer, err)
	}
}

func TestARecycledNodeIsKarpentersNewest(t *testing.T) {
	a := newAccount(t)
	if _, _, err := faults.Break(t.Context(), a.target, "recycled-node", faults.Settings{}); err == nil ||
		!strings.Contains(err.Error(), "scale a Deployment up") {
		t.Errorf("without a node: %v", err)
	}
	node := a.pool.Nodes[1]
	if err := a.sim.EditInstanceTags(node.InstanceID, []string{"karpenter.sh/nodeclaim=default-7xk2p"}); err != nil {
		t.Fatal(err)
	}
	if detail := a.broke("recycled-node", faults.Settings{}); !strings.Contains(detail, node.ID[strings.Index(node.ID, "-")+1:]) {
		t.Errorf("detail %q, want node %s", detail, node.ID)
	}
	for _, n := range a.sim.Snapshot().Clusters[0].Pools[0].Nodes {
		if n.ID == node.ID {
			t.Error("the node is still there")
		}
	}
	a.mended("")
}

func TestWhatIsNoFaultIsRefusedByName(t *testing.T) {
	a := newAccount(t)
	for name, c := range map[string]struct {
		name     string
		settings faults.Settings
		words    string
	}{
		"unknown": {"api-slow", faults.Settings{},
			`NAME is "api-slow"; it must be one of no-capacity, account-limit, silent-capacity, api-down, slow-api, late-writes, missing-objects, recycled-node, ` +
				`revoked-token, or none to mend`},
		"a plan": {"api-down", faults.Settings{Plan: "g6-standard-2"}, `PLAN is "g6-standard-2"; only no-capacity and silent-capacity have a plan`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := faults.Break(t.Context(), a.target, c.name, c.settings); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %q", err, c.words)
			}
		})
	}
	a.target.Admin = "http://127.0.0.1:1"
	if _, _, err := faults.Break(t.Context(), a.target, "api-down", faults.Settings{}); err == nil ||
		!strings.Contains(err.Error(), "api-down") {
		t.Errorf("without a cluster: %v", err)
	}
}
