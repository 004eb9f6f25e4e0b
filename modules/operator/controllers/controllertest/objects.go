package controllertest

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

var objects int // counts the objects, for unique names

// NewNode creates a Node. Its labels name no pool unless change sets such a label.
func NewNode(ctx context.Context, change func(*corev1.Node)) *corev1.Node {
	ginkgo.GinkgoHelper()
	objects++
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lke1-2-%d", objects), Labels: map[string]string{}}}
	node.Spec.ProviderID = fmt.Sprintf("linode://%d", 1000+objects)
	if change != nil {
		change(node)
	}
	gomega.Expect(Kube.Create(ctx, node)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) {
		left := &corev1.Node{}
		if Kube.Get(ctx, client.ObjectKeyFromObject(node), left) == nil {
			left.Finalizers = nil
			gomega.Expect(Kube.Update(ctx, left)).To(gomega.Succeed())
			gomega.Expect(client.IgnoreNotFound(Kube.Delete(ctx, left))).To(gomega.Succeed())
		}
	})
	return node
}

// NewPod creates a running pod on a Node, and waits until the cache has it.
func NewPod(ctx context.Context, node *corev1.Node, change func(*corev1.Pod)) *corev1.Pod {
	ginkgo.GinkgoHelper()
	objects++
	none := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", objects), Namespace: "default", Labels: map[string]string{"on": node.Name}},
		Spec: corev1.PodSpec{NodeName: node.Name, TerminationGracePeriodSeconds: &none,
			Containers: []corev1.Container{{Name: "pause", Image: "pause"}}},
	}
	if change != nil {
		change(pod)
	}
	gomega.Expect(Kube.Create(ctx, pod)).To(gomega.Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	gomega.Expect(Kube.Status().Update(ctx, pod)).To(gomega.Succeed())
	gomega.Eventually(func() (corev1.PodPhase, error) {
		seen := &corev1.Pod{}
		err := Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(pod), seen)
		return seen.Status.Phase, err
	}).Should(gomega.Equal(corev1.PodRunning))
	ginkgo.DeferCleanup(func(ctx context.Context) {
		gomega.Expect(client.IgnoreNotFound(Kube.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(gomega.Succeed())
	})
	return pod
}

// NewClaim creates a NodeClaim with the provider ID of the Node, and waits until the cache has the provider ID.
func NewClaim(ctx context.Context, node *corev1.Node, change ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	ginkgo.GinkgoHelper()
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-of-" + node.Name}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
	}}
	for _, f := range change {
		f(claim)
	}
	gomega.Expect(Kube.Create(ctx, claim)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) {
		gomega.Expect(client.IgnoreNotFound(Kube.Delete(ctx, claim))).To(gomega.Succeed())
	})
	claim.Status.ProviderID = node.Spec.ProviderID
	gomega.Expect(Kube.Status().Update(ctx, claim)).To(gomega.Succeed())
	gomega.Eventually(func() (string, error) {
		seen := &karpv1.NodeClaim{}
		err := Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), seen)
		return seen.Status.ProviderID, err
	}).Should(gomega.Equal(node.Spec.ProviderID))
	return claim
}

// Budget creates a PodDisruptionBudget that allows so many evictions of a Node's pods. It sets the status itself, because no disruption
// controller runs.
func Budget(ctx context.Context, node *corev1.Node, allowed int32) *policyv1.PodDisruptionBudget {
	ginkgo.GinkgoHelper()
	all := intstr.FromInt32(0)
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "of-" + node.Name, Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &all,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"on": node.Name}}}}
	gomega.Expect(Kube.Create(ctx, pdb)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func(ctx context.Context) { gomega.Expect(Kube.Delete(ctx, pdb)).To(gomega.Succeed()) })
	Allow(ctx, pdb, allowed)
	return pdb
}

// Allow changes how many evictions a PodDisruptionBudget allows.
func Allow(ctx context.Context, pdb *policyv1.PodDisruptionBudget, allowed int32) {
	ginkgo.GinkgoHelper()
	pdb.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ObservedGeneration: pdb.Generation, ExpectedPods: 2,
		CurrentHealthy: 2, DesiredHealthy: 2}
	gomega.Expect(Kube.Status().Update(ctx, pdb)).To(gomega.Succeed())
}

// Exists returns whether an object exists and is not being deleted.
func Exists(ctx context.Context, o client.Object) bool {
	ginkgo.GinkgoHelper()
	err := Kube.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil {
		gomega.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "%v", err)
	}
	return err == nil && o.GetDeletionTimestamp().IsZero()
}

// TaintsOf returns a Node's taints as key:effect.
func TaintsOf(ctx context.Context, node *corev1.Node) []string {
	ginkgo.GinkgoHelper()
	seen := &corev1.Node{}
	gomega.Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(gomega.Succeed())
	var taints []string
	for _, taint := range seen.Spec.Taints {
		if taint.Key != corev1.TaintNodeNotReady { // the API server puts this taint on every new Node
			taints = append(taints, taint.Key+":"+string(taint.Effect))
		}
	}
	return taints
}
