package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/management"
)

// The suites of clusterapi mode: Machines of Cluster API's own controllers, and Linodes of a simulated provider. A lane has
// MachineDeployments of its own, which its class selects by its label.

func machines(kubelets int) func(*localcluster.Options) {
	return func(o *localcluster.Options) { o.Mode, o.Kubelets = localcluster.ClusterAPI, kubelets }
}

// TestClusterAPI has Machines come and go, each lane for another reason.
func TestClusterAPI(t *testing.T) {
	t.Parallel()
	e := start(t, "capi", "standard", nil, machines(2))
	e.together(t,
		inLane("updown", "five pods come and go", machinesComeAndGo, cleared),
		inLane("merge", "a node is replaced by one of a cheaper type", cheaperMachine, swept),
		inLane("drift", "a MachineDeployment gets another template", driftedTemplate, swept),
		inLane("gpu", "a pod that asks for a GPU", machineWithGPU, swept),
	)
}

// TestClusterAPILifetime has a Machine that expires, a Machine without capacity, a Machine that never joins, and a Machine of a new
// template that is deleted. Pods that wait there would hold back consolidation, and a replacement would give them a second node: both
// concern the whole cluster.
func TestClusterAPILifetime(t *testing.T) {
	t.Parallel()
	e := start(t, "capi-lifetime", "standard", nil, machines(2))
	e.together(t, endedMachines()...)
}

func endedMachines() []part {
	return []part{
		inLane("expiry", "a node expires, and a budget forbids its drain", agedMachine, swept),
		inLane("refused", "the cheapest type cannot be had", refusedMachine, swept),
		inLane("silent", "a Machine that never joins", silentMachine, swept),
		inLane("newest", "a node of a new template goes, and one of the old template stays", newestMachine, swept),
	}
}

func TestClusterAPIReplicas(t *testing.T) {
	t.Parallel()
	e := start(t, "capi-replicas", "standard", nil, machines(5), func(o *localcluster.Options) { o.Replicas = 2 })
	e.scenario(t, "the leader is killed in a scale-up of twenty", leaderKilledAmongMachines)
}

// TestClusterAPIApart has Cluster API in another cluster, where the operator has a user with rights in one namespace. The other suites have
// a cluster that manages itself.
func TestClusterAPIApart(t *testing.T) {
	t.Parallel()
	e := start(t, "capi-apart", "standard", nil, machines(2), func(o *localcluster.Options) { o.ManagementApart = true })
	e.run(t, "five pods come and go", podsOnMachines)
	e.scenario(t, "uninstalled with nodes and installed again", reinstalled)
}

// withoutSwap has the commands that a Linode runs before it joins.
const withoutSwap = "swapoff -a, systemctl mask swap.target"

// machineDeployments makes one for each plan, with its templates. commands run in the Linode before it joins.
func (e *environment) machineDeployments(t *testing.T, commands string, plans ...string) {
	t.Helper()
	e.apply(t, fmt.Sprintf(`
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  template:
    spec:
      preKubeadmCommands: [%[3]s]
      joinConfiguration:
        nodeRegistration:
          name: '{{ ds.meta_data.label }}'
          kubeletExtraArgs: [{name: cloud-provider, value: external}]
          taints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
`, e.lane, management.Namespace, commands))
	for _, plan := range plans {
		e.linodeTemplate(t, e.lane+"-"+plan, plan)
		e.apply(t, fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: %[1]s-%[2]s
  namespace: %[3]s
  labels: {karpenter.k8s.linode/enabled: "true", %[4]s: %[1]s}
spec:
  clusterName: %[5]s
  replicas: 0
  rollout: {strategy: {type: OnDelete}}
  selector: {matchLabels: {deployment: %[1]s-%[2]s}}
  template:
    metadata: {labels: {deployment: %[1]s-%[2]s}}
    spec:
      clusterName: %[5]s
      version: %[6]s
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: %[1]s}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LinodeMachineTemplate, name: %[1]s-%[2]s}
`, e.lane, plan, management.Namespace, laneLabel, e.Name, controlplane.KubernetesVersion))
	}
}

func (e *environment) linodeTemplate(t *testing.T, name, plan string) {
	t.Helper()
	e.apply(t, fmt.Sprintf(`
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha2
kind: LinodeMachineTemplate
metadata: {name: %s, namespace: %s}
spec: {template: {spec: {region: us-ord, type: %s}}}
`, name, management.Namespace, plan))
}

// machinesComeAndGo has fewer nodes than pods, and as many Linodes as NodeClaims.
func machinesComeAndGo(t *testing.T, e *environment) {
	e.machineDeployments(t, withoutSwap, "g6-standard-2", "g6-standard-4")
	podsOnMachines(t, e)
}

func podsOnMachines(t *testing.T, e *environment) {
	const app = "five"
	e.nodePool(t, nodePoolSpec{})
	since := e.now()
	e.apply(t, deployment(app, 5, ""))
	e.settled(t, app, 5)
	if n := e.oneToOne(t); n == 0 || n != since.made() {
		t.Errorf("%d Linodes were made for %d NodeClaims", since.made(), n)
	}
	e.scale(t, app, 0)
}

func cheaperMachine(t *testing.T, e *environment) {
	const app = "shrinking"
	e.machineDeployments(t, withoutSwap, "g6-standard-1", "g6-standard-2")
	e.nodePool(t, nodePoolSpec{types: []string{"g6-standard-2"}})
	e.apply(t, deployment(app, 1, ""))
	e.settled(t, app, 1)
	cheaper(t, e, app)
}

// driftedTemplate replaces nodes one at a time by Machines of the new MachineSet.
func driftedTemplate(t *testing.T, e *environment) {
	const plan = "g6-standard-2"
	e.machineDeployments(t, withoutSwap, plan)
	twoApart(t, e, nodePoolSpec{budget: "1", types: []string{plan}})
	rolled(t, e, func() {
		e.newTemplate(t, plan)
		e.lookedAt(t)
	})
}

// machineDeployment is the lane's of a plan.
func (e *environment) machineDeployment(plan string) *unstructured.Unstructured {
	deployment := &unstructured.Unstructured{}
	deployment.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	deployment.SetKind("MachineDeployment")
	deployment.SetNamespace(management.Namespace)
	deployment.SetName(e.lane + "-" + plan)
	return deployment
}

// newTemplate gives the lane's MachineDeployment of a plan another template.
func (e *environment) newTemplate(t *testing.T, plan string) {
	t.Helper()
	e.linodeTemplate(t, e.lane+"-next", plan)
	patch := fmt.Appendf(nil, `{"spec": {"template": {"spec": {"infrastructureRef": {"name": "%s-next"}}}}}`, e.lane)
	NewWithT(t).Expect(e.kube.Patch(t.Context(), e.machineDeployment(plan), client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// newestMachine removes the node of a new MachineSet while the node of an older one stays, whose Machine Cluster API would take if the
// count of the MachineDeployment were lowered.
func newestMachine(t *testing.T, e *environment) {
	const plan = "g6-standard-2"
	e.machineDeployments(t, withoutSwap, plan)
	e.nodePool(t, nodePoolSpec{budget: "0", types: []string{plan}})
	e.apply(t, deployment(drifting, 1, apart(drifting)))
	e.settled(t, drifting, 1)
	stays := e.onlyClaim(t, nil, launched)
	g, ctx := NewWithT(t), t.Context()
	e.annotate(t, &e.pods(ctx, g, drifting)[0], corev1.PodDeletionCost, "100")
	e.newTemplate(t, plan)
	e.scale(t, drifting, 2)
	e.settled(t, drifting, 2)
	since := e.now()
	e.scale(t, drifting, 1)
	for _, claim := range e.nodeClaims(ctx, g) {
		if claim.UID != stays.UID {
			g.Expect(e.kube.Delete(ctx, &claim)).To(Succeed())
			since.awaitGone(t, linodeID(t, &claim))
		}
	}
	e.matched(t, 1)
	if left := e.onlyClaim(t, nil, launched); left.UID != stays.UID || len(since.of(linodesim.InstanceGone)) != 1 {
		t.Errorf("NodeClaim %s is left, want %s; gone are %+v", left.Name, stays.Name, since.of(linodesim.InstanceGone))
	}
	g.Eventually(ctx, func(g Gomega) {
		found := e.machineDeployment(plan)
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
		g.Expect(found.GetAnnotations()).NotTo(HaveKey("cluster.x-k8s.io/paused"))
		replicas, _, _ := unstructured.NestedInt64(found.Object, "spec", "replicas")
		g.Expect(replicas).To(BeEquivalentTo(1))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// lookedAt makes core look for drift now, as it does when a NodeClaim's class changes, and every five minutes otherwise. It ends when core
// has found that each NodeClaim of now has drifted. Core may have replaced the first NodeClaim before it looks at the second one.
func (e *environment) lookedAt(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	class, looks, found := &v1alpha1.LinodeNodeClass{}, 0, map[types.UID]bool{}
	before := e.nodeClaims(t.Context(), g)
	g.Eventually(t.Context(), func(g Gomega) {
		looks++
		g.Expect(e.kube.Get(t.Context(), client.ObjectKey{Name: e.named("default")}, class)).To(Succeed())
		e.annotate(t, class, "example.com/looks", strconv.Itoa(looks))
		now := map[types.UID]bool{}
		for _, claim := range e.nodeClaims(t.Context(), g) {
			now[claim.UID] = true
			found[claim.UID] = found[claim.UID] || claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
		}
		for i := range before {
			g.Expect(found[before[i].UID] || !now[before[i].UID]).To(BeTrue(), "NodeClaim %s has not drifted", before[i].Name)
		}
	}).WithTimeout(patience).WithPolling(8 * interval).Should(Succeed())
}

func agedMachine(t *testing.T, e *environment) {
	e.machineDeployments(t, withoutSwap, "g6-standard-2")
	expiry(t, e)
}

func machineWithGPU(t *testing.T, e *environment) {
	e.machineDeployments(t, withoutSwap, "g2-gpu-rtx4000a1-s", "g6-standard-2")
	gpuPod(t, e)
}

// refusedMachine: the Machine that was refused goes, and the next NodeClaim is for the next type.
func refusedMachine(t *testing.T, e *environment) {
	const cheapest, next = "g6-standard-6", "g6-standard-8"
	e.machineDeployments(t, withoutSwap, cheapest, next)
	e.Sim.RefuseCapacity(linodesim.NoCapacity{Type: cheapest})
	t.Cleanup(e.Sim.RestoreCapacity)
	e.nodePool(t, nodePoolSpec{types: []string{cheapest, next}})
	since := e.now()
	e.apply(t, deployment("elsewhere", 1, ""))
	e.settled(t, "elsewhere", 1)
	e.matched(t, 1)
	g, ctx := NewWithT(t), t.Context()
	g.Expect(e.types(ctx, g)).To(Equal([]string{next}))
	if since.made() != 1 {
		t.Errorf("%d Linodes were made for one pod", since.made())
	}
}

// silentMachine: the boot fails, and when Karpenter gives the NodeClaim up, its Machine and Linode go, and another is tried.
func silentMachine(t *testing.T, e *environment) {
	e.machineDeployments(t, "exit 1", "g6-standard-2")
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, deployment("waiting", 1, ""))
	claim := e.onlyClaim(t, nil, launched)
	id := linodeID(t, claim)
	e.faulty(t, id)
	since := e.now()
	e.overdue(t, claim.Name)
	since.awaitGone(t, id)
	e.onlyClaim(t, claim, launched)
}

// leaderKilledAmongMachines kills the leader when at least a quarter of the Linodes are made, and at most half, while the provider tries
// the others again. The other replica finishes, with not a Machine more.
func leaderKilledAmongMachines(t *testing.T, e *environment) {
	leader, other := e.leaderAndOther(t)
	since := e.now()
	heal := e.afterClaims(inTheMiddle, linodesim.Rule{Answer: linodesim.Answer{Status: http.StatusInternalServerError}})
	e.crowd(t, "twenty", crowd)
	// The ten that pass may include one that the provider sent twice, so that fewer Linodes are made.
	NewWithT(t).Eventually(t.Context(), since.made).WithTimeout(patience).WithPolling(interval / 25).
		Should(BeNumerically(">=", inTheMiddle/2))
	leader.Kill()
	heal()
	e.takesOver(t, other)
	e.settled(t, "twenty", crowd)
	since.exactly(t, crowd)
	NewWithT(t).Expect(leader.Start(t.Context())).To(Succeed())
}
