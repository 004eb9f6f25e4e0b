package offhours_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	controller "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/offhours"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

const nights = `{wakeBefore: 10m, windows: [{schedule: "0 19 * * *", duration: 12h}]}`

var (
	noon    = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	evening = noon.Add(7 * time.Hour)
	morning = evening.Add(12*time.Hour - 10*time.Minute)
)

var _ = Describe("Off-hours", func() {
	var clk *clocktesting.FakeClock
	BeforeEach(func() { clk = clocktesting.NewFakeClock(noon) })

	newPool := func(ctx context.Context, name string, change func(*karpv1.NodePool)) *karpv1.NodePool {
		GinkgoHelper()
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{offhours.Annotation: nights}}}
		pool.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("100"), "nodes": resource.MustParse("7")}
		pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"}
		pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
		if change != nil {
			change(pool)
		}
		Expect(Kube.Create(ctx, pool)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(Kube.Delete(ctx, pool))).To(Succeed()) })
		return pool
	}
	read := func(ctx context.Context, pool *karpv1.NodePool) *karpv1.NodePool {
		GinkgoHelper()
		Expect(Kube.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		return pool
	}
	reconciled := func(ctx context.Context, pool *karpv1.NodePool, kube client.Client) reconcile.Result {
		GinkgoHelper()
		result, err := controller.NewController(kube, Recorded, clk).Reconcile(ctx, read(ctx, pool))
		Expect(err).NotTo(HaveOccurred())
		read(ctx, pool)
		return result
	}
	nodeOf := func(ctx context.Context, pool *karpv1.NodePool, change ...func(*karpv1.NodeClaim)) (*corev1.Node, *karpv1.NodeClaim) {
		GinkgoHelper()
		node := NewNode(ctx, func(n *corev1.Node) { n.Labels[karpv1.NodePoolLabelKey] = pool.Name })
		claim := NewClaim(ctx, node, append(change, func(c *karpv1.NodeClaim) {
			c.Labels = map[string]string{karpv1.NodePoolLabelKey: pool.Name}
		})...)
		claim.Status.NodeName = node.Name
		Expect(Kube.Status().Update(ctx, claim)).To(Succeed())
		Eventually(func() (string, error) {
			seen := &karpv1.NodeClaim{}
			err := Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), seen)
			return seen.Status.NodeName, err
		}).Should(Equal(node.Name))
		return node, claim
	}

	It("holds a NodePool without nodes from the evening on, and wakes it before the morning", func(ctx context.Context) {
		pool, other := newPool(ctx, "nightly", nil), newPool(ctx, "always", func(p *karpv1.NodePool) { p.Annotations = nil })
		_, claim := nodeOf(ctx, pool)
		_, theirs := nodeOf(ctx, other)
		kube := Manager.GetClient()

		Expect(reconciled(ctx, pool, kube).RequeueAfter).To(Equal(7 * time.Hour))
		Expect(pool.StatusConditions().Get(offhours.Condition).IsFalse()).To(BeTrue())
		Expect(nodes(pool).String()).To(Equal("7"))
		Expect(Exists(ctx, claim)).To(BeTrue())

		clk.SetTime(evening)
		Expect(reconciled(ctx, pool, kube).RequeueAfter).To(Equal(11*time.Hour + 50*time.Minute))
		Expect(nodes(pool).IsZero()).To(BeTrue())
		Expect(ptr.To(pool.Spec.Limits["cpu"]).String()).To(Equal("100"))
		Expect(pool.StatusConditions().Get(offhours.Condition).IsTrue()).To(BeTrue())
		Expect(Exists(ctx, claim)).To(BeFalse())
		Expect(Exists(ctx, theirs)).To(BeTrue())
		Expect(Recorded.Of(pool.Name)).To(ContainElement("Normal OffHoursBegan: " +
			"Off-hours until Tue 2026-12-01 07:00 UTC: no nodes before Tue 2026-12-01 06:50 UTC"))
		version := pool.ResourceVersion
		reconciled(ctx, pool, kube)
		Expect(pool.ResourceVersion).To(Equal(version), "the second reconcile of an evening writes nothing")

		clk.SetTime(morning)
		reconciled(ctx, pool, kube)
		Expect(nodes(pool).String()).To(Equal("7"))
		Expect(pool.Annotations).NotTo(HaveKey(offhours.AnnotationLimit))
		Expect(pool.StatusConditions().Get(offhours.Condition).IsFalse()).To(BeTrue())
		Expect(Recorded.Count(pool.Name, controller.EventWoken)).To(Equal(1))

		Expect(reconciled(ctx, other, kube)).To(BeZero())
		Expect(other.StatusConditions().Get(offhours.Condition)).To(BeNil())
	})

	It("restores no limit where there was none", func(ctx context.Context) {
		pool := newPool(ctx, "unbounded", func(p *karpv1.NodePool) { p.Spec.Limits = nil })
		clk.SetTime(evening)
		reconciled(ctx, pool, Kube)
		Expect(nodes(pool).IsZero()).To(BeTrue())
		Expect(pool.Spec.Limits).To(HaveLen(1))
		clk.SetTime(morning)
		reconciled(ctx, pool, Kube)
		Expect(pool.Spec.Limits).To(BeEmpty())
	})

	It("holds a static NodePool as well", func(ctx context.Context) {
		pool := newPool(ctx, "static", func(p *karpv1.NodePool) { p.Spec.Limits, p.Spec.Replicas = nil, ptr.To[int64](3) })
		clk.SetTime(evening)
		reconciled(ctx, pool, Kube)
		Expect(nodes(pool).IsZero()).To(BeTrue())
	})

	It("keeps a node for a pod that must not be disrupted, and removes it afterwards", func(ctx context.Context) {
		pool := newPool(ctx, "batch", nil)
		node, claim := nodeOf(ctx, pool)
		_, marked := nodeOf(ctx, pool, func(c *karpv1.NodeClaim) { c.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		pod := NewPod(ctx, node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		clk.SetTime(evening)
		Expect(reconciled(ctx, pool, Manager.GetClient()).RequeueAfter).To(Equal(time.Minute))
		Expect(Exists(ctx, claim)).To(BeTrue())
		Expect(Exists(ctx, marked)).To(BeTrue())
		Expect(Recorded.Of(pool.Name)).To(ContainElement(ContainSubstring("pod default/" + pod.Name + " has the annotation")))

		Expect(Kube.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() bool {
			reconciled(ctx, pool, Manager.GetClient())
			return Exists(ctx, claim)
		}).Should(BeFalse())
		Expect(Exists(ctx, marked)).To(BeTrue())
	})

	It("names what is wrong with a schedule, and wakes a NodePool that is held", func(ctx context.Context) {
		pool := newPool(ctx, "mistaken", nil)
		clk.SetTime(evening)
		reconciled(ctx, pool, Kube)
		pool.Annotations[offhours.Annotation] = strings.Replace(nights, "12h", "half a day", 1)
		Expect(Kube.Update(ctx, pool)).To(Succeed())
		Expect(reconciled(ctx, pool, Kube)).To(BeZero())
		Expect(nodes(pool).String()).To(Equal("7"))
		c := pool.StatusConditions().Get(offhours.Condition)
		Expect(c.IsUnknown()).To(BeTrue())
		Expect(c.Message).To(Equal(`In the annotation karpenter.k8s.linode/off-hours, windows[0].duration is "half a day": ` +
			`use hours and minutes such as 12h or 1h30m`))
		Expect(Recorded.Count(pool.Name, controller.EventInvalid)).To(Equal(1))
	})

	It("loses no limit when the write of the evening is lost, or its answer", func(ctx context.Context) {
		pool := newPool(ctx, "crashed", nil)
		clk.SetTime(evening)
		stale := read(ctx, pool).DeepCopy()
		reconciled(ctx, pool, Kube)
		_, err := controller.NewController(Kube, Recorded, clk).Reconcile(ctx, stale) // it has not seen the first write
		Expect(err).NotTo(HaveOccurred())
		Expect(read(ctx, pool).Annotations).To(HaveKeyWithValue(offhours.AnnotationLimit, "7"))
	})
})

func TestOffHours(t *testing.T) { Suite(t, "Off-hours", nil) }

func nodes(pool *karpv1.NodePool) *resource.Quantity { return ptr.To(pool.Spec.Limits["nodes"]) }
