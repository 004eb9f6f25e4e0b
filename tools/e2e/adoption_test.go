package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

func TestAdoptionStandard(t *testing.T)   { adoption(t, "standard") }
func TestAdoptionEnterprise(t *testing.T) { adoption(t, "enterprise") }

// adoption starts the operator on what the alpha provider leaves: a pool, its nodes with pods on them, and NodeClaims.
func adoption(t *testing.T, tier string) {
	t.Parallel()
	values := map[string]any{"settings": map[string]any{"adoptAlpha": true}}
	e := start(t, "adoption", tier, values, func(o *localcluster.Options) { o.NoOperator = true })
	e.scenario(t, "nodes of the alpha provider are taken over with their pods", adopted)
}

const adoptee = "adoptee"

func adopted(t *testing.T, e *environment) {
	ctx, g := t.Context(), NewWithT(t)
	e.apply(t, "linodenodeclass.yaml")
	e.apply(t, nodePoolSpec{types: []string{"g6-standard-2"}, labels: "{team: a}"}.yaml())
	pool := e.alphaPool(t, 2)
	e.apply(t, deployment(adoptee, 2, "\n      nodeSelector: {team: a}"+apart(adoptee)))
	g.Eventually(ctx, func(g Gomega) {
		for _, pod := range e.pods(ctx, g, adoptee) {
			g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
		}
		g.Expect(e.pods(ctx, g, adoptee)).To(HaveLen(2))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	before, since := uids(e.pods(ctx, g, adoptee)), e.now()

	g.Expect(e.Operator.Start(ctx)).To(Succeed())
	for _, claim := range e.nodeClaims(ctx, g) {
		e.event(t, "NodeClaim", claim.Name, "Adopted: ", fmt.Sprint(pool), "took over")
	}
	// Longer than the operator's looks for drift, orphans and things to consolidate take.
	const quiet = 40 * time.Second
	g.Consistently(ctx, func(g Gomega) {
		g.Expect(uids(e.pods(ctx, g, adoptee))).To(ConsistOf(before), "the pods are the same")
		g.Expect(since.made()).To(BeZero(), "instances made")
	}).WithTimeout(quiet).WithPolling(time.Second).Should(Succeed())
	e.matched(t, 2)
	adoptedPool := e.ourPools()[slices.IndexFunc(e.ourPools(), func(p linodesim.Pool) bool { return p.ID == pool })]
	g.Expect(adoptedPool.Tags).To(ContainElement(HavePrefix("karpenter.k8s.linode/pool-key=")))
	g.Expect(adoptedPool.Taints).To(BeEmpty(), "startup taints are not the pool's")

	// From here on they are nodes like any other: a deleted node is replaced, and its Linode is removed.
	claim := e.nodeClaims(ctx, g)[0]
	g.Expect(e.kube.Delete(ctx, &claim)).To(Succeed())
	g.Eventually(ctx, func() bool {
		return slices.ContainsFunc(e.ourInstances(),
			func(i linodesim.Instance) bool { return fmt.Sprintf("linode://%d", i.ID) == claim.Status.ProviderID })
	}).WithTimeout(patience).WithPolling(interval).Should(BeFalse(), "the deleted NodeClaim's instance is gone")
	g.Eventually(ctx, func(g Gomega) {
		g.Expect(e.nodeClaims(ctx,
			g)).To(HaveLen(2))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	e.matched(t, 2)
	e.settled(t, adoptee, 2)
}

// alphaPool makes a pool as the alpha provider does, with tags of its older form and startup taints, waits for its nodes
// and makes their NodeClaims. It returns the pool's ID.
func (e *environment) alphaPool(t *testing.T, nodes int) int {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	tags := []string{"karpenter.k8s.linode/lke-managed:true", "karpenter.sh/nodepool:default", "karpenter.k8s.linode/linodenodeclass:default",
		"lke-cluster-name:" + e.Name}
	for i, tag := range tags {
		tags[i] = tag[:min(len(tag), 50)]
	}
	made, err := e.Sim.AddPool(e.ClusterID, linodesim.PoolSpec{
		Type: "g6-standard-2", Count: nodes, Tags: tags, Taints: []linodesim.Taint{{Key: "starting", Value: "x", Effect: "NoSchedule"}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(ctx, func(g Gomega) {
		list := &corev1.NodeList{}
		g.Expect(e.kube.List(ctx, list, client.MatchingLabels{"lke.linode.com/pool-id": fmt.Sprint(made.ID)})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(nodes))
		for _, node := range list.Items {
			g.Expect(node.Spec.ProviderID).NotTo(BeEmpty())
			g.Expect(ready(node)).To(BeTrue())
			// Nodes of Standard get it after they have joined: one that was looked for too early would come afterwards, and stay.
			g.Expect(node.Spec.Taints).To(ContainElement(HaveField("Key", "starting")))
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	for _, instance := range e.ourInstances() {
		name := "alpha-" + strings.ReplaceAll(instance.Label[len(instance.Label)-6:], "-", "")
		g.Expect(e.Sim.EditInstanceTags(instance.ID,
			append(append(slices.Clone(instance.Tags), tags...), "karpenter.sh/nodeclaim:"+name))).To(Succeed())
		e.alphaNodeClaim(t, name, instance)
	}
	return made.ID
}

// alphaNodeClaim makes the NodeClaim of a node that has joined and was initialized.
func (e *environment) alphaNodeClaim(t *testing.T, name string, instance linodesim.Instance) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	node := &corev1.Node{}
	g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: instance.Label}, node)).To(Succeed())
	labels := map[string]string{
		karpv1.NodePoolLabelKey: "default", karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand,
		corev1.LabelInstanceTypeStable: instance.Type,
		corev1.LabelTopologyRegion:     instance.Region, corev1.LabelTopologyZone: instance.Region, corev1.LabelArchStable: "amd64",
		corev1.LabelOSStable:    "linux",
		v1alpha1.LabelNodeClass: "default", "team": "a",
	}
	starting := corev1.Taint{Key: "starting", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Finalizers: []string{karpv1.TerminationFinalizer},
			Annotations: map[string]string{
				v1alpha1.AnnotationHash: "1234567890", v1alpha1.AnnotationHashVersion: "v1",
			}},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef:  &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"},
			StartupTaints: []corev1.Taint{starting},
			Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{instance.Type}},
			},
		},
	}
	g.Expect(e.account(t).Create(ctx, claim)).To(Succeed())
	claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, node.Name
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.StatusConditions().SetTrue(condition)
	}
	g.Expect(e.account(t).Status().Update(ctx, claim)).To(Succeed())

	patch := client.MergeFrom(node.DeepCopy())
	for key, value := range labels {
		node.Labels[key] = value
	}
	node.Labels[karpv1.NodeRegisteredLabelKey], node.Labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	node.Finalizers = append(node.Finalizers, karpv1.TerminationFinalizer)
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == starting.Key })
	g.Expect(e.kube.Patch(ctx, node, patch)).To(Succeed())
}
