package drain_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

const (
	disrupted    = karpv1.DisruptedTaintKey + ":NoSchedule"
	unregistered = karpv1.UnregisteredTaintKey + ":NoExecute"
)

var _ = Describe("Draining", func() {
	var drainer *drain.Drainer
	BeforeEach(func() {
		drainer = drain.New(Manager.GetClient(), Manager.GetAPIReader(), Recorded)
		drainer.Settle = time.Nanosecond
	})
	vacate := func(ctx context.Context, node *corev1.Node) bool {
		GinkgoHelper()
		seen := &corev1.Node{}
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		vacant, err := drainer.Vacate(ctx, seen, 0)
		Expect(err).NotTo(HaveOccurred())
		return vacant
	}
	vacant := func(ctx context.Context, node *corev1.Node) {
		GinkgoHelper()
		Eventually(func() bool { return vacate(ctx, node) }).Should(BeTrue())
	}

	It("keeps new pods off before it says that a Node is empty", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(TaintsOf(ctx, node)).To(ConsistOf(disrupted))
		vacant(ctx, node)
	})
	It("waits until the scheduler has seen the taint", func(ctx context.Context) {
		drainer.Settle = time.Hour
		node := NewNode(ctx, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Consistently(func() bool { return vacate(ctx, node) }).Should(BeFalse())
	})
	It("asks pods to leave, those that core would ask", func(ctx context.Context) {
		node := NewNode(ctx, func(n *corev1.Node) { n.Labels[karpv1.NodeRegisteredLabelKey] = "true" })
		plain := NewPod(ctx, node, nil)
		critical := NewPod(ctx, node, func(p *corev1.Pod) { p.Namespace, p.Spec.PriorityClassName = "kube-system", "system-cluster-critical" })
		daemon := NewPod(ctx, node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "u"}}
		})
		tolerant := NewPod(ctx, node, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} })
		finished := NewPod(ctx, node, nil)
		finished.Status.Phase = corev1.PodSucceeded
		Expect(Kube.Status().Update(ctx, finished)).To(Succeed())

		Expect(vacate(ctx, node)).To(BeFalse(), "tainted first")
		Expect(Exists(ctx, plain)).To(BeTrue())
		vacate(ctx, node)
		Expect(Exists(ctx, plain)).To(BeFalse())
		Expect(Exists(ctx, critical)).To(BeTrue(), "a critical pod left before another")
		Expect(Exists(ctx, daemon)).To(BeTrue(), "a DaemonSet's pod left before another")
		vacant(ctx, node)
		Expect(Exists(ctx, critical)).To(BeFalse())
		Expect(Exists(ctx, daemon)).To(BeFalse())
		Expect(Exists(ctx, tolerant)).To(BeTrue())
		Expect(Exists(ctx, finished)).To(BeTrue())
		Expect(Recorded.Of(plain.Name)).To(ConsistOf(ContainSubstring("Evicted: Evicted pod: no NodeClaim owns its node")))
		Expect(Recorded.Of(node.Name)).To(ConsistOf(ContainSubstring("DrainingUnclaimed")))
		seen := &corev1.Node{}
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		Expect(seen.Labels).To(HaveKey(corev1.LabelNodeExcludeBalancers))
	})
	It("keeps to PodDisruptionBudgets, and says so once", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		pods := []*corev1.Pod{NewPod(ctx, node, nil), NewPod(ctx, node, nil)}
		pdb := Budget(ctx, node, 0)
		vacate(ctx, node)
		for range 5 {
			Expect(vacate(ctx, node)).To(BeFalse())
		}
		Expect(Exists(ctx, pods[0]) && Exists(ctx, pods[1])).To(BeTrue())
		Expect(Recorded.Count(node.Name, "FailedDraining")).To(Equal(1))
		Expect(Recorded.Count(node.Name, "DrainingUnclaimed")).To(Equal(1))
		Allow(ctx, pdb, 2)
		vacant(ctx, node)
		Expect(Exists(ctx, pods[0]) || Exists(ctx, pods[1])).To(BeFalse())
	})
	It("waits for pods that are not to be disrupted, and says so", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		pod := NewPod(ctx, node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		other := NewPod(ctx, node, nil)
		vacate(ctx, node)
		vacate(ctx, node)
		Expect(Exists(ctx, pod)).To(BeTrue())
		Expect(Exists(ctx, other)).To(BeFalse())
		Expect(Recorded.Of(node.Name)).To(ContainElement(And(ContainSubstring("FailedDraining"), ContainSubstring(pod.Name),
			ContainSubstring(karpv1.DoNotDisruptAnnotationKey))))
		Expect(Kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		vacant(ctx, node)
	})
	It("waits for pods no longer than the deadline, and says so", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		NewPod(ctx, node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		vacate(ctx, node)
		seen := &corev1.Node{}
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
		for deadline, want := range map[time.Duration]bool{time.Hour: false, 0: false, time.Nanosecond: true} {
			vacant, err := drainer.Vacate(ctx, seen, deadline)
			Expect(err).NotTo(HaveOccurred())
			Expect(vacant).To(Equal(want), "deadline %s", deadline)
		}
		Expect(Recorded.Of(node.Name)).To(ContainElement(ContainSubstring("the operator removes its instance with 1 pods")))
	})
	It("leaves a Node alone that a NodeClaim has", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		pod := NewPod(ctx, node, nil)
		NewClaim(ctx, node)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(TaintsOf(ctx, node)).To(BeEmpty())
		Expect(Exists(ctx, pod)).To(BeTrue())
	})
	It("leaves a Node to core that is being deleted", func(ctx context.Context) {
		node := NewNode(ctx, func(n *corev1.Node) { n.Finalizers = []string{karpv1.TerminationFinalizer} })
		pod := NewPod(ctx, node, nil)
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(Kube.Delete(ctx, node)).To(Succeed())
		Expect(vacate(ctx, node)).To(BeFalse())
		Expect(Exists(ctx, pod)).To(BeTrue())
		Expect(Kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		vacant(ctx, node)
	})
	Describe("an instance that a NodeClaim gets meanwhile", func() {
		instance := func(node *corev1.Node) claims.Node {
			GinkgoHelper()
			id, err := nodeclaim.InstanceID(node.Spec.ProviderID)
			Expect(err).NotTo(HaveOccurred())
			return claims.Node{InstanceID: id, Name: node.Name}
		}
		It("takes pods again before the NodeClaim shows it, and is not drained further", func(ctx context.Context) {
			node := NewNode(ctx, func(n *corev1.Node) { n.Labels[karpv1.NodeRegisteredLabelKey] = "true" })
			pod := NewPod(ctx, node, nil)
			Expect(vacate(ctx, node)).To(BeFalse())
			Expect(TaintsOf(ctx, node)).To(ConsistOf(disrupted))
			Expect(drainer.Keep(ctx, instance(node))).To(Succeed())
			Expect(TaintsOf(ctx, node)).To(BeEmpty())
			Consistently(func() bool { return vacate(ctx, node) }).Should(BeFalse())
			Expect(TaintsOf(ctx, node)).To(BeEmpty())
			Expect(Exists(ctx, pod)).To(BeTrue())
			seen := &corev1.Node{}
			Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), seen)).To(Succeed())
			Expect(seen.Labels).NotTo(HaveKey(corev1.LabelNodeExcludeBalancers))
		})
		It("takes pods again although its taint was on its way", func(ctx context.Context) {
			node := NewNode(ctx, nil)
			crossing := &crossing{Client: Manager.GetClient()}
			drainer = drain.New(crossing, Manager.GetAPIReader(), Recorded)
			crossing.before = func() { Expect(drainer.Keep(ctx, instance(node))).To(Succeed()) }
			Expect(vacate(ctx, node)).To(BeFalse())
			Expect(crossing.before).To(BeNil(), "the taint was not sent")
			Expect(TaintsOf(ctx, node)).To(BeEmpty())
		})
		It("is found by its name where the Node has no provider ID yet", func(ctx context.Context) {
			node := NewNode(ctx, func(n *corev1.Node) { n.Spec.ProviderID = "" })
			Expect(vacate(ctx, node)).To(BeFalse())
			Expect(drainer.Keep(ctx, claims.Node{InstanceID: 1 << 30, Name: node.Name})).To(Succeed())
			Expect(TaintsOf(ctx, node)).To(BeEmpty())
		})
		It("is not another instance's Node of its name", func(ctx context.Context) {
			node := NewNode(ctx, nil)
			Expect(vacate(ctx, node)).To(BeFalse())
			Expect(drainer.Keep(ctx, claims.Node{InstanceID: 1 << 30, Name: node.Name})).To(Succeed())
			Expect(TaintsOf(ctx, node)).To(ConsistOf(disrupted))
		})
		It("may have no Node yet", func(ctx context.Context) {
			Expect(drainer.Keep(ctx, claims.Node{InstanceID: 1 << 30, Name: "not-joined"})).To(Succeed())
		})
	})
	It("gives way to a client that changes the Node in the same moment", func(ctx context.Context) {
		node := NewNode(ctx, nil)
		stale := node.DeepCopy()
		node.Labels = map[string]string{"changed": "meanwhile"}
		Expect(Kube.Update(ctx, node)).To(Succeed())
		isVacant, err := drainer.Vacate(ctx, stale, 0)
		Expect(err).NotTo(HaveOccurred())
		Expect(isVacant).To(BeFalse())
		Expect(TaintsOf(ctx, node)).To(BeEmpty())
	})
})

// crossing calls before once, when a patch has been decided and not yet sent.
type crossing struct {
	client.Client
	before func()
}

func (c *crossing) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if before := c.before; before != nil {
		c.before = nil
		before()
	}
	return c.Client.Patch(ctx, o, patch, options...)
}

func TestDrain(t *testing.T) {
	Suite(t, "Draining of nodes", nil)
}
