package nodeclass_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	operatorstatus "github.com/awslabs/operatorpkg/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
)

var _ = Describe("LinodeNodeClass", func() {
	var class *v1alpha1.LinodeNodeClass
	number := 0

	BeforeEach(func() {
		number++
		setCluster("standard", "1.34")
		class = &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("class-%d", number)}}
	})

	ready := func(g Gomega) *operatorstatus.Condition {
		g.Expect(Kube.Get(context.Background(), client.ObjectKeyFromObject(class), class)).To(Succeed())
		condition := class.StatusConditions().Get(operatorstatus.ConditionReady)
		g.Expect(condition).NotTo(BeNil())
		return condition
	}
	becomesReady := func() {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(ready(g).IsTrue()).To(BeTrue()) }).Should(Succeed())
	}
	becomesUnready := func(reason, says string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			condition := ready(g)
			g.Expect(condition.IsFalse()).To(BeTrue())
			g.Expect(condition.Reason).To(Equal(reason))
			g.Expect(condition.Message).To(ContainSubstring(says))
		}).Should(Succeed())
	}
	claimOf := func(name string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: karpv1.NodeClaimSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class.Name},
				Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
				Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			},
		}
	}

	It("gets a finalizer, its hash and a status, and one event", func(ctx context.Context) {
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesReady()
		Expect(class.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
		Expect(class.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHash, class.Hash(v1alpha1.ModeLKE)))
		Expect(class.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHashVersion, v1alpha1.HashVersion))
		Expect(class.Status.KubernetesVersion).To(Equal("1.34"))
		Eventually(func() []string { return Recorded.Of(class.Name) }).Should(HaveExactElements(HavePrefix("Normal Ready:")))
		Consistently(func() int { return Recorded.Count(class.Name, "Ready") }).Should(Equal(1))
	})

	DescribeTable("says why nodes cannot be made, once",
		func(ctx context.Context, change func(*v1alpha1.LinodeNodeClass), reason, says string) {
			change(class)
			Expect(Kube.Create(ctx, class)).To(Succeed())
			becomesUnready(reason, says)
			Eventually(func() []string { return Recorded.Of(class.Name) }).
				Should(HaveExactElements(And(HavePrefix("Warning "+reason+":"), ContainSubstring(says))))
			Consistently(func() int { return Recorded.Count(class.Name, reason) }).Should(Equal(1))
		},
		Entry("a firewall on the Standard tier", func(c *v1alpha1.LinodeNodeClass) {
			c.Spec.FirewallID = new(12)
		}, v1alpha1.ReasonFirewallUnsupported, "take no firewall"),
		Entry("a version on the Standard tier", func(c *v1alpha1.LinodeNodeClass) {
			c.Spec.LKEK8sVersion = "v1.33.6+lke7"
		}, v1alpha1.ReasonLKEK8sVersionUnsupported, "Standard"),
	)

	It("becomes ready when the spec is corrected, and says so", func(ctx context.Context) {
		class.Spec.LKEK8sVersion = "v1.33.6+lke7"
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesUnready(v1alpha1.ReasonLKEK8sVersionUnsupported, "v1.33.6+lke7")
		stored := class.DeepCopy()
		class.Spec.LKEK8sVersion = ""
		Expect(Kube.Patch(ctx, class, client.MergeFrom(stored))).To(Succeed())
		becomesReady()
		Eventually(func() []string { return Recorded.Of(class.Name) }).
			Should(HaveExactElements(HavePrefix("Warning LKEK8sVersionUnsupported:"), HavePrefix("Normal Ready:")))
	})

	It("follows the control plane's version", func(ctx context.Context) {
		setCluster("enterprise", "v1.32.9+lke5")
		class.Spec.LKEK8sVersion = "v1.33.6+lke7"
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesUnready(v1alpha1.ReasonLKEK8sVersionControlPlaneMismatch, "v1.32.9+lke5")
		setCluster("enterprise", "v1.33.6+lke7")
		becomesReady()
		Expect(class.Status.KubernetesVersion).To(Equal("v1.33.6+lke7"))
	})

	It("asks the API for the firewall", func(ctx context.Context) {
		setCluster("enterprise", "v1.33.6+lke7")
		missing := 999999
		class.Spec.FirewallID = &missing
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesUnready(v1alpha1.ReasonFirewallNotFound, "999999")
		id := Sim.AddFirewall(linodesim.FirewallSpec{Label: "edge"})
		stored := class.DeepCopy()
		class.Spec.FirewallID = &id
		Expect(Kube.Patch(ctx, class, client.MergeFrom(stored))).To(Succeed())
		becomesReady()
		Expect(class.Status.Firewall).To(HaveValue(Equal(v1alpha1.Firewall{ID: id, Label: "edge"})))
	})

	It("waits for its NodeClaims when it is deleted, and says for which", func(ctx context.Context) {
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesReady()
		claim := claimOf(class.Name + "-user")
		Expect(Kube.Create(ctx, claim)).To(Succeed())
		Eventually(func() error { // the controller's cache has to know the NodeClaim
			return Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), &karpv1.NodeClaim{})
		}).Should(Succeed())
		Expect(Kube.Delete(ctx, class)).To(Succeed())
		Eventually(func() []string { return Recorded.Of(class.Name) }).
			Should(ContainElement(And(HavePrefix("Warning WaitingOnNodeClaimTermination:"), ContainSubstring(claim.Name),
				ContainSubstring("kubectl delete nodeclaims -l "+v1alpha1.LabelNodeClass+"="+class.Name))))
		Consistently(func() error { return Kube.Get(ctx, client.ObjectKeyFromObject(class), class) }).Should(Succeed())
		Expect(Kube.Delete(ctx, claim)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(Kube.Get(ctx, client.ObjectKeyFromObject(class), class))
		}).Should(BeTrue())
	})

	It("replaces a hash of an older version on itself and on its NodeClaims", func(ctx context.Context) {
		old := map[string]string{v1alpha1.AnnotationHash: "old", v1alpha1.AnnotationHashVersion: "v0"}
		var claims []*karpv1.NodeClaim
		for _, suffix := range []string{"-plain", "-drifted"} {
			claim := claimOf(class.Name + suffix)
			claim.Annotations = old
			Expect(Kube.Create(ctx, claim)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(Kube.Delete(ctx, claim)).To(Succeed()) })
			claims = append(claims, claim)
		}
		claims[1].StatusConditions().SetTrue(karpv1.ConditionTypeDrifted)
		Expect(Kube.Status().Update(ctx, claims[1])).To(Succeed())
		for _, claim := range claims {
			Eventually(func(g Gomega) {
				cached := &karpv1.NodeClaim{}
				g.Expect(Manager.GetClient().Get(ctx, client.ObjectKeyFromObject(claim), cached)).To(Succeed())
				g.Expect(cached.ResourceVersion).To(Equal(claim.ResourceVersion))
			}).Should(Succeed())
		}
		class.Annotations = old
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesReady()
		Expect(class.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHash, class.Hash(v1alpha1.ModeLKE)))
		for i, hash := range []string{class.Hash(v1alpha1.ModeLKE), "old"} {
			Expect(Kube.Get(ctx, client.ObjectKeyFromObject(claims[i]), claims[i])).To(Succeed())
			Expect(claims[i].Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHashVersion, v1alpha1.HashVersion))
			Expect(claims[i].Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationHash, hash))
		}
	})

	It("does not read the API for every event", func(ctx context.Context) {
		setCluster("enterprise", "v1.33.6+lke7")
		id := Sim.AddFirewall(linodesim.FirewallSpec{Label: "quiet"})
		class.Spec.FirewallID = &id
		Expect(Kube.Create(ctx, class)).To(Succeed())
		becomesReady()
		Expect(firewallCalls(id)).To(Equal(1))
		for i := range 50 {
			stored := class.DeepCopy()
			class.Annotations["example.com/touched"] = fmt.Sprint(i)
			Expect(Kube.Patch(ctx, class, client.MergeFrom(stored))).To(Succeed())
		}
		Consistently(func() int { return firewallCalls(id) }).Should(Equal(1))
		Expect(Sim.Unknown()).To(BeEmpty(), strings.Join(Sim.Unknown(), "\n"))
	})
})

// firewallCalls are the calls about one firewall: classes of other specs are still looked at.
func firewallCalls(id int) (n int) {
	for _, call := range Sim.RecentCalls() {
		if strings.HasSuffix(call.Path, fmt.Sprintf("/firewalls/%d", id)) {
			n++
		}
	}
	return n
}

var (
	clusterMu sync.Mutex
	cluster   status.Cluster
)

func setCluster(tier, version string) {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	cluster = status.Cluster{Mode: v1alpha1.ModeLKE, Tier: tier, Region: "us-ord", ControlPlaneVersion: version}
}

func currentCluster() status.Cluster {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	return cluster
}

func TestWithAManager(t *testing.T) {
	Suite(t, "LinodeNodeClass", func(ctx context.Context) {
		Expect(nodeclass.NewController(Manager.GetClient(), Recorded, nodeclass.Config{
			Cluster:  func(context.Context) status.Cluster { return currentCluster() },
			Reader:   Kube,
			Lookup:   nodeclass.NewLookup(NewLinode(), time.Hour),
			Interval: 500 * time.Millisecond,
		}).Register(ctx, Manager)).To(Succeed())
	})
}
