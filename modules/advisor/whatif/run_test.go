package whatif_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update writes it. Got:\n%s", path, got)
	}
}

func TestReportsOfFiveWorkloads(t *testing.T) {
	for name, cluster := range clusters(t) {
		t.Run(name, func(t *testing.T) {
			report := run(t, whatif.Input{Cluster: cluster, Sensitivity: true})
			if len(report.Unplaced) > 0 {
				t.Errorf("unplaced: %v", report.Unplaced)
			}
			var text bytes.Buffer
			if err := report.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
		})
	}
}

func TestJSONAndHTML(t *testing.T) {
	report := run(t, whatif.Input{Cluster: clusters(t)["many"], Sensitivity: true})
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "many.json", append(data, '\n'))
	var page bytes.Buffer
	if err := report.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	golden(t, "many.html", page.Bytes())
	for _, loads := range []string{"http:", "https:", "<script", "url("} {
		if strings.Contains(page.String(), loads) {
			t.Errorf("the page contains %s: it must load nothing", loads)
		}
	}
}

func TestTheSameInputGivesTheSameReport(t *testing.T) {
	for name := range clusters(t) {
		t.Run(name, func(t *testing.T) {
			var first []byte
			for range 4 {
				cluster := clusters(t)[name]
				extra := cluster.NodePools[0].DeepCopy()
				extra.Name = "other" // two NodePools for the same pods
				cluster.NodePools = append(cluster.NodePools, extra)
				data, err := json.Marshal(run(t, whatif.Input{Cluster: cluster, Sensitivity: name == "gpu"}))
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = data
				}
				if !bytes.Equal(first, data) {
					t.Fatalf("\n%s\n%s", first, data)
				}
			}
		})
	}
}

func TestPodsThatFitNowhereHaveAReason(t *testing.T) {
	edit := func(change func(*corev1.Pod)) func(*corev1.Pod) { return change }
	selector := func(key, value string) func(*corev1.Pod) {
		return edit(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} })
	}
	for name, c := range map[string]struct {
		edit func(*corev1.Pod)
		want string
	}{
		"another architecture": {selector(corev1.LabelArchStable, "arm64"), "kubernetes.io/arch"},
		"an LKE pool":          {selector(whatif.PoolLabel, "7"), whatif.PoolLabel},
		"another region":       {selector(corev1.LabelTopologyRegion, "eu-west"), "topology.kubernetes.io/region"},
		"too large": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500")
		}, "no instance type has enough resources"},
		"not on Karpenter's nodes": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: karpv1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist}},
				}}},
			}}
		}, "configured to not run on a Karpenter provisioned node"},
		"a claim that does not exist": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"},
			}}}
		}, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &snapshot.Snapshot{Nodes: nodes(1)}
			workload(cluster, "fits", 1, "100m", "128Mi")
			workload(cluster, "odd", 2, "100m", "128Mi", c.edit)
			report := run(t, whatif.Input{Cluster: cluster})
			if len(report.Unplaced) != 1 || !strings.Contains(report.Unplaced[0].Reason, c.want) ||
				!slices.Equal(report.Unplaced[0].Pods, []string{"default/odd-0000", "default/odd-0001"}) {
				t.Errorf("unplaced: %+v, want both for %q", report.Unplaced, c.want)
			}
			if len(report.Then) != 1 || report.Then[0].Pods != 1 {
				t.Errorf("then: %+v", report.Then)
			}
		})
	}
}

func TestAKeptPoolHoldsItsPods(t *testing.T) {
	cluster := &snapshot.Snapshot{Nodes: append(nodes(2), node("9", "lke1-9-000", "g6-standard-8", "8", "30Gi"))}
	workload(cluster, "web", 3, "1", "1Gi")
	report := run(t, whatif.Input{Cluster: cluster, Keep: []string{"9"}})
	if len(report.Then) != 1 || !report.Then[0].Kept || report.Then[0].Pods != 3 || report.ThenMonthly != 192 {
		t.Errorf("then: %+v", report.Then)
	}
	_, err := whatif.Run(t.Context(), whatif.Input{Cluster: cluster, Keep: []string{"8"}})
	if err == nil || !strings.Contains(err.Error(), "[7 9]") {
		t.Errorf("a pool that does not exist: %v", err)
	}
}

// Nodes of the cluster show its tier, before any operator runs there. The plan of 8 GiB was not seen.
func TestMemoryOfUnseenPlansIsEstimatedByTheTier(t *testing.T) {
	enterprise := node("7", "lke1-7-000", "g6-standard-2", "2", "3827Mi")
	enterprise.Status.Allocatable = maps.Clone(enterprise.Status.Capacity)
	enterprise.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("2360Mi")
	for name, c := range map[string]struct {
		node     *corev1.Node
		tier     string
		overhead *float64
		holds    string // the smallest of the two that holds a pod of 6.5 GiB
	}{
		"Standard":               {node: nodes(1)[0], holds: "g6-standard-4"},
		"nodes of Enterprise":    {node: enterprise, holds: "g6-standard-6"},
		"Enterprise by the flag": {node: node("7", "lke1-7-000", "g6-standard-2", "2", "3827Mi"), tier: "enterprise", holds: "g6-standard-6"},
		"a share that is set":    {node: enterprise, overhead: ptr.To(0.075), holds: "g6-standard-4"},
		"another share, Standard": {node: node("7", "lke1-7-000", "g6-standard-2", "2", "3827Mi"), overhead: ptr.To(0.25),
			holds: "g6-standard-6"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &snapshot.Snapshot{Nodes: []*corev1.Node{c.node}, NodePools: anyPlan()}
			workload(cluster, "large", 1, "100m", "6656Mi")
			allowed, err := selection.Parse("g6-standard-4,g6-standard-6", selection.NoPlans)
			if err != nil {
				t.Fatal(err)
			}
			report := run(t, whatif.Input{Cluster: cluster, Tier: c.tier, MemoryOverhead: c.overhead, Plans: allowed})
			if len(report.Then) != 1 || report.Then[0].Plan != c.holds {
				t.Errorf("then: %+v, want %s", report.Then, c.holds)
			}
		})
	}
}

func TestLimitsBoundANodePool(t *testing.T) {
	cluster := &snapshot.Snapshot{Nodes: nodes(2), NodePools: examples(t, "nodepool.yaml").NodePools}
	cluster.NodePools[0].Spec.Limits = karpv1.Limits{corev1.ResourceCPU: resource.MustParse("4")}
	workload(cluster, "web", 8, "900m", "512Mi")
	report := run(t, whatif.Input{Cluster: cluster})
	if len(report.Unplaced) != 1 || !strings.Contains(report.Unplaced[0].Reason, "exceed limits for nodepool") {
		t.Errorf("unplaced: %+v", report.Unplaced)
	}
	if report.Then[0].Pods != 8-len(report.Unplaced[0].Pods) || report.ThenMonthly > 48 {
		t.Errorf("then: %+v", report.Then)
	}
}

func TestVolumesBoundTheNumberOfPodsOnANode(t *testing.T) {
	cluster := &snapshot.Snapshot{Nodes: nodes(2)}
	workload(cluster, "db", 20, "50m", "64Mi", withVolume(cluster))
	report := run(t, whatif.Input{Cluster: cluster})
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	market := catalog.NewCatalog(list, catalog.Config{Region: region})
	if err := market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	limits := map[string]int{}
	for _, it := range market.InstanceTypes(nil) {
		limits[it.Name] = it.VolumeAttachmentLimits["linodebs.csi.linode.com"]
	}
	placed := 0
	for _, group := range report.Then {
		placed += group.Pods
		if room := group.Nodes * limits[group.Plan]; group.Pods > room || room == 0 {
			t.Errorf("%d pods with a volume each on nodes for %d: %+v", group.Pods, room, group)
		}
	}
	if placed != 20 {
		t.Errorf("%d of 20 pods are placed", placed)
	}
}

func TestConsolidationLeavesProtectedPodsAlone(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
	}
	large := func() *snapshot.Snapshot { // nodes of any size, which consolidation finds cheaper ones for
		cluster := clusters(t)["many"]
		cluster.NodePools = anyPlan()
		return cluster
	}
	unprotected, protected, annotated := large(), large(), large()
	protected.Budgets = []*policyv1.PodDisruptionBudget{budget}
	for _, pod := range annotated.Pods {
		pod.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
	}
	if report := run(t, whatif.Input{Cluster: unprotected}); report.Consolidation.Commands == 0 || report.Consolidation.Saved <= 0 ||
		len(report.Held) > 0 {
		t.Errorf("unprotected: %+v, held %v", report.Consolidation, report.Held)
	}
	for want, cluster := range map[string]*snapshot.Snapshot{"pdb": protected, "do-not-disrupt": annotated} {
		report := run(t, whatif.Input{Cluster: cluster})
		if report.Consolidation.Commands > 0 || len(report.Held) != 1 || !strings.Contains(strings.ToLower(report.Held[0].Reason), want) {
			t.Errorf("%s: %+v, held %v", want, report.Consolidation, report.Held)
		}
	}
}

func TestADumpGivesTheSameReportAfterTrimming(t *testing.T) {
	for name, cluster := range clusters(t) {
		want, err := json.Marshal(run(t, whatif.Input{Cluster: cluster}))
		if err != nil {
			t.Fatal(err)
		}
		cluster.Trim()
		var dump bytes.Buffer
		if err := cluster.Write(&dump); err != nil {
			t.Fatal(err)
		}
		read, err := snapshot.Read(&dump)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(run(t, whatif.Input{Cluster: read}))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\n%s", name, got, want)
		}
	}
}

func TestInputThatCannotBeComputedIsRefused(t *testing.T) {
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	unlabelled := &snapshot.Snapshot{}
	workload(unlabelled, "web", 1, "1", "1Gi")
	for want, cluster := range map[string]*snapshot.Snapshot{"no pods": {Nodes: nodes(1)}, "region is not known": unlabelled} {
		if _, err := whatif.Run(t.Context(), whatif.Input{Cluster: cluster, API: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// large is a cluster of 2,000 pods in 40 workloads.
func large() *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: nodes(200)}
	withDaemons(s, "logs", "200m", "256Mi")
	for i := range 40 {
		workload(s, fmt.Sprintf("web-%d", i), 50, fmt.Sprintf("%dm", 100+25*(i%10)), fmt.Sprintf("%dMi", 256+128*(i%7)))
	}
	return s
}

// BenchmarkTwoThousandPods reads a dump, as the program does, computes the report with everything that is in it, and writes it. It fails
// above 20 s. A machine that does nothing else needs less.
func BenchmarkTwoThousandPods(b *testing.B) {
	cluster := large()
	cluster.Trim()
	var dump bytes.Buffer
	if err := cluster.Write(&dump); err != nil {
		b.Fatal(err)
	}
	began := processorTime(b)
	for b.Loop() {
		read, err := snapshot.Read(bytes.NewReader(dump.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if err := run(b, whatif.Input{Cluster: read, Sensitivity: true}).WriteText(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N), "cpu-s/op")
	if took := b.Elapsed() / time.Duration(b.N); took > 20*time.Second {
		b.Errorf("a dump of 2,000 pods took %v", took)
	}
}

// processorTime returns the time that the process has computed for.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
