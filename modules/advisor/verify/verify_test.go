package verify_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/verify"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe"
)

// The experiments and all scenarios together cost at most the default budget of a dollar, at the prices of the simulator's catalogue.
func TestAWholeRunCostsAtMostADollar(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		for budget, fits := range map[float64]bool{1: true, 0.9: false} {
			var out bytes.Buffer
			_, err = lkeprobe.Run(t.Context(), lkeprobe.Config{
				Access:    lkeprobe.Access{Token: linodesim.DefaultToken, BaseURL: "https://api.example", Transport: sim.Transport()},
				ClusterID: cluster.ID, Bounds: lkeprobe.Bounds{Duration: time.Hour, Budget: budget}, DryRun: true, Out: &out,
				Operator: verify.New(verify.Config{Run: "feedc0de", Volumes: "any"}),
			})
			if (err == nil) != fits || !fits && !strings.Contains(err.Error(), "--budget is 0.90") {
				t.Errorf("%s, budget %v: %v\n%s", tier, budget, err, out.String())
			}
			for _, name := range []string{"burst", "up-and-down", "volume", "cheaper", "drift", "deleted-node", "deleted-linode", "killed"} {
				if fits && !strings.Contains(out.String(), "\n  "+name+" ") {
					t.Errorf("%s is not in\n%s", name, out.String())
				}
			}
		}
	}
}

// Without a StorageClass the scenario with a volume is left out, and without Uninstall the scenario that uninstalls.
func TestScenariosDependOnTheCluster(t *testing.T) {
	names := func(cfg verify.Config) string {
		var all []string
		for _, step := range verify.New(cfg).Steps() {
			all = append(all, step.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(verify.Config{}); got != "up-and-down cheaper drift deleted-node deleted-linode killed" {
		t.Error(got)
	}
}

func TestRequestsAreSummed(t *testing.T) {
	const metrics = `# HELP karpenter_linode_api_requests_total Requests
karpenter_linode_api_requests_total{method="GET",route="/lke/clusters/{clusterId}/pools",status="200"} 12
karpenter_linode_api_requests_total{method="PUT",route="/x",status="0"} 3
karpenter_linode_api_requests_total_created{method="PUT"} 1.7e+09
karpenter_nodes_created_total{nodepool="default"} 5
`
	if n := verify.Requests(metrics); n != 15 {
		t.Errorf("%d requests, want 15", n)
	}
}
