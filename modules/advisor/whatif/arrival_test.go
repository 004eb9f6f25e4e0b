package whatif_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
)

// A burst that fills several nodes rests in more than one state: two kinds of pods: one kind needs CPUs, the other needs places for pods.
func TestTheOrderOfArrivalsGivesARange(t *testing.T) {
	burst := &snapshot.Snapshot{Nodes: nodes(40)}
	withToken := func(pod *corev1.Pod) { // every pod has its ServiceAccount's token, a volume that binds it to no node
		pod.Spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}}
	}
	workload(burst, "web", 198, "250m", "512Mi", withToken)
	workload(burst, "jobs", 100, "500m", "256Mi", withToken)
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
