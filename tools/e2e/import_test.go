package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/docs/follow"
)

// TestImport follows the steps that `import lke` prints, forward and back, command by command.
func TestImport(t *testing.T) {
	t.Parallel()
	e := start(t, "import", "standard", nil)
	e.scenario(t, "the steps of import lke, and the way back", handOver)
}

// handOver moves two pools of LKE's to Karpenter and back. Pods are available all the time, as their budgets demand.
func handOver(t *testing.T, e *environment) {
	e.apply(t, budgeted("web", 4, `
      nodeSelector: {team: web}`)+budgeted("batch", 2, `
      nodeSelector: {team: batch}
      tolerations: [{key: dedicated, operator: Equal, value: batch, effect: NoSchedule}]`))
	before := []linodesim.PoolSpec{
		{Type: "g6-dedicated-2", Count: 1, Label: "batch", Labels: map[string]string{"team": "batch"}, Tags: []string{"nightly"},
			Taints: []linodesim.Taint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}}},
		{Type: "g6-standard-2", Count: 2, Label: "web", Labels: map[string]string{"team": "web"},
			Autoscaler: &api.LKEAutoscaler{Enabled: true, Min: 1, Max: 4}},
	}
	for _, spec := range before {
		_, err := e.Sim.AddPool(e.ClusterID, spec)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	e.served(t, "lke")
	least := map[string]func() int{"web": e.leastAvailable(t, "web"), "batch": e.leastAvailable(t, "batch")}

	guide := e.importLKE(t)
	guide.follow(t, "1.")
	if flag := guide.commands["2."]; !strings.Contains(flag, fmt.Sprintf("nodeSelector.lke\\.linode\\.com/pool-id=%d'", onlyKey(e.theirs))) {
		t.Errorf("step 2 has no flag for the pool that stays: %q", flag)
	}
	guide.follow(t, "3.")
	for _, pool := range e.ourPools() {
		if pool.Autoscaler.Enabled {
			t.Errorf("pool %d of %s is scaled by LKE after step 3", pool.ID, pool.Type)
		}
	}
	since := e.now()
	guide.follow(t, "4.")
	e.nodePoolReady(t, "batch")
	e.nodePoolReady(t, "web")
	if n := since.made(); n != 0 {
		t.Errorf("%d instances were made by step 4, which moves nothing", n)
	}
	// One pool there and back, then both.
	guide.follow(t, "5.1 a", "5.1 b")
	e.served(t, "batch")
	guide.follow(t, "5.1 before")
	e.served(t, "lke")
	guide.follow(t, "4.")
	e.nodePoolReady(t, "batch")
	guide.follow(t, "5.1 a", "5.1 b", "5.1 c", "5.2 a", "5.2 b")
	e.served(t, "batch", "web")
	guide.follow(t, "5.2 c")
	e.onlyKarpenters(t)
	e.explainedAfterMove(t)
	guide.back(t, e, before)
	for app, available := range map[string]int{"web": 3, "batch": 1} {
		if n := least[app](); n < available {
			t.Errorf("%d pods of %s were available at some time, its budget demands %d", n, app, available)
		}
	}
	e.withoutPools(t)
}

// budgeted is a Deployment with a PodDisruptionBudget that lets one pod go at a time.
func budgeted(name string, replicas int, more string) string {
	return "---" + deployment(name, replicas, more) + fmt.Sprintf(`---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: %[1]s}}}
`, name)
}

// served waits until all pods are ready: pods of the named apps on Karpenter's nodes, all other pods on LKE's own nodes.
func (e *environment) served(t *testing.T, moved ...string) {
	t.Helper()
	e.settled(t, "web", 4)
	e.settled(t, "batch", 2)
	ctx, g := t.Context(), NewWithT(t)
	karpenters := map[string]bool{}
	for _, node := range e.karpenterNodes(ctx, g) {
		karpenters[node.Name] = true
	}
	for _, app := range []string{"web", "batch"} {
		for _, pod := range e.pods(ctx, g, app) {
			if karpenters[pod.Spec.NodeName] != slices.Contains(moved, app) {
				t.Errorf("pod %s is on node %s; on a node of Karpenter's: %v", pod.Name, pod.Spec.NodeName, karpenters[pod.Spec.NodeName])
			}
		}
	}
}

// onlyKarpenters: the pools that were handed over are gone, and each NodePool has as many nodes as it may.
func (e *environment) onlyKarpenters(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		for _, pool := range e.ourPools() {
			g.Expect(pool.Tags).To(ContainElement(HavePrefix("karpenter.sh/nodepool=")), "LKE pool %d of %s after its step c", pool.ID, pool.Type)
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.oneToOne(t)
}

// explainedAfterMove explains a node of each kind.
func (e *environment) explainedAfterMove(t *testing.T) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	for _, claim := range e.nodeClaims(ctx, g) {
		e.explained(t, "nodeclaim", claim.Name, "Its node is "+claim.Status.NodeName+".", "the NodePool requires", "consolidateAfter is 5m")
	}
	stays := &corev1.NodeList{}
	g.Expect(e.kube.List(ctx, stays, client.MatchingLabels{poolIDLabel: strconv.Itoa(onlyKey(e.theirs))})).To(Succeed())
	for _, node := range stays.Items {
		e.explained(t, "node", node.Name, "Karpenter has not made it, and leaves it alone.")
	}
}

const poolIDLabel = "lke.linode.com/pool-id"

// onlyKey is the key of the only pool that the cluster begins with.
func onlyKey(pools map[int]bool) (id int) {
	for id = range pools {
	}
	return id
}

// guide has the steps of an import, and a shell in which they are followed.
type guide struct {
	shell    *follow.Shell
	commands map[string]string // by step: "1.", "5.2 a", "5.2 before", "back"
}

var (
	numbered = regexp.MustCompile(`^(\d)\. `)
	ofPool   = regexp.MustCompile(`^(5\.\d+) `)
	lettered = regexp.MustCompile(`^   ([abc])\. `)
	wayBack  = regexp.MustCompile(`^   Back, (before|after) c: `)
)

// importLKE writes karpenter.yaml as the page does, and returns the steps in a shell of the same folder.
func (e *environment) importLKE(t *testing.T) guide {
	t.Helper()
	dir, g := t.TempDir(), NewWithT(t)
	g.Expect(os.WriteFile(filepath.Join(dir, "karpenter.yaml"), []byte(e.program(t, "import", "lke", e.Name)), 0o600)).To(Succeed())
	shell, err := follow.Start(t.Context(), dir, "KUBECONFIG="+e.Kubeconfig, "LINODE_URL="+e.SimURL, "LINODE_TOKEN="+e.SimToken,
		"PATH="+controlplane.BinDir(repositoryRoot(t))+":"+os.Getenv("PATH"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(shell.Close)
	return guide{shell, commandsOfSteps(e.program(t, "import", "lke", e.Name, "--output", "steps"))}
}

// commandsOfSteps reads the commands of each step, which are indented by more than its text.
func commandsOfSteps(text string) map[string]string {
	commands, step, pool := map[string]string{}, "", ""
	for line := range strings.Lines(text) {
		switch {
		case ofPool.MatchString(line):
			pool = ofPool.FindStringSubmatch(line)[1] + " "
			step = pool
		case numbered.MatchString(line):
			step = numbered.FindStringSubmatch(line)[1] + "."
		case lettered.MatchString(line):
			step = pool + lettered.FindStringSubmatch(line)[1]
		case wayBack.MatchString(line):
			step = pool + wayBack.FindStringSubmatch(line)[1]
		case strings.HasPrefix(line, "To go back altogether"):
			step = "back"
		case strings.HasPrefix(line, "       "):
			commands[step] += strings.TrimPrefix(line, "       ")
		}
	}
	return commands
}

// follow runs the commands of steps, each of which must succeed.
func (s guide) follow(t *testing.T, steps ...string) {
	t.Helper()
	for _, step := range steps {
		s.run(t, step, s.commands[step])
	}
}

func (s guide) run(t *testing.T, step, commands string) {
	t.Helper()
	if commands == "" {
		t.Fatalf("step %s has no commands", step)
	}
	printed, err := s.shell.Do(t.Context(), follow.Step{Command: "(set -e\n" + commands + ")"})
	if err != nil {
		t.Fatalf("step %s: %v\n%s", step, err, commands)
	}
	t.Logf("step %s\n%s\n%s", step, commands, printed)
}

// back follows the way back of both pools, whose steps c are done, and turns LKE's autoscaler on as it was.
func (s guide) back(t *testing.T, e *environment, before []linodesim.PoolSpec) {
	t.Helper()
	g := NewWithT(t)
	renamed := map[int]int{} // from the ID of a deleted pool to the ID of the pool that was made again
	for i, spec := range before {
		step := fmt.Sprintf("5.%d after", i+1)
		request, rest, found := strings.Cut(s.commands[step], "kubectl delete nodepool")
		g.Expect(found).To(BeTrue(), "step %s has two parts", step)
		s.run(t, step, request)
		pools := e.ourPools()
		at := slices.IndexFunc(pools, func(p linodesim.Pool) bool { return p.Label == spec.Label })
		g.Expect(at).NotTo(Equal(-1), "pool %s is made again", spec.Label)
		made := pools[at]
		id, err := strconv.Atoi(regexp.MustCompile(`pools/(\d+)"`).FindStringSubmatch(s.commands[fmt.Sprintf("5.%d c", i+1)])[1])
		g.Expect(err).NotTo(HaveOccurred())
		renamed[id] = made.ID
		e.poolJoined(t, made.ID, spec.Count)
		s.run(t, step, "kubectl delete nodepool"+rest)
	}
	e.served(t, "lke")
	if claims := e.nodeClaims(t.Context(), g); len(claims) > 0 {
		t.Errorf("%d NodeClaims are left on the way back", len(claims))
	}
	commands := s.commands["back"]
	for was, is := range renamed {
		commands = strings.ReplaceAll(commands, fmt.Sprintf("pools/%d\"", was), fmt.Sprintf("pools/%d\"", is))
	}
	s.run(t, "back", commands)
	var pools []linodesim.Pool
	g.Eventually(t.Context(), func() []linodesim.Pool { pools = e.ourPools(); return pools }).WithTimeout(patience).WithPolling(interval).
		Should(ConsistOf(HaveField("Label", before[0].Label), HaveField("Label", before[1].Label)))
	for i, pool := range pools {
		spec := before[slices.IndexFunc(before, func(b linodesim.PoolSpec) bool { return b.Label == pool.Label })]
		scaled := spec.Autoscaler != nil && spec.Autoscaler.Enabled
		if pool.Type != spec.Type || pool.Count != spec.Count || pool.Autoscaler.Enabled != scaled ||
			pool.Labels["team"] != spec.Labels["team"] || !slices.Equal(pool.Taints, spec.Taints) || !slices.Equal(pool.Tags, spec.Tags) {
			t.Errorf("pool %d was %+v, and is %+v after the way back", i, spec, pool)
		}
	}
}

// poolJoined waits until the nodes of an LKE pool are ready.
func (e *environment) poolJoined(t *testing.T, pool, count int) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		nodes := &corev1.NodeList{}
		g.Expect(e.kube.List(ctx, nodes, client.MatchingLabels{poolIDLabel: strconv.Itoa(pool)})).To(Succeed())
		g.Expect(nodes.Items).To(HaveLen(count))
		for _, node := range nodes.Items {
			g.Expect(ready(node)).To(BeTrue())
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// withoutPools deletes the pools that the scenario has made.
func (e *environment) withoutPools(t *testing.T) {
	t.Helper()
	for _, pool := range e.ourPools() {
		e.request(t, "DELETE", fmt.Sprintf("/lke/clusters/%d/pools/%d", e.ClusterID, pool.ID), "", &struct{}{})
	}
}
