package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

func TestUnclaimedStandard(t *testing.T)   { unclaimed(t, "standard") }
func TestUnclaimedEnterprise(t *testing.T) { unclaimed(t, "enterprise") }
func TestOutageStandard(t *testing.T)      { withoutOperator(t, "standard") }
func TestOutageEnterprise(t *testing.T)    { withoutOperator(t, "enterprise") }

// networkStart is a tenth of what a node's pod network takes, and what the operator has on a busy machine to keep pods off.
const networkStart = 3 * time.Second

// unclaimed is about nodes that no NodeClaim owns, and pods on them.
func unclaimed(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "unclaimed", tier, soonCollected(), func(o *localcluster.Options) { o.ReadyAfter = networkStart })
	e.together(t, unowned()...)
}

func unowned() []part {
	return []part{
		inLane("quiet", "nodes come and go without an error in the log", quietScaleUp, cleared),
		inLane("joins", "a node that joins while no NodeClaim takes it", joinsUnclaimed, cleared),
	}
}

// withoutOperator is about what happened to such nodes while there was no operator.
func withoutOperator(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "outage", tier, soonCollected())
	without := newOutage(t, e, "settled", "lost")
	e.together(t,
		without.part("settled", "pods that settled while there was no operator", settledPods),
		without.part("lost", "a node that lost its NodeClaim under running pods", lostNodeClaim),
	)
}

// TestSlowJoin has nodes that take 300 s to join, scaled to 30 s, which is three
// times core's longest batch window as it is at 300 s.
func TestSlowJoin(t *testing.T) {
	t.Parallel()
	e := start(t, "slow-join", "standard", nil, func(o *localcluster.Options) { o.Profile, o.TimeScale = "slow", 10 })
	e.scenario(t, "one NodeClaim for each node, with the setting off and on", slowJoin)
}

// TestReappliedTaints is LKE as it may be: it puts back what another client removes.
func TestReappliedTaints(t *testing.T) {
	t.Parallel()
	e := start(t, "reapplied", "standard", map[string]any{"settings": map[string]any{"lkeUnregisteredTaint": true}},
		func(o *localcluster.Options) { o.Behaviour = linodesim.Behaviour{ReapplyRemoved: true} })
	e.scenario(t, "a registration taint that comes back", reappliedTaint)
	e.scenario(t, "a startup taint does not come back", startupTaint)
}

// quietScaleUp is an ordinary day: nothing in it is an error.
func quietScaleUp(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.nodePoolReady(t, "default")
	e.apply(t, deployment("quiet", 4, apart("quiet")))
	e.settled(t, "quiet", 4)
	if n := e.oneToOne(t); n != 4 {
		t.Errorf("%d NodeClaims", n)
	}
}

// joinsUnclaimed lets a pool grow by a node that no NodeClaim claims, with a pod that
// would fit there and nowhere else: it never gets there, and the node goes.
func joinsUnclaimed(t *testing.T, e *environment) {
	first := oneNode(t, e, "first")
	e.apply(t, settlers(first))
	g, ctx := NewWithT(t), t.Context()
	var before []corev1.Pod
	g.Eventually(ctx, func(g Gomega) {
		before = e.pods(ctx, g, "settler")
		g.Expect(before).To(HaveLen(2))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Expect(e.Sim.EditPool(e.ClusterID, poolOf(t, first), linodesim.PoolEdit{Count: new(2)})).To(Succeed())
	var orphan corev1.Node
	g.Eventually(ctx, func(g Gomega) {
		orphan = e.otherNode(ctx, g, first)
		g.Expect(orphan.Spec.Taints).To(ContainElement(HaveField("Key", karpv1.UnregisteredTaintKey)))
		g.Expect(ready(orphan)).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval / 10).Should(Succeed())
	e.gone(t, orphan)
	// Pods that were never bound anywhere: had they been driven away, there would be others.
	after := e.pods(ctx, g, "settler")
	for _, pod := range after {
		g.Expect(pod.Spec.NodeName).To(BeEmpty(), "pod %s", pod.Name)
	}
	g.Expect(uids(after)).To(ConsistOf(uids(before)))
}

// settledPods does the same while the operator is down. Pods run on the node when
// it is back: they are evicted before the instance goes.
func settledPods(t *testing.T, e *environment, without *outage) {
	first := oneNode(t, e, "first")
	without.begin(e.lane)
	e.apply(t, settlers(first))
	g, ctx := NewWithT(t), t.Context()
	g.Expect(e.Sim.EditPool(e.ClusterID, poolOf(t, first), linodesim.PoolEdit{Count: new(2)})).To(Succeed())
	var settled []corev1.Pod
	g.Eventually(ctx, func(g Gomega) {
		settled = slices.DeleteFunc(e.pods(ctx, g, "settler"), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		g.Expect(settled).To(HaveLen(1))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	orphan := e.otherNode(ctx, g, first)
	g.Expect(orphan.Name).To(Equal(settled[0].Spec.NodeName))
	without.over(t, e.lane)
	e.gone(t, orphan)
	e.evicted(t, settled)
	e.event(t, "Node", orphan.Name, "DrainingUnclaimed")
}

// lostNodeClaim takes a NodeClaim away from its node and the node from the garbage
// collector's reach. Its pods are moved one by one, as their budget requires, and the
// instance goes after the last.
func lostNodeClaim(t *testing.T, e *environment, without *outage) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.apply(t, deployment("budgeted", 3, ""))
	e.settled(t, "budgeted", 3)
	e.apply(t, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budgeted, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: budgeted}}}
`)
	g, ctx := NewWithT(t), t.Context()
	pods, nodes := e.pods(ctx, g, "budgeted"), e.karpenterNodes(ctx, g)
	without.begin(e.lane)
	for _, claim := range e.nodeClaims(ctx, g) {
		g.Expect(e.kube.Delete(ctx, &claim, client.PropagationPolicy("Orphan"))).To(Succeed())
		patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "remove", "path": "/metadata/finalizers/`+
			strconv.Itoa(slices.Index(claim.Finalizers, karpv1.TerminationFinalizer))+`"}]`))
		g.Expect(client.IgnoreNotFound(e.kube.Patch(ctx, &claim, patch))).To(Succeed())
	}
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.nodeClaims(ctx, g)).To(BeEmpty())
		for _, node := range e.karpenterNodes(ctx, g) {
			g.Expect(node.OwnerReferences).To(BeEmpty())
			g.Expect(node.DeletionTimestamp).To(BeNil())
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	without.over(t, e.lane)
	for _, node := range nodes {
		e.gone(t, node)
		e.event(t, "Node", node.Name, "DrainingUnclaimed")
	}
	e.evicted(t, pods)
	e.settled(t, "budgeted", 3)
	e.oneToOne(t)
	g.Expect(e.kube.DeleteAllOf(ctx, &policyv1.PodDisruptionBudget{}, e.namespace())).To(Succeed())
}

// slowJoin counts NodeClaims and instances. Then the setting is switched on: new
// nodes join with the taint, and the old ones do not drift.
func slowJoin(t *testing.T, e *environment) {
	const n = 5
	made := e.made()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.nodePoolReady(t, "default")
	e.apply(t, deployment("slow", n, apart("slow")))
	e.settled(t, "slow", n)
	created := e.metric(t, "karpenter_nodeclaims_created_total")
	if got := e.oneToOne(t); got != n || e.made()-made != n || created != n {
		t.Errorf("%d NodeClaims are left of %v, and %d instances were made, for %d pods", got, created, e.made()-made, n)
	}

	g, ctx := NewWithT(t), t.Context()
	before := e.nodeClaims(ctx, g)
	old := e.ourPools()
	g.Expect(e.Upgrade(ctx, map[string]any{"settings": map[string]any{"lkeUnregisteredTaint": true}})).To(Succeed())
	e.Operator.Kill() // controller-runtime logs an error when it is stopped otherwise: "leader election lost"
	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	e.apply(t, deployment("tainted", 2, apart("tainted")))
	e.settled(t, "tainted", 2)
	for _, pool := range e.ourPools() {
		isNew := !slices.ContainsFunc(old, func(p linodesim.Pool) bool { return p.ID == pool.ID })
		has := slices.ContainsFunc(pool.Taints, func(taint linodesim.Taint) bool { return taint.Key == karpv1.UnregisteredTaintKey })
		if isNew != has {
			t.Errorf("pool %d (new: %t) has the taints %v", pool.ID, isNew, pool.Taints)
		}
	}
	after := e.nodeClaims(ctx, g)
	for _, claim := range before {
		at := slices.IndexFunc(after, func(c karpv1.NodeClaim) bool { return c.UID == claim.UID })
		if at < 0 || after[at].StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue() {
			t.Errorf("NodeClaim %s was replaced, or is to be", claim.Name)
		}
	}
	e.oneToOne(t)
}

// reappliedTaint: the operator does not fight. It stops making pools with the taint
// and replaces the node whose taint is back.
func reappliedTaint(t *testing.T, e *environment) {
	made := e.made()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.apply(t, deployment("reapplied", 1, ""))
	e.settled(t, "reapplied", 1)
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func(g Gomega) {
		pools := e.ourPools()
		g.Expect(pools).To(HaveLen(1))
		g.Expect(pools[0].Taints).To(BeEmpty())
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].Spec.Taints).To(BeEmpty())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.settled(t, "reapplied", 1)
	if said := e.messages(t, "Node", "", "UnregisteredTaintReturned"); len(said) == 0 {
		t.Error("no event says that the taint came back")
	}
	if got := e.made() - made; got > 3 {
		t.Errorf("%d instances were made for one pod", got)
	}
}

// startupTaint: a startup taint that a controller removed when the node was ready
// stays off, although LKE restores the taints of the pool.
func startupTaint(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", `
    metadata:
      labels: {team: blue}
    spec:
      startupTaints: [{key: example.com/starting, effect: NoSchedule}]`, ""))
	e.apply(t, deployment("starting", 1, ""))
	g, ctx := NewWithT(t), t.Context()
	edit := func(change func(node *corev1.Node)) {
		t.Helper()
		g.Eventually(ctx, func(g Gomega) {
			nodes := e.karpenterNodes(ctx, g)
			g.Expect(nodes).To(HaveLen(1))
			g.Expect(nodes[0].Labels).To(HaveKey(karpv1.NodeRegisteredLabelKey))
			change(&nodes[0])
			g.Expect(e.kube.Update(ctx, &nodes[0])).To(Succeed())
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	}
	removed := 0
	edit(func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			if taint.Key == "example.com/starting" {
				removed++
				return true
			}
			return false
		})
	})
	g.Expect(removed).To(BeNumerically(">", 0))
	e.settled(t, "starting", 1)
	edit(func(node *corev1.Node) { delete(node.Labels, "team") })
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].Labels).To(HaveKeyWithValue("team", "blue"), "LKE restores what the pool says")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Expect(e.karpenterNodes(ctx, g)[0].Spec.Taints).To(BeEmpty())
	e.settled(t, "starting", 1)
}

// oneNode makes a node that a pod of one CPU fills, and returns it.
func oneNode(t *testing.T, e *environment, app string) corev1.Node {
	t.Helper()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.apply(t, deployment(app, 1, ""))
	e.settled(t, app, 1)
	g := NewWithT(t)
	nodes := e.karpenterNodes(t.Context(), g)
	g.Expect(nodes).To(HaveLen(1))
	return nodes[0]
}

// settlers fit on nodes of the same LKE pool that run no other settler and not the first pod. Karpenter makes no node for them: it cannot
// promise such a label.
func settlers(node corev1.Node) string {
	return deployment("settler", 2, fmt.Sprintf(`
      nodeSelector: {lke.linode.com/pool-id: %q}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchExpressions: [{key: app, operator: In, values: [settler, first]}]}`, node.Labels["lke.linode.com/pool-id"]))
}

func poolOf(t *testing.T, node corev1.Node) int {
	t.Helper()
	id, err := strconv.Atoi(node.Labels["lke.linode.com/pool-id"])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func uids(pods []corev1.Pod) []types.UID {
	var all []types.UID
	for _, pod := range pods {
		all = append(all, pod.UID)
	}
	return all
}

func ready(node corev1.Node) bool {
	return nodeutils.GetCondition(&node, corev1.NodeReady).Status == corev1.ConditionTrue
}

// otherNode returns the node that is neither the given node nor the user's.
func (e *environment) otherNode(ctx context.Context, g Gomega, first corev1.Node) corev1.Node {
	list := &corev1.NodeList{}
	g.Expect(e.kube.List(ctx, list, e.mine())).To(Succeed())
	others := slices.DeleteFunc(list.Items, func(n corev1.Node) bool { return n.Name == first.Name || e.isTheirs(n) })
	g.Expect(others).To(HaveLen(1))
	return others[0]
}

// gone waits until a node's instance is gone, and sees to it that no pod is on the
// node by then. Pods are read after instances: a pod that is left then was killed.
func (e *environment) gone(t *testing.T, node corev1.Node) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func() bool {
		exists := slices.ContainsFunc(e.ourInstances(), func(i linodesim.Instance) bool { return i.Label == node.Name })
		pods := &corev1.PodList{}
		g.Expect(e.kube.List(ctx, pods, e.namespace(), client.MatchingFields{"spec.nodeName": node.Name})).To(Succeed())
		if !exists && len(pods.Items) > 0 {
			t.Errorf("the instance of %s went under %d pods", node.Name, len(pods.Items))
		}
		return exists
	}).WithTimeout(patience).WithPolling(interval).Should(BeFalse(), "the instance of %s goes", node.Name)
}

// evicted checks that each pod left through the Eviction API, and
// none because of a taint or because its node had gone.
func (e *environment) evicted(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		e.event(t, "Pod", pod.Name, "Evicted", "no NodeClaim owns its node")
		said := append(e.messages(t, "Pod", pod.Name, "TaintManagerEviction"), e.messages(t, "Pod", pod.Name, "DeletingPod")...)
		// A pod that is bound in the moment in which its node becomes ready is to be deleted in five minutes, and a moment later is not.
		killed := slices.DeleteFunc(said, func(message string) bool { return strings.Contains(message, "Cancelling deletion") })
		if len(killed) != 0 {
			t.Errorf("pod %s was killed: %q", pod.Name, killed)
		}
	}
}

// messages returns the messages of events with a reason on objects of a kind, of one
// or all.
func (e *environment) messages(t *testing.T, kind, name, reason string) []string {
	t.Helper()
	list := &corev1.EventList{}
	if err := e.kube.List(t.Context(), list, eventsOn(kind, name)); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, event := range list.Items {
		if event.Reason == reason {
			found = append(found, event.InvolvedObject.Name+": "+event.Message)
		}
	}
	return found
}
