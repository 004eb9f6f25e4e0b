package controllers_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/unclaimed"
)

// ledger says whose pools are: 1 is ours, 2 is somebody's, others are not known until the test says so.
type ledger struct {
	mu       sync.Mutex
	known    map[int]bool
	returned int
}

func (l *ledger) Owns(poolID int) (owned, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owned, known = l.known[poolID]
	return owned, known
}

func (l *ledger) learn(poolID int, ours bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[poolID] = ours
}

func (l *ledger) onReturned() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.returned++
}

func (l *ledger) returns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.returned
}

var guarded = &ledger{known: map[int]bool{1: true, 2: false}}

func newGuard() *unclaimed.Controller {
	drainer := drain.New(mgr.GetClient(), mgr.GetAPIReader(), recorded, drain.Config{Settle: time.Nanosecond})
	return unclaimed.NewController(mgr.GetClient(), guarded, drainer, recorded, unclaimed.Config{OnReturned: guarded.onReturned})
}

func inPool(id string, more ...func(*corev1.Node)) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels[unclaimed.PoolIDLabel] = id
		for _, f := range more {
			f(n)
		}
	}
}

// newWaitingClaim makes a NodeClaim that has no instance yet.
func newWaitingClaim(ctx context.Context, instanceType string) *karpv1.NodeClaim {
	GinkgoHelper()
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "waits-for-" + instanceType}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{instanceType}},
		},
	}}
	Expect(kube.Create(ctx, claim)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, claim))).To(Succeed()) })
	Eventually(func() error { return mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), &karpv1.NodeClaim{}) }).Should(Succeed())
	return claim
}

func isRegistered(n *corev1.Node) { n.Labels[karpv1.NodeRegisteredLabelKey] = "true" }

var _ = Describe("Nodes that nobody claims", func() {
	DescribeTable("get the taint when they join", func(ctx context.Context, change func(*corev1.Node), want ...string) {
		node := newNode(ctx, change)
		if len(want) > 0 {
			Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(want))
		}
		Consistently(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(want))
	},
		Entry("in a pool of ours", inPool("1"), unregistered),
		Entry("without a provider ID", inPool("1", func(n *corev1.Node) { n.Spec.ProviderID = "" }), unregistered),
		Entry("with the taint from the pool", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint}
		}), unregistered),
		Entry("with another effect", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: karpv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoSchedule}}
		}), karpv1.UnregisteredTaintKey+":NoSchedule", unregistered),
		Entry("beside a taint of its own", inPool("1", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		}), "team:NoSchedule", unregistered),
		Entry("not in somebody's pool", inPool("2")),
		Entry("not in a pool that nobody knows yet", inPool("3")),
		Entry("not with a label that is no pool's", inPool("three")),
		Entry("not outside of LKE", nil),
		Entry("not when it was registered once", inPool("1", isRegistered)),
	)

	It("get it when LKE's label comes later", func(ctx context.Context) {
		node := newNode(ctx, nil)
		node.Labels = map[string]string{unclaimed.PoolIDLabel: "1"}
		Expect(kube.Update(ctx, node)).To(Succeed())
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("get it when it is known whose the pool is", func(ctx context.Context) {
		node := newNode(ctx, inPool("4"))
		guarded.learn(4, true)
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("do not get it in the moment in which core registers them", func(ctx context.Context) {
		node := newNode(ctx, inPool("5"))
		stale := node.DeepCopy()
		isRegistered(node)
		Expect(kube.Update(ctx, node)).To(Succeed())
		guarded.learn(5, true)
		result, err := newGuard().Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		Consistently(func() []string { return taintsOf(ctx, node) }).Should(BeEmpty())
	})
	It("are drained first when pods have settled", func(ctx context.Context) {
		node := newNode(ctx, inPool("6"))
		pod := newPod(ctx, node, nil)
		pdb := budget(ctx, node, 0)
		guarded.learn(6, true)
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(disrupted))
		Eventually(func() int { return recorded.count(node.Name, "FailedDraining") }).Should(Equal(1))
		Expect(exists(ctx, pod)).To(BeTrue())
		allow(ctx, pdb, 1)
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(disrupted, unregistered))
		Expect(exists(ctx, pod)).To(BeFalse())
	})
	It("keep their pods while a NodeClaim waits for an instance of their type", func(ctx context.Context) {
		claim := newWaitingClaim(ctx, "awaited")
		node := newNode(ctx, inPool("9", func(n *corev1.Node) { n.Labels[corev1.LabelInstanceTypeStable] = "awaited" }))
		other := newNode(ctx, inPool("9", func(n *corev1.Node) { n.Labels[corev1.LabelInstanceTypeStable] = "not-awaited" }))
		pod := newPod(ctx, node, nil)
		newPod(ctx, other, nil)
		guarded.learn(9, true)
		Eventually(func() []string { return taintsOf(ctx, other) }).Should(ConsistOf(disrupted, unregistered))
		Expect(taintsOf(ctx, node)).To(BeEmpty())
		Expect(exists(ctx, pod)).To(BeTrue())
		Expect(kube.Delete(ctx, claim)).To(Succeed())
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(disrupted, unregistered))
	})
	It("do not wait for pods of DaemonSets", func(ctx context.Context) {
		node := newNode(ctx, inPool("7"))
		newPod(ctx, node, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "u"}}
		})
		guarded.learn(7, true)
		Eventually(func() []string { return taintsOf(ctx, node) }).Should(ConsistOf(unregistered))
	})
	It("keep their pods when a NodeClaim has them", func(ctx context.Context) {
		node := newNode(ctx, inPool("8"))
		pod := newPod(ctx, node, nil)
		newClaim(ctx, node)
		guarded.learn(8, true)
		Consistently(func() []string { return taintsOf(ctx, node) }).WithTimeout(3 * time.Second).Should(BeEmpty())
		Expect(exists(ctx, pod)).To(BeTrue())
	})
	It("are replaced when LKE puts the taint back", func(ctx context.Context) {
		node := newNode(ctx, inPool("1", isRegistered))
		claim := newClaim(ctx, node)
		before := guarded.returns()
		stored := node.DeepCopy()
		node.Spec.Taints = append(node.Spec.Taints, karpv1.UnregisteredNoExecuteTaint)
		Expect(kube.Patch(ctx, node, client.MergeFrom(stored))).To(Succeed())
		Eventually(func() bool { return exists(ctx, claim) }).Should(BeFalse())
		Expect(guarded.returns()).To(BeNumerically(">", before))
		Eventually(func() int { return recorded.count(node.Name, "UnregisteredTaintReturned") }).Should(Equal(1))
		Expect(taintsOf(ctx, node)).To(ConsistOf(unregistered), "nobody fights about it")
	})
	It("of somebody else may have the taint for reasons of their own", func(ctx context.Context) {
		node := newNode(ctx, inPool("2", isRegistered, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{karpv1.UnregisteredNoExecuteTaint}
		}))
		claim := newClaim(ctx, node)
		Consistently(func() bool { return exists(ctx, claim) }).Should(BeTrue())
	})
})
