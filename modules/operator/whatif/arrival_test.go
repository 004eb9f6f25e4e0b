package whatif_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/whatif"
)

// A burst that fills several nodes rests in more than one state: two kinds of pods, of which the one needs CPUs and the other slots.
func TestTheOrderOfArrivalsGivesARange(t *testing.T) {
	burst := &snapshot.Snapshot{Nodes: nodes(40)}
	workload(burst, "web", 198, "250m", "512Mi")
	workload(burst, "jobs", 100, "500m", "256Mi")
	withDaemons(burst, "logs", "200m", "256Mi")
	report := run(t, whatif.Input{Cluster: burst, Sensitivity: true})
	if report.LowMonthly >= report.HighMonthly || report.ThenMonthly < report.LowMonthly || report.ThenMonthly > report.HighMonthly ||
		report.Range() == "" {
		t.Errorf("then %v, range %v to %v", report.ThenMonthly, report.LowMonthly, report.HighMonthly)
	}
	single := &snapshot.Snapshot{Nodes: nodes(1)}
	workload(single, "web", 3, "250m", "512Mi")
	report = run(t, whatif.Input{Cluster: single, Sensitivity: true})
	if report.LowMonthly != report.ThenMonthly || report.HighMonthly != report.ThenMonthly ||
		report.Range() != "" {
		t.Errorf("one node: %v to %v", report.LowMonthly, report.HighMonthly)
	}
}
