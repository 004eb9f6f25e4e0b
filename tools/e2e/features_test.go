package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func TestFeaturesStandard(t *testing.T)   { features(t, "standard") }
func TestFeaturesEnterprise(t *testing.T) { features(t, "enterprise") }

// features covers Karpenter's feature gates beyond pods and NodePools.
func features(t *testing.T, tier string) {
	t.Parallel()
	e := start(t, "features", tier, map[string]any{"settings": map[string]any{
		"featureGates": map[string]any{"nodeOverlay": true, "staticCapacity": true},
	}})
	e.scenario(t, "a NodeOverlay decides what is bought, and the node teaches its capacity", overlaidPrice)
	e.run(t, "a static NodePool has as many nodes as it says", staticCapacity)
	e.scenario(t, "a static NodePool without capacity keeps no pod waiting", staticWithoutCapacity)
	e.scenario(t, "minValues and capacity types that Linode has not", choosyNodePools)
}

// onTwoNodes keeps two pods on two nodes of the NodePool.
const onTwoNodes = `
      nodeSelector: {karpenter.sh/nodepool: overlaid}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: thrifty}}}`

// overlaidPrice makes a dear plan the cheapest by a NodeOverlay. The node that joins shows what it has, which the
// operator remembers in the chart's ConfigMap.
func overlaidPrice(t *testing.T, e *environment) {
	const dear = "g6-dedicated-4"
	g, ctx := NewWithT(t), t.Context()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("overlaid", "", ""))
	e.apply(t, fmt.Sprintf(`
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: contract}
spec:
  requirements:
    - {key: karpenter.sh/nodepool, operator: In, values: [overlaid]}
    - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}
  price: "0.001"
`, dear))
	contract := &karpv1alpha1.NodeOverlay{}
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "contract"}, contract)).To(Succeed())
		g.Expect(contract.StatusConditions().Root().IsTrue()).To(BeTrue())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.apply(t, deployment("thrifty", 2, onTwoNodes)) // two nodes: one alone counts for nothing
	e.settled(t, "thrifty", 2)
	nodes := e.karpenterNodes(ctx, g)
	g.Expect(nodes).To(HaveLen(2))
	g.Expect(nodes[0].Labels).To(HaveKeyWithValue(corev1.LabelInstanceTypeStable, dear))
	e.oneToOne(t)

	shown := nodes[0].Status.Capacity
	g.Eventually(ctx, func(g Gomega) {
		learned, figures := &corev1.ConfigMap{}, corev1.ResourceList{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "karpenter-learned-capacity"}, learned)).To(Succeed())
		g.Expect(json.Unmarshal([]byte(learned.Data[dear]), &figures)).To(Succeed())
		g.Expect(figures.Memory().Value()).To(Equal(shown.Memory().Value()))
		g.Expect(figures.StorageEphemeral().Value()).To(Equal(shown.StorageEphemeral().Value()))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	g.Expect(e.kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("default"))).To(Succeed())
	e.settled(t, "thrifty", 2)
	// Learned figures do not change existing nodes.
	g.Expect(e.karpenterNodes(ctx, g)).To(ConsistOf(HaveField("UID", nodes[0].UID), HaveField("UID", nodes[1].UID)))
	t.Cleanup(func() { _ = client.IgnoreNotFound(e.kube.Delete(t.Context(), contract)) })
}

// staticCapacity makes two nodes without pending pods, replaces one that is deleted, and lets them go with their
// NodePool.
// staticNodePool is a NodePool of two nodes of a plan.
func staticNodePool(plan string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: static}
spec:
  replicas: 2
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}
`, plan)
}

func staticCapacity(t *testing.T, e *environment) {
	g, ctx, made := NewWithT(t), t.Context(), e.made()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, staticNodePool("g6-standard-2"))
	two := func() []karpv1.NodeClaim {
		var claims []karpv1.NodeClaim
		g.Eventually(ctx, func(g Gomega) {
			claims = e.nodeClaims(ctx, g)
			g.Expect(claims).To(HaveLen(2))
			for _, claim := range claims {
				g.Expect(claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()).To(BeTrue())
			}
			g.Expect(e.ourInstances()).To(HaveLen(2))
		}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
		return claims
	}
	claims := two()
	e.oneToOne(t)
	if n := e.made() - made; n != 2 {
		t.Errorf("%d instances were made for 2 replicas", n)
	}
	g.Expect(e.kube.Delete(ctx, &claims[0])).To(Succeed())
	g.Eventually(ctx, func() error {
		return e.kube.Get(ctx, client.ObjectKeyFromObject(&claims[0]), &karpv1.NodeClaim{})
	}).WithTimeout(patience).WithPolling(interval).ShouldNot(Succeed())
	two()
	e.oneToOne(t)
	if n := e.made() - made; n != 3 {
		t.Errorf("%d instances were made for 2 replicas and one that was deleted", n)
	}
	pool := &karpv1.NodePool{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "static"}, pool)).To(Succeed())
	g.Expect(e.kube.Delete(ctx, pool)).To(Succeed())
}

// staticWithoutCapacity: a static NodePool for whose nodes there is no capacity keeps no pod of another NodePool from its node. Karpenter
// plans nothing while a NodeClaim waits for its instance.
func staticWithoutCapacity(t *testing.T, e *environment) {
	const refused = "g6-dedicated-4"
	e.Sim.RefuseCapacity(linodesim.NoCapacity{Type: refused})
	t.Cleanup(e.Sim.RestoreCapacity)
	e.nodePool(t, nodePoolSpec{})
	e.apply(t, staticNodePool("g6-dedicated-4"))
	e.event(t, "NodePool", "static", "InsufficientCapacity", refused)
	e.apply(t, deployment("ordinary", 1, ""))
	e.settled(t, "ordinary", 1)
	g, ctx, pool := NewWithT(t), t.Context(), &karpv1.NodePool{}
	for _, instance := range e.ourInstances() {
		g.Expect(instance.Type).NotTo(Equal(refused))
	}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: "static"}, pool)).To(Succeed())
	g.Expect(e.kube.Delete(ctx, pool)).To(Succeed())
}

// choosyNodePools require a choice of instance types, or capacity that does not exist: the one whose requirements can be met
// gets its node, events explain why the others get none, and nothing is made for them.
func choosyNodePools(t *testing.T, e *environment) {
	made := e.made()
	e.apply(t, "linodenodeclass.yaml")
	tastes := map[string]string{
		"modest": `{key: node.kubernetes.io/instance-type, operator: In, values: [g6-standard-1, g6-standard-2, g6-dedicated-2], minValues: 3}`,
		"picky":  `{key: karpenter.k8s.linode/instance-class, operator: Exists, minValues: 20}`,
		"spot":   `{key: karpenter.sh/capacity-type, operator: In, values: [spot]}`,
	}
	for name, requirement := range tastes {
		e.apply(t, fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s}
  template:
    metadata: {labels: {taste: %[1]s}}
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements:
        - %[2]s
`, name, requirement))
	}
	// While no NodePool has an instance type, core's event on a pod names no requirement, and there is one event a pod in five minutes.
	e.nodePoolReady(t, "modest")
	for name := range tastes {
		e.apply(t, deployment(name, 1, fmt.Sprintf(`
      nodeSelector: {taste: %s}`, name)))
	}
	e.settled(t, "modest", 1)
	g, ctx := NewWithT(t), t.Context()
	for name, words := range map[string][]string{
		"picky": {"NoCompatibleInstanceTypes", "minValues"},
		"spot":  {"NoCompatibleInstanceTypes", "on-demand", "spot"},
	} {
		e.event(t, "NodePool", name, words...)
		pods := e.pods(ctx, g, name)
		g.Expect(pods).To(HaveLen(1))
		e.event(t, "Pod", pods[0].Name, "FailedScheduling", "taste")
	}
	if n := e.oneToOne(t); n != 1 || e.made()-made != 1 {
		t.Errorf("%d NodeClaims, %d instances made", n, e.made()-made)
	}
}
