package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
)

var objects int // a number for names

// newNode creates a Node. Its labels do not name a pool unless the test does.
func newNode(ctx context.Context, change func(*corev1.Node)) *corev1.Node {
	GinkgoHelper()
	objects++
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lke1-2-%d", objects), Labels: map[string]string{}}}
	node.Spec.ProviderID = fmt.Sprintf("linode://%d", 1000+objects)
	if change != nil {
		change(node)
	}
	Expect(kube.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		left := &corev1.Node{}
		if kube.Get(ctx, client.ObjectKeyFromObject(node), left) == nil {
			left.Finalizers = nil
			Expect(kube.Update(ctx, left)).To(Succeed())
			Expect(client.IgnoreNotFound(kube.Delete(ctx, left))).To(Succeed())
		}
	})
	return node
}

// newPod creates a running pod on a Node, and waits until the cache has it.
func newPod(ctx context.Context, node *corev1.Node, change func(*corev1.Pod)) *corev1.Pod {
	GinkgoHelper()
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
	Expect(kube.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(kube.Status().Update(ctx, pod)).To(Succeed())
	Eventually(func() (corev1.PodPhase, error) {
		seen := &corev1.Pod{}
		err := mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(pod), seen)
		return seen.Status.Phase, err
	}).Should(Equal(corev1.PodRunning))
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	})
	return pod
}

// newClaim creates a NodeClaim that has the Node, and waits until the cache has it.
func newClaim(ctx context.Context, node *corev1.Node) *karpv1.NodeClaim {
	GinkgoHelper()
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-of-" + node.Name}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
	}}
	Expect(kube.Create(ctx, claim)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, claim))).To(Succeed()) })
	claim.Status.ProviderID = node.Spec.ProviderID
	Expect(kube.Status().Update(ctx, claim)).To(Succeed())
	Eventually(func() (string, error) {
		seen := &karpv1.NodeClaim{}
		err := mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), seen)
		return seen.Status.ProviderID, err
	}).Should(Equal(node.Spec.ProviderID))
	return claim
}

// budget lets so many of a Node's pods be evicted. Its status is the disruption controller's, which is not here.
func budget(ctx context.Context, node *corev1.Node, allowed int32) *policyv1.PodDisruptionBudget {
	GinkgoHelper()
	all := intstr.FromInt32(0)
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "of-" + node.Name, Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &all, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"on": node.Name}}}}
	Expect(kube.Create(ctx, pdb)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, pdb)).To(Succeed()) })
	allow(ctx, pdb, allowed)
	return pdb
}

func allow(ctx context.Context, pdb *policyv1.PodDisruptionBudget, allowed int32) {
	GinkgoHelper()
	pdb.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ObservedGeneration: pdb.Generation, ExpectedPods: 2, CurrentHealthy: 2, DesiredHealthy: 2}
	Expect(kube.Status().Update(ctx, pdb)).To(Succeed())
}

func exists(ctx context.Context, o client.Object) bool {
	GinkgoHelper()
	err := kube.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil {
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	}
	return err == nil && o.GetDeletionTimestamp().IsZero()
}

func taintsOf(ctx context.Context, node *corev1.Node) []string {
	GinkgoHelper()
	seen := &corev1.Node{}
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
	var taints []string
	for _, taint := range seen.Spec.Taints {
		if taint.Key != corev1.TaintNodeNotReady { // the API server's own, for every new Node
			taints = append(taints, taint.Key+":"+string(taint.Effect))
		}
	}
	return taints
}

const (
	disrupted    = karpv1.DisruptedTaintKey + ":NoSchedule"
	unregistered = karpv1.UnregisteredTaintKey + ":NoExecute"
)

var _ = Describe("Draining", func() {
	var drainer *drain.Drainer
	BeforeEach(func() {
		drainer = drain.New(mgr.GetClient(), mgr.GetAPIReader(), recorded, drain.Config{Settle: time.Nanosecond})
	})
	vacate := func(ctx context.Context, node *corev1.Node) bool {
		GinkgoHelper()
		seen := &corev1.Node{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		vacant, err := drainer.Vacate(ctx, seen, 0)
		Expect(err).NotTo(HaveOccurred())
		return vacant
	}
	vacant := func(ctx context.Context, node *corev1.Node) {
		GinkgoHelper()
		Eventually(func() bool { return vacate(ctx, node) }).Should(BeTrue())
	}

	It("keeps new pods off before it says that a Node is empty", func(ctx context.Context) {
		node := newNode(ctx, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(taintsOf(ctx, node)).To(ConsistOf(disrupted))
		vacant(ctx, node)
	})
	It("waits until the scheduler has seen the taint", func(ctx context.Context) {
		drainer = drain.New(mgr.GetClient(), mgr.GetAPIReader(), recorded, drain.Config{Settle: time.Hour})
		node := newNode(ctx, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Consistently(func() bool { return vacate(ctx, node) }).Should(BeFalse())
	})
	It("asks pods to leave, those that core would ask", func(ctx context.Context) {
		node := newNode(ctx, func(n *corev1.Node) { n.Labels[karpv1.NodeRegisteredLabelKey] = "true" })
		plain := newPod(ctx, node, nil)
		critical := newPod(ctx, node, func(p *corev1.Pod) { p.Namespace, p.Spec.PriorityClassName = "kube-system", "system-cluster-critical" })
		daemon := newPod(ctx, node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "u"}}
		})
		tolerant := newPod(ctx, node, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} })
		finished := newPod(ctx, node, nil)
		finished.Status.Phase = corev1.PodSucceeded
		Expect(kube.Status().Update(ctx, finished)).To(Succeed())

		Expect(vacate(ctx, node)).To(BeFalse(), "tainted first")
		Expect(exists(ctx, plain)).To(BeTrue())
		vacate(ctx, node)
		Expect(exists(ctx, plain)).To(BeFalse())
		Expect(exists(ctx, critical)).To(BeTrue(), "a critical pod left before another")
		Expect(exists(ctx, daemon)).To(BeTrue(), "a DaemonSet's pod left before another")
		vacant(ctx, node)
		Expect(exists(ctx, critical)).To(BeFalse())
		Expect(exists(ctx, daemon)).To(BeFalse())
		Expect(exists(ctx, tolerant)).To(BeTrue())
		Expect(exists(ctx, finished)).To(BeTrue())
		Expect(recorded.of(plain.Name)).To(ConsistOf(ContainSubstring("Evicted: Evicted pod: no NodeClaim owns its node")))
		Expect(recorded.of(node.Name)).To(ConsistOf(ContainSubstring("DrainingUnclaimed")))
		seen := &corev1.Node{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		Expect(seen.Labels).To(HaveKey(corev1.LabelNodeExcludeBalancers))
	})
	It("keeps to PodDisruptionBudgets, and says so once", func(ctx context.Context) {
		node := newNode(ctx, nil)
		pods := []*corev1.Pod{newPod(ctx, node, nil), newPod(ctx, node, nil)}
		pdb := budget(ctx, node, 0)
		vacate(ctx, node)
		for range 5 {
			Expect(vacate(ctx, node)).To(BeFalse())
		}
		Expect(exists(ctx, pods[0]) && exists(ctx, pods[1])).To(BeTrue())
		Expect(recorded.count(node.Name, "FailedDraining")).To(Equal(1))
		Expect(recorded.count(node.Name, "DrainingUnclaimed")).To(Equal(1))
		allow(ctx, pdb, 2)
		vacant(ctx, node)
		Expect(exists(ctx, pods[0]) || exists(ctx, pods[1])).To(BeFalse())
	})
	It("waits for pods that are not to be disrupted, and says so", func(ctx context.Context) {
		node := newNode(ctx, nil)
		pod := newPod(ctx, node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		other := newPod(ctx, node, nil)
		vacate(ctx, node)
		vacate(ctx, node)
		Expect(exists(ctx, pod)).To(BeTrue())
		Expect(exists(ctx, other)).To(BeFalse())
		Expect(recorded.of(node.Name)).To(ContainElement(And(ContainSubstring("FailedDraining"), ContainSubstring(pod.Name), ContainSubstring(karpv1.DoNotDisruptAnnotationKey))))
		Expect(kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		vacant(ctx, node)
	})
	It("waits for pods no longer than the deadline, and says so", func(ctx context.Context) {
		node := newNode(ctx, nil)
		newPod(ctx, node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		vacate(ctx, node)
		seen := &corev1.Node{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		for deadline, want := range map[time.Duration]bool{time.Hour: false, 0: false, time.Nanosecond: true} {
			vacant, err := drainer.Vacate(ctx, seen, deadline)
			Expect(err).NotTo(HaveOccurred())
			Expect(vacant).To(Equal(want), "deadline %s", deadline)
		}
		Expect(recorded.of(node.Name)).To(ContainElement(ContainSubstring("its instance is removed with 1 pods")))
	})
	It("leaves a Node alone that a NodeClaim has", func(ctx context.Context) {
		node := newNode(ctx, nil)
		pod := newPod(ctx, node, nil)
		newClaim(ctx, node)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(taintsOf(ctx, node)).To(BeEmpty())
		Expect(exists(ctx, pod)).To(BeTrue())
	})
	It("leaves a Node to core that is being deleted", func(ctx context.Context) {
		node := newNode(ctx, func(n *corev1.Node) { n.Finalizers = []string{karpv1.TerminationFinalizer} })
		pod := newPod(ctx, node, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(kube.Delete(ctx, node)).To(Succeed())
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(exists(ctx, pod)).To(BeTrue())
		Expect(kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		vacant(ctx, node)
	})
	It("gives way to whoever changes the Node in the same moment", func(ctx context.Context) {
		node := newNode(ctx, nil)
		stale := node.DeepCopy()
		node.Labels = map[string]string{"changed": "meanwhile"}
		Expect(kube.Update(ctx, node)).To(Succeed())
		isVacant, err := drainer.Vacate(ctx, stale, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(isVacant).To(BeFalse())
		Expect(taintsOf(ctx, node)).To(BeEmpty())
	})
})
