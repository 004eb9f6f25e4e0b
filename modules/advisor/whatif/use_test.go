package whatif_test

import (
	"bytes"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/podusage"
)

// using is a reading of every pod of a workload.
func using(s *snapshot.Snapshot, app, cpu, memory string) {
	for _, pod := range s.Pods {
		if pod.Labels["app"] == app {
			s.PodMetrics = append(s.PodMetrics, &v1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				Timestamp: made, Containers: []v1beta1.ContainerMetrics{{Name: "main", Usage: quantities(cpu, memory)}}})
		}
	}
}

func measured(s *snapshot.Snapshot) *whatif.Basis {
	return &whatif.Basis{Requests: podusage.Measured(s.Pods, s.PodMetrics, 95, 0), Text: "percentile 95 of a test"}
}

// One workload requests far too much, one the right amount, one too little. There are also DaemonSets, and pods without figures of their
// use.
func overAsking(t testing.TB) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: nodes(12), NodePools: examples(t, "nodepool.yaml").NodePools}
	withDaemons(s, "logs", "200m", "256Mi")
	workload(s, "web", 20, "1", "2Gi")
	workload(s, "api", 6, "500m", "1Gi")
	workload(s, "cache", 4, "100m", "512Mi")
	workload(s, "new", 3, "250m", "512Mi")
	workload(s, "ended", 1, "4", "7Gi", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	for _, pod := range s.Pods {
		if len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "DaemonSet" {
			pod.Labels = map[string]string{"app": "logs"}
		}
	}
	using(s, "logs", "20m", "64Mi")
	using(s, "web", "200m", "512Mi")
	using(s, "api", "500m", "1Gi")
	using(s, "cache", "100m", "1Gi")
	return s
}

func TestRequestsAsUsedBesideTodays(t *testing.T) {
	s := overAsking(t)
	report := run(t, whatif.Input{Cluster: s, Use: measured(s)})
	var text, page bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "use.txt", text.Bytes())
	if err := report.WriteHTML(&page); err != nil || !bytes.Contains(page.Bytes(), []byte("ReplicaSet default/web")) {
		t.Errorf("%v: the page has no row for a workload", err)
	}
	without := run(t, whatif.Input{Cluster: s})
	if report.ThenMonthly != without.ThenMonthly || report.Use.ThenMonthly >= report.ThenMonthly || without.Use != nil {
		t.Errorf("with use $%v and as used $%v, without $%v", report.ThenMonthly, report.Use.ThenMonthly, without.ThenMonthly)
	}
}

// A g6-standard-4 for $48 has 4 cores and 7,900 MiB: half of the price for each.
func TestDollarsOfWhatIsRequestedAndNotUsed(t *testing.T) {
	s := &snapshot.Snapshot{Nodes: nodes(1)}
	workload(s, "half", 1, "2", "3950Mi")
	using(s, "half", "1", "3950Mi")
	workload(s, "short", 1, "1", "1580Mi")
	using(s, "short", "2", "790Mi")
	workload(s, "waits", 1, "1", "1Gi", func(pod *corev1.Pod) { pod.Spec.NodeName = "" })
	using(s, "waits", "100m", "1Gi")
	use := run(t, whatif.Input{Cluster: s, Use: measured(s)}).Use
	want := map[string]struct {
		requested, unused float64
		short             bool
	}{
		"ReplicaSet default/half": {24*0.5 + 24*0.5, 6, false}, "ReplicaSet default/short": {6 + 4.8, 2.4, true},
		"ReplicaSet default/waits": {0, 0, false},
	}
	if len(use.Workloads) != len(want) || use.Workloads[0].Workload != "ReplicaSet default/half" {
		t.Fatalf("%+v", use.Workloads)
	}
	for _, w := range use.Workloads {
		c := want[w.Workload]
		if math.Abs(w.RequestedMonthly-c.requested) > 1e-9 || math.Abs(w.UnusedMonthly-c.unused) > 1e-9 || w.Short() != c.short {
			t.Errorf("%+v short %v, want %+v", w, w.Short(), c)
		}
	}
	if math.Abs(use.RequestedMonthly-34.8) > 1e-9 || math.Abs(use.UnusedMonthly-8.4) > 1e-9 {
		t.Errorf("together $%v, unused $%v", use.RequestedMonthly, use.UnusedMonthly)
	}
}

// A node with GPUs is bought for them: CPU that a pod on it does not use saves nothing.
func TestUnusedCPUBesideAGPUCostsNothing(t *testing.T) {
	gpu := node("8", "lke1-8-000", "g2-gpu-rtx4000a1-s", "8", "30Gi")
	gpu.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
	s := &snapshot.Snapshot{Nodes: append(nodes(1), gpu)}
	workload(s, "train", 1, "4", "8Gi", onGPU, func(pod *corev1.Pod) { pod.Spec.NodeName = gpu.Name })
	using(s, "train", "1", "1Gi")
	if use := run(t, whatif.Input{Cluster: s, Use: measured(s)}).Use; use.RequestedMonthly != 0 || use.UnusedMonthly != 0 {
		t.Errorf("requested $%v, unused $%v", use.RequestedMonthly, use.UnusedMonthly)
	}
}
