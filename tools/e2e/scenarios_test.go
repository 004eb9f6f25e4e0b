package e2e_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

// scaleUpAndDown is the quickstart: five pods that do not fit get nodes, and the
// nodes go when the pods do (run checks that they are gone).
func scaleUpAndDown(t *testing.T, e *environment) {
	made := e.made()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, "nodepool.yaml")
	e.apply(t, "inflate.yaml")
	e.scale(t, "inflate", 5)
	e.settled(t, "inflate", 5)
	n := e.oneToOne(t)
	if n == 0 || e.made()-made != n {
		t.Errorf("%d instances were made for %d NodeClaims", e.made()-made, n)
	}
	e.scale(t, "inflate", 0)
}

// deletedNode deletes a Node with kubectl's means: it is drained, its Linode goes,
// and its pods get another one.
func deletedNode(t *testing.T, e *environment) {
	first := oneNode(t, e, "victim")
	g, ctx := NewWithT(t), t.Context()
	instance, since := instanceOf(t, e, first), e.now()
	g.Expect(e.kube.Delete(ctx, &first)).To(Succeed())
	since.awaitGone(t, instance)
	e.settled(t, "victim", 1)
	g.Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).To(HaveLen(1))
		g.Expect(nodes[0].UID).NotTo(Equal(first.UID))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.oneToOne(t)
}

// twoNodePools gives two NodePools that differ in labels and taints their own LKE
// pools, and each pod a node of the right one.
func twoNodePools(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	for _, team := range []string{"blue", "green"} {
		e.apply(t, nodePool(team, fmt.Sprintf(`
    metadata:
      labels: {team: %[1]s}
    spec:
      taints: [{key: team, value: %[1]s, effect: NoSchedule}]`, team), ""))
		e.apply(t, deployment(team, 2, fmt.Sprintf(`
      nodeSelector: {team: %[1]s}
      tolerations: [{key: team, operator: Equal, value: %[1]s, effect: NoSchedule}]`, team)))
	}
	poolsOf := map[string][]int{}
	for _, team := range []string{"blue", "green"} {
		e.settled(t, team, 2)
		g := NewWithT(t)
		for _, pod := range e.pods(t.Context(), g, team) {
			node := &corev1.Node{}
			g.Expect(e.kube.Get(t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
			g.Expect(node.Labels).To(HaveKeyWithValue("team", team))
			g.Expect(node.Labels).To(HaveKeyWithValue(karpv1.NodePoolLabelKey, e.named(team)))
			g.Expect(node.Spec.Taints).To(ContainElement(corev1.Taint{Key: "team", Value: team, Effect: corev1.TaintEffectNoSchedule}))
		}
	}
	for _, pool := range e.ourPools() {
		for _, team := range []string{"blue", "green"} {
			if slices.Contains(pool.Tags, "karpenter.sh/nodepool="+e.named(team)) {
				poolsOf[team] = append(poolsOf[team], pool.ID)
				if pool.Labels["team"] != team || !slices.Contains(pool.Taints, linodesim.Taint{Key: "team", Value: team, Effect: "NoSchedule"}) {
					t.Errorf("pool %d of NodePool %s has labels %v and taints %v", pool.ID, team, pool.Labels, pool.Taints)
				}
			}
		}
	}
	if len(poolsOf["blue"]) == 0 || len(poolsOf["green"]) == 0 || len(poolsOf["blue"])+len(poolsOf["green"]) != len(e.ourPools()) {
		t.Errorf("LKE pools of the NodePools are %v, of %d in all", poolsOf, len(e.ourPools()))
	}
	e.oneToOne(t)
}

// gpuPod requests a GPU and gets a plan that has one, where LKE offers it.
func gpuPod(t *testing.T, e *environment) {
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("gpu", "", ""))
	e.apply(t, deployment("cuda", 1, `
      containers:
        - name: cuda
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: "1"}, limits: {nvidia.com/gpu: "1"}}`))
	e.settled(t, "cuda", 1)
	g := NewWithT(t)
	nodes := e.karpenterNodes(t.Context(), g)
	g.Expect(nodes).To(HaveLen(1))
	g.Expect(nodes[0].Labels).To(HaveKeyWithValue(v1alpha1.LabelInstanceClass, v1alpha1.InstanceClassGPU))
	g.Expect(nodes[0].Labels).To(HaveKey(v1alpha1.LabelInstanceGPUName))
	g.Expect(nodes[0].Labels).To(HaveKeyWithValue(v1alpha1.LabelInstanceGPUCount, "1"))
	g.Expect(nodes[0].Labels[corev1.LabelInstanceTypeStable]).To(Or(HavePrefix("g1-gpu-"), HavePrefix("g2-gpu-")))
	e.oneToOne(t)
}

// impossiblePod needs an instance type that does not exist: nothing is made, and an
// event on the pod has the reason, and so has `explain`.
func impossiblePod(t *testing.T, e *environment) {
	made := e.made()
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePool("default", "", ""))
	e.nodePoolReady(t, "default")
	e.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: impossible, namespace: default, labels: {app: impossible}}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: g9-imaginary-64}
  containers: [{name: pause, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}]
`)
	e.event(t, "Pod", "impossible", "FailedScheduling", "g9-imaginary-64")
	e.explained(t, "pod", "default/impossible", "It waits, because no NodePool can make a node for it.", "NodePool default: ",
		"g9-imaginary-64")
	if left := e.remains(t.Context()); left != "" || e.made() != made {
		t.Errorf("%d instances were made, and there is %s", e.made()-made, left)
	}
}

// refusedNodeClasses are refused by the API server, which names the field, or are not
// Ready, have the reason in their conditions and in an event, and no node is made from them.
func refusedNodeClasses(t *testing.T, e *environment) {
	_, err := manifest.Apply(t.Context(), e.kube, []byte(`
apiVersion: karpenter.k8s.linode/v1alpha1
kind: LinodeNodeClass
metadata: {name: restricted}
spec: {tags: ["karpenter.sh/nodeclaim=mine"]}`))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("spec.tags[0]")))
	const name = "versioned"
	version, reason := "v1.33.6+lke7", v1alpha1.ReasonLKEK8sVersionUnsupported
	if e.tier == "enterprise" {
		version, reason = "v1.30.1+lke1", v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch
	}
	made := e.made()
	e.apply(t, strings.Replace(class("{lkeK8sVersion: "+version+"}"), "{name: default}", "{name: "+name+"}", 1))
	e.apply(t, nodePool(name, "\n    metadata: {labels: {class: "+name+"}}\n    spec:", name))
	e.apply(t, deployment(name, 1, "\n      nodeSelector: {class: "+name+"}"))
	g, ctx := NewWithT(t), t.Context()
	g.Eventually(ctx, func(g Gomega) {
		got := &v1alpha1.LinodeNodeClass{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named(name)}, got)).To(Succeed())
		g.Expect(got.StatusConditions().Get("Ready").IsFalse()).To(BeTrue())
		var said []string
		for _, condition := range got.Status.Conditions {
			said = append(said, condition.Reason+": "+condition.Message)
		}
		g.Expect(strings.Join(said, "\n")).To(And(ContainSubstring(reason), ContainSubstring(version)))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.event(t, "LinodeNodeClass", name, reason)
	for _, pod := range e.pods(ctx, g, name) {
		e.event(t, "Pod", pod.Name, "FailedScheduling")
	}
	if left := e.remains(t.Context()); left != "" || e.made() != made {
		t.Errorf("%d instances were made, and there is %s", e.made()-made, left)
	}
}

// killedInScaleUp kills the operator with SIGKILL while five of ten nodes are claimed
// and starts it again: ten instances, ten NodeClaims, nothing left over.
func killedInScaleUp(t *testing.T, e *environment) {
	const n = 10
	since := e.now()
	heal := e.afterClaims(n/2, linodesim.Rule{Delay: time.Minute}) // killed before they are carried out
	e.crowd(t, "ten", n)
	since.awaitClaimed(t, n/2)
	e.Operator.Kill()
	heal()
	NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	e.settled(t, "ten", n)
	since.exactly(t, n)
}

func instanceOf(t *testing.T, e *environment, node corev1.Node) int {
	t.Helper()
	for _, instance := range e.ourInstances() {
		if node.Spec.ProviderID == fmt.Sprintf("linode://%d", instance.ID) {
			return instance.ID
		}
	}
	t.Fatalf("node %s has provider ID %q, which is no instance of ours", node.Name, node.Spec.ProviderID)
	return 0
}

// nodePool is a NodePool over the class of the given name, or "default". Its
// template is given, down to the fields that all have in common. Its budget lets
// all empty nodes go at once; the default one goes node by node, 25 s each.
func nodePool(name, template, class string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s, budgets: [{nodes: "100%%"}]}
  limits: {cpu: "1000"}
  template:%s
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: %s}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`, name, cmp.Or(template, "\n    spec:"), cmp.Or(class, "default"))
}

// oneCPU fills a plan of one CPU together with LKE's own DaemonSets, which request 250m on each node; two such pods fill a plan of two
// CPUs.
const oneCPU = "750m"

// deployment returns a Deployment of pause containers of oneCPU each. more is the rest of the pod's spec; if it has containers, they
// replace the pause containers.
func deployment(name string, replicas int, more string) string {
	containers := requesting(oneCPU)
	if strings.Contains(more, "containers:") {
		containers = ""
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0%[3]s%[4]s
`, name, replicas, containers, more)
}
