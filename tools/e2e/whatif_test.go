package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

var (
	many       = flag.Int("many", 0, "how many times TestWhatif has its workload of 300 pods, which takes minutes each time")
	whatifPage = flag.String("whatif-page", "", "`document` whose section TestWhatif writes")
)

// How long no NodeClaim comes or goes before the operator counts as at rest. Core's windows are shorter: 10 s between two looks, 15 s until
// a decision is carried out, and 5 s of consolidateAfter; but on a busy machine it plans for half a minute for nodes with 300 pods.
const (
	whatifRest     = time.Minute
	whatifManyRest = 2 * time.Minute
)

// tolerated is the difference between what whatif predicts and what the operator holds.
const tolerated = 0.05

// TestWhatif compares what whatif predicts, from a dump made while all pods wait and there is no NodePool, with what the operator holds
// once it rests.
func TestWhatif(t *testing.T) {
	t.Parallel()
	e := start(t, "whatif", "standard", nil)
	e.apply(t, waitingClass("late", ""))
	rows := e.predicted(t, predictions()...)
	for range *many {
		rows = append(rows, e.predicted(t, workload{lane: "many" + strconv.Itoa(len(rows)), title: "300 pods of two kinds", rest: whatifManyRest,
			apps: map[string]int{"web": 200, "jobs": 100},
			yaml: deployment("web", 200, container("cpu: 250m, memory: 512Mi", "")) +
				"---" + deployment("jobs", 100, container("cpu: 500m, memory: 256Mi", ""))})...)
	}
	if *whatifPage != "" && !t.Failed() {
		report := bench.WhatifReport{Machine: bench.ThisMachine(), Rest: whatifRest, ManyRest: whatifManyRest, Rows: rows}
		NewWithT(t).Expect(report.Write(*whatifPage)).To(Succeed())
	}
}

// predictions are workloads of each kind that whatif knows.
func predictions() []workload {
	return []workload{
		{lane: "volumes", title: "20 pods with a volume each", apps: map[string]int{"db": 20},
			yaml: withVolumes("db", 20, container("cpu: 250m, memory: 512Mi", ""))},
		{lane: "spread", title: "12 pods spread and 5 kept apart by node", apps: map[string]int{"web": 12, "cache": 5},
			yaml: deployment("web", 12, container("cpu: 500m, memory: 1Gi", "")+spread("web")) +
				"---" + deployment("cache", 5, container("cpu: 250m, memory: 2Gi", "")+apart("cache"))},
		{lane: "daemons", title: "40 pods beside two DaemonSets", apps: map[string]int{"web": 40},
			yaml: daemons("logs", "cpu: 200m, memory: 256Mi") + "---" + daemons("metrics", "cpu: 100m, memory: 128Mi") +
				"---" + deployment("web", 40, container("cpu: 500m, memory: 512Mi", ""))},
		{lane: "gpu", title: "2 pods with a GPU, 6 without", apps: map[string]int{"web": 6, "train": 2},
			yaml: deployment("web", 6, container("cpu: 500m, memory: 1Gi", "")+onStandardPlans) +
				"---" + deployment("train", 2, container("cpu: 2, memory: 8Gi", `nvidia.com/gpu: "1"`)+`
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]`),
			more: "---" + gpuNodePool},
	}
}

// workload describes the objects that wait in a lane while whatif predicts.
type workload struct {
	lane, title, yaml string
	apps              map[string]int // how many pods each has
	more              string         // NodePools beside default
	rest              time.Duration  // 0 = whatifRest
}

// gpuNodePool goes before default, so that pods without a GPU do not fill its nodes.
const gpuNodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  weight: 10
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
      requirements: [{key: karpenter.k8s.linode/instance-class, operator: In, values: [gpu]}]
`

// onStandardPlans keeps pods off the nodes of gpuNodePool. The taint alone does not: on LKE Standard a node registers without its pool's
// taints (FACTS 18), and pods that wait are bound to it before the taint is there.
const onStandardPlans = `
      nodeSelector: {` + v1alpha1.LabelInstanceClass + `: ` + v1alpha1.InstanceClassStandard + `}`

func (w workload) nodePools() string { return nodePool("default", "", "") + w.more }

// container returns a container with requests and limits, flow maps without braces.
func container(requests, limits string) string {
	return fmt.Sprintf(`
      containers:
        - name: main
          image: registry.k8s.io/pause:3.10
          resources: {requests: {%s}, limits: {%s}}`, requests, limits)
}

// spread keeps the numbers of an app's pods on two nodes within one of each other.
func spread(app string) string {
	return fmt.Sprintf(`
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: %s}}}`, app)
}

func daemons(name, requests string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[1]s, namespace: default}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{operator: Exists}]%[2]s
`, name, container(requests, ""))
}

// prediction has the fields of whatif's report that the test reads.
type prediction struct {
	Then []struct {
		Pool, Plan string
		Nodes      int
		Monthly    float64
	}
	LowMonthly, HighMonthly, ThenMonthly float64
	Unplaced                             []struct{ Reason string }
}

// predicted lets all workloads wait, has one prediction for all of them, and lets the operator work until each is at rest.
func (e *environment) predicted(t *testing.T, all ...workload) []bench.WhatifRow {
	t.Helper()
	var waiting sync.WaitGroup
	var mu sync.Mutex
	var nodePools bytes.Buffer
	predict := sync.OnceValues(func() (prediction, error) {
		waiting.Wait()
		return e.predict(t, nodePools.String())
	})
	rows := make([]bench.WhatifRow, len(all))
	var parts []part
	for i, w := range all {
		waiting.Add(1)
		done := sync.OnceFunc(waiting.Done)
		p := inLane(w.lane, w.title, func(t *testing.T, e *environment) {
			e.waits(t, w)
			text := e.transformed(t, w.nodePools())
			mu.Lock()
			nodePools.WriteString(text)
			mu.Unlock()
			done()
			predicted, err := predict()
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			rows[i] = e.compared(t, w, predicted, len(all) == 1)
		}, swept)
		p.ended = done
		parts = append(parts, p)
	}
	e.together(t, parts...)
	return rows
}

// waits applies a workload and waits until all its pods are there.
func (e *environment) waits(t *testing.T, w workload) {
	t.Helper()
	e.apply(t, w.yaml)
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		for app, n := range w.apps {
			g.Expect(e.pods(ctx, g, app)).To(HaveLen(n), "pods of %s", app)
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// transformed returns objects in the form of the lane.
func (e *environment) transformed(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatal(err)
		}
		e.into(object)
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(data) + "\n")
	}
}

// predict runs whatif on a dump. The user's pool stays.
func (e *environment) predict(t *testing.T, nodePools string) (p prediction, err error) {
	dir := t.TempDir()
	dump, pools := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "nodepools.yaml")
	printed, err := e.runProgram(t.Context(), "dump")
	if err != nil {
		return p, err
	}
	if err := errors.Join(os.WriteFile(dump, printed, 0o600), os.WriteFile(pools, []byte(nodePools), 0o600)); err != nil {
		return p, err
	}
	args := []string{"whatif", "--from", dump, "--nodepools", pools, "--output", "json"}
	for pool := range e.theirs {
		args = append(args, "--keep", strconv.Itoa(pool))
	}
	if printed, err = e.runProgram(t.Context(), args...); err != nil {
		return p, err
	}
	if err := json.Unmarshal(printed, &p); err != nil {
		return p, err
	}
	if len(p.Unplaced) > 0 {
		err = fmt.Errorf("whatif places pods nowhere: %+v", p.Unplaced)
	}
	return p, err
}

// compared lets the operator work until it rests, and compares. The range is of the whole cluster, and so counts for a workload that is
// alone in it.
func (e *environment) compared(t *testing.T, w workload, p prediction, alone bool) bench.WhatifRow {
	t.Helper()
	row := bench.WhatifRow{Workload: w.title, Predicted: map[string]int{}, Held: map[string]int{}}
	kept := p.ThenMonthly
	for _, group := range p.Then {
		if name, ours := strings.CutPrefix(group.Pool, "NodePool "); ours && e.isMine(name) {
			row.Predicted[group.Plan] += group.Nodes
			row.PredictedMonthly += group.Monthly
		}
	}
	kept -= row.PredictedMonthly
	row.Low, row.High = row.PredictedMonthly, row.PredictedMonthly
	if alone {
		row.Low, row.High = p.LowMonthly-kept, p.HighMonthly-kept
	}
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, w.nodePools())
	for app, n := range w.apps {
		e.settled(t, app, n)
	}
	e.rests(t, cmp.Or(w.rest, whatifRest))
	for app, n := range w.apps {
		e.settled(t, app, n)
	}
	ctx, g, monthly := t.Context(), NewWithT(t), e.monthlyPrices(t)
	nodes := e.karpenterNodes(ctx, g)
	for _, node := range nodes {
		plan := node.Labels[corev1.LabelInstanceTypeStable]
		row.Held[plan]++
		row.HeldMonthly += monthly[plan]
	}
	t.Logf("whatif: %v for $%v a month, range $%v to $%v; the operator: %v for $%v", row.Predicted, row.PredictedMonthly, row.Low, row.High,
		row.Held, row.HeldMonthly)
	if row.HeldMonthly < row.Low*(1-tolerated) || row.HeldMonthly > row.High*(1+tolerated) {
		t.Errorf("%s: the operator holds nodes for $%v a month, whatif predicts $%v, range $%v to $%v", w.title, row.HeldMonthly,
			row.PredictedMonthly, row.Low, row.High)
	}
	e.topShows(t, nodes, row.HeldMonthly)
	e.explainedAtRest(t, slices.Sorted(maps.Keys(w.apps))[0], monthly)
	return row
}

// explainedAtRest: a pod that runs, its node, and the NodeClaim, none of which consolidation would change.
func (e *environment) explainedAtRest(t *testing.T, app string, monthly map[string]float64) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	pod := slices.MinFunc(e.pods(ctx, g, app), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	node := pod.Spec.NodeName
	e.explained(t, "pod", pod.Namespace+"/"+pod.Name, "It runs on node "+node+".")
	for _, claim := range e.nodeClaims(ctx, g) {
		if claim.Status.NodeName != node {
			continue
		}
		plan := claim.Labels[corev1.LabelInstanceTypeStable]
		priced := fmt.Sprintf("plan %s ($%v a month)", plan, math.Round(monthly[plan]*100)/100)
		e.explained(t, "node", node, "It is of NodePool ", priced, "Consolidation leaves it: ")
		e.explained(t, "nodeclaim", claim.Name, "Its node is "+node+".", priced, "Consolidation leaves it: ")
		return
	}
	t.Errorf("no NodeClaim is that of node %s, on which pod %s runs", node, pod.Name)
}
