package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/whatif"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// TestWhatif compares what `karpenter-linode whatif` computes from a dump, made while the pods wait, with what the operator holds when
// it has come to rest. The workload that fills several nodes has a cluster of its own: it takes as long as the others together.
func TestWhatif(t *testing.T) {
	for name, workloads := range map[string][]predicted{"small": fewPods(t), "large": threeHundredPods(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, "whatif-"+name, "standard", nil, func(o *localcluster.Options) { o.Unchecked = true })
			for _, w := range workloads {
				e.scenario(t, w.name, w.compare)
			}
		})
	}
}

const (
	// tolerance is how far the operator's price may be from the predicted one.
	tolerance = 0.05
	// quiet is longer than core needs for two rounds of consolidation: each begins after at most 10 s, and is validated after 15 s.
	quiet = time.Minute
)

// A predicted is a workload whose nodes are predicted.
type predicted struct {
	name      string
	nodePools []string // YAML, with their class
	objects   []string
	pods      int
}

func (w predicted) compare(t *testing.T, e *environment) {
	for _, object := range w.objects {
		e.apply(t, object)
	}
	ctx, g := t.Context(), NewWithT(t)
	g.Eventually(ctx, func(g Gomega) {
		waiting := 0
		for _, pod := range e.allPods(ctx, g) {
			if pod.Spec.NodeName != "" || unschedulable(pod) {
				waiting++
			}
		}
		g.Expect(waiting).To(Equal(w.pods), "pods that wait, or run on the user's node")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	folder := t.TempDir()
	dump, pools := filepath.Join(folder, "dump.json"), filepath.Join(folder, "nodepools.yaml")
	g.Expect(os.WriteFile(dump, e.program(t, "dump", "--kubeconfig", e.Kubeconfig), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(pools, []byte(strings.Join(w.nodePools, "\n---\n")), 0o600)).To(Succeed())
	report := whatif.Report{}
	args := []string{"whatif", "--from", dump, "--nodepools", pools, "--linode-url", e.SimURL, "--output", "json"}
	for pool := range e.theirs {
		args = append(args, "--keep", strconv.Itoa(pool))
	}
	g.Expect(json.Unmarshal(e.program(t, args...), &report)).To(Succeed())
	g.Expect(report.Unplaced).To(BeEmpty())

	for _, nodePool := range w.nodePools {
		e.apply(t, nodePool)
	}
	e.atRestWith(t, w.pods)
	var view struct {
		Pools []struct {
			Pool    string
			Monthly float64
		}
	}
	g.Expect(json.Unmarshal(e.program(t, "top", "--once", "--kubeconfig", e.Kubeconfig, "--linode-url", e.SimURL, "--output", "json"),
		&view)).To(Succeed())
	held := 0.0
	for _, pool := range view.Pools {
		if strings.HasPrefix(pool.Pool, "NodePool ") {
			held += pool.Monthly
		}
	}
	then := 0.0
	for _, group := range report.Then {
		if !group.Kept {
			then += group.Monthly
		}
	}
	t.Logf("whatif: $%.0f (%s), range $%.0f to $%.0f; operator: $%.0f (%s)", then, groups(report.Then), report.LowMonthly,
		report.HighMonthly, held, strings.Join(e.types(ctx, g), ", "))
	if held < then*(1-tolerance) || held > then*(1+tolerance) {
		t.Errorf("the operator holds nodes for $%.2f a month, %+.1f%% of the predicted $%.2f", held, 100*(held/then-1), then)
	}
}

func groups(all []whatif.Group) string {
	var texts []string
	for _, g := range all {
		if !g.Kept {
			texts = append(texts, fmt.Sprintf("%d %s", g.Nodes, g.Plan))
		}
	}
	return strings.Join(texts, ", ")
}

// program runs .bin/karpenter-linode and returns what it prints.
func (e *environment) program(t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(repositoryRoot(t), ".bin", "karpenter-linode"), args...)
	var errors bytes.Buffer
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("karpenter-linode %s: %v: %s", strings.Join(args, " "), err, errors.String())
	}
	return out
}

// allPods are the pods of the workloads.
func (e *environment) allPods(ctx context.Context, g Gomega) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(e.kube.List(ctx, list, e.namespace())).To(Succeed())
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "DaemonSet"
	})
}

func unschedulable(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

// atRestWith waits until all pods run on nodes that neither come nor go any more.
func (e *environment) atRestWith(t *testing.T, pods int) {
	t.Helper()
	ctx := t.Context()
	last, since := "", time.Now()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		var state []string
		running := 0
		for _, pod := range e.allPods(ctx, g) {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running++
			}
			state = append(state, pod.Name+" on "+pod.Spec.NodeName)
		}
		for _, claim := range e.nodeClaims(ctx, g) {
			state = append(state, claim.Name)
			if !claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() || claim.DeletionTimestamp != nil {
				running = -1
			}
		}
		slices.Sort(state)
		if now := strings.Join(state, "\n"); now != last || running != pods {
			last, since = now, time.Now()
		}
		g.Expect(time.Since(since)).To(BeNumerically(">", quiet), "nothing has changed for so long")
	}).WithTimeout(4 * patience).WithPolling(4 * interval).Should(Succeed())
}
