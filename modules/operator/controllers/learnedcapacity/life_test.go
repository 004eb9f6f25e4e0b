package learnedcapacity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	opstatus "github.com/awslabs/operatorpkg/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/learnedcapacity"
)

var (
	learningConfigMap = types.NamespacedName{Namespace: "default", Name: "learned-capacity"}
	learningCatalog   *catalog.Catalog
)

// registerLearning adds the controller to the suite's manager. It reads the ConfigMap at every attempt.
func registerLearning(ctx context.Context) {
	GinkgoHelper()
	learningCatalog = newCatalog(ctx)
	Expect(learnedcapacity.NewController(Manager.GetClient(), learningCatalog, newMemory(learningCatalog, Kube), nil).Register(ctx,
		Manager)).To(Succeed())
}

func newCatalog(ctx context.Context) *catalog.Catalog {
	GinkgoHelper()
	c := catalog.NewCatalog(NewLinode(), catalog.Config{Region: "us-ord"})
	Expect(c.Refresh(ctx)).To(Succeed())
	return c
}

func newMemory(market *catalog.Catalog, as client.Client) *learnedcapacity.Memory {
	memory := learnedcapacity.NewMemory(as, as, market, learningConfigMap)
	memory.Interval = 1
	return memory
}

func memoryOf(market *catalog.Catalog, name string) string {
	GinkgoHelper()
	for _, it := range market.InstanceTypes(nil) {
		if it.Name == name {
			return it.Capacity.Memory().String()
		}
	}
	Fail(name + " is not in the catalog")
	return ""
}

// teacher makes a node of a type and its NodeClaim, initialized, and returns the NodeClaim.
func teacher(ctx context.Context, name, instanceType, memory string, change ...func(*karpv1.NodeClaim, *corev1.Node)) *karpv1.NodeClaim {
	GinkgoHelper()
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: instanceType}},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"},
			Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
		},
	}
	node := &corev1.Node{
		// The type that the kubelet reports does not count.
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-1", karpv1.NodeRegisteredLabelKey: "true"}},
		Spec: corev1.NodeSpec{ProviderID: "linode://4711"},
	}
	claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, name
	for _, is := range []string{karpv1.ConditionTypeInitialized, karpv1.ConditionTypeRegistered} {
		claim.Status.Conditions = append(claim.Status.Conditions,
			opstatus.Condition{Type: is, Status: metav1.ConditionTrue, Reason: is, LastTransitionTime: metav1.Now()})
	}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	for _, f := range change {
		f(claim, node)
	}
	nodeStatus, claimStatus := node.Status.DeepCopy(), claim.Status.DeepCopy()
	Expect(Kube.Create(ctx, node)).To(Succeed())
	node.Status = *nodeStatus
	Expect(Kube.Status().Update(ctx, node)).To(Succeed())
	Expect(Kube.Create(ctx, claim)).To(Succeed())
	claim.Status = *claimStatus
	Expect(Kube.Status().Update(ctx, claim)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(Kube.Delete(ctx, claim)).To(Succeed())
		Expect(Kube.Delete(ctx, node)).To(Succeed())
	})
	return claim
}

var _ = Describe("Learned capacity", func() {
	var configMap *corev1.ConfigMap
	held := func(ctx context.Context) map[string]string {
		GinkgoHelper()
		Expect(Kube.Get(ctx, learningConfigMap, configMap)).To(Succeed())
		return configMap.Data
	}
	BeforeEach(func(ctx context.Context) {
		configMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: learningConfigMap.Namespace, Name: learningConfigMap.Name}}
		Expect(Kube.Create(ctx, configMap)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(Kube.Delete(ctx, configMap))).To(Succeed())
			for name := range learningCatalog.Learned() {
				learningCatalog.Forget(name)
			}
		})
	})

	It("is taken from initialized nodes, remembered, and known to the next process", func(ctx context.Context) {
		disk := func(_ *karpv1.NodeClaim, n *corev1.Node) {
			n.Status.Capacity[corev1.ResourceEphemeralStorage] = resource.MustParse("164900000Ki")
		}
		teacher(ctx, "taught-0", "g6-standard-4", "8139000Ki", disk)
		Consistently(func() map[string]catalog.Figures { return learningCatalog.Learned() }).Should(BeEmpty(),
			"one kubelet alone changed what is known of the plan")
		teacher(ctx, "taught-1", "g6-standard-4", "8140000Ki", disk)
		Eventually(func() string { return memoryOf(learningCatalog, "g6-standard-4") }).Should(Equal("8140000Ki"))
		Eventually(held).WithContext(ctx).Should(Equal(map[string]string{"g6-standard-4": `{"ephemeral-storage":"164900000Ki","memory":"8140000Ki"}`}))
		Expect(configMap.Annotations).To(HaveKeyWithValue(learnedcapacity.AnnotationSources, `{"g6-standard-4":["taught-0","taught-1"]}`))
		before := configMap.ResourceVersion

		next := newCatalog(ctx)
		Expect(memoryOf(next, "g6-standard-4")).NotTo(Equal("8140000Ki"))
		memory := newMemory(next, Kube)
		Expect(memory.Load(ctx)).To(Succeed())
		Expect(memoryOf(next, "g6-standard-4")).To(Equal("8140000Ki"))

		By("seeing nodes that teach nothing new")
		claim := teacher(ctx, "taught-2", "g6-standard-4", "8150000Ki")
		_, err := learnedcapacity.NewController(Kube, next, memory, nil).Reconcile(ctx, claim)
		Expect(err).NotTo(HaveOccurred())
		Expect(held(ctx)).To(HaveLen(1))
		Expect(configMap.ResourceVersion).To(Equal(before), "written although nothing changed")
		Expect(memoryOf(next, "g6-dedicated-4")).To(Equal(memoryOf(newCatalog(ctx), "g6-dedicated-4")))
	})

	DescribeTable("is not taken from", func(ctx context.Context, change func(*karpv1.NodeClaim, *corev1.Node)) {
		market := newCatalog(ctx)
		estimate := memoryOf(market, "g6-standard-6")
		controller := learnedcapacity.NewController(Kube, market, newMemory(market, Kube), nil)
		for _, name := range []string{"untaught-1", "untaught-2"} {
			_, err := controller.Reconcile(ctx, teacher(ctx, name, "g6-standard-6", "16000000Ki", change))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(memoryOf(market, "g6-standard-6")).To(Equal(estimate))
		Expect(held(ctx)).To(BeEmpty())
	},
		Entry("a node that is not initialized", func(c *karpv1.NodeClaim, _ *corev1.Node) {
			c.Status.Conditions[0].Status = metav1.ConditionUnknown
		}),
		Entry("a NodeClaim of another provider", func(c *karpv1.NodeClaim, _ *corev1.Node) { c.Spec.NodeClassRef.Group = "karpenter.example" }),
		Entry("a node of the same name that is another instance",
			func(_ *karpv1.NodeClaim, n *corev1.Node) { n.Spec.ProviderID = "linode://4712" }),
		Entry("a node that does not exist", func(c *karpv1.NodeClaim, _ *corev1.Node) { c.Status.NodeName = "absent" }),
		Entry("a node that claims more than its plan", func(_ *karpv1.NodeClaim, n *corev1.Node) {
			n.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("17Gi")
		}),
		Entry("a node that claims less than half of it", func(_ *karpv1.NodeClaim, n *corev1.Node) {
			n.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("1")
		}),
		Entry("a node that says nothing", func(_ *karpv1.NodeClaim, n *corev1.Node) { n.Status.Capacity = nil }),
		Entry("a type that is not offered", func(c *karpv1.NodeClaim, _ *corev1.Node) { c.Labels[corev1.LabelInstanceTypeStable] = "made-up" }),
	)

	It("survives what people write, and is forgotten with its key", func(ctx context.Context) {
		configMap.Data = map[string]string{
			"g6-standard-4": `{"memory":"8100000Ki"}`, "g6-standard-8": "not JSON", "g6-standard-6": `{"memory":"1Ki"}`,
			"made-up": `{"memory":"1Gi"}`,
		}
		Expect(Kube.Update(ctx, configMap)).To(Succeed())
		market := newCatalog(ctx)
		memory := newMemory(market, Kube)
		Expect(memory.Load(ctx)).To(Succeed())
		Expect(market.Learned()).To(Equal(map[string]catalog.Figures{"g6-standard-4": {Memory: 8100000 << 10}}))

		market.Learn(map[string]catalog.Figures{"g6-standard-6": {Memory: 16000001 << 10}, "g6-standard-8": {Memory: 32000001 << 10}})
		Expect(memory.Save(ctx)).To(Succeed())
		Expect(held(ctx)).To(Equal(map[string]string{
			"g6-standard-4": `{"memory":"8100000Ki"}`, "g6-standard-8": `{"memory":"32000001Ki"}`, "g6-standard-6": `{"memory":"16000001Ki"}`,
			"made-up": `{"memory":"1Gi"}`,
		}))

		delete(configMap.Data, "g6-standard-4")
		Expect(Kube.Update(ctx, configMap)).To(Succeed())
		Expect(memory.Load(ctx)).To(Succeed())
		Expect(market.Learned()).To(And(HaveLen(2), Not(HaveKey("g6-standard-4"))))
	})

	It("is not written over what another client has written", func(ctx context.Context) {
		market := newCatalog(ctx)
		meddler := &meddling{Client: Kube, before: func() {
			other := &corev1.ConfigMap{}
			Expect(Kube.Get(ctx, learningConfigMap, other)).To(Succeed())
			other.Data = map[string]string{"g6-standard-4": `{"memory":"8090000Ki"}`, "g6-dedicated-4": `{"memory":"8090000Ki"}`}
			Expect(Kube.Update(ctx, other)).To(Succeed())
		}}
		market.Learn(map[string]catalog.Figures{"g6-standard-4": {Memory: 8100000 << 10}, "g6-standard-6": {Memory: 16000001 << 10}})
		Expect(newMemory(market, meddler).Save(ctx)).To(Succeed())
		Expect(meddler.updates).To(Equal(2))
		Expect(held(ctx)).To(Equal(map[string]string{
			"g6-standard-4": `{"memory":"8090000Ki"}`, "g6-dedicated-4": `{"memory":"8090000Ki"}`, "g6-standard-6": `{"memory":"16000001Ki"}`,
		}))
		Expect(memoryOf(market, "g6-dedicated-4")).To(Equal("8090000Ki"))
	})

	It("works without its ConfigMap, and without the right to it", func(ctx context.Context) {
		user, err := Environment.AddUser(envtest.User{Name: "without-rights"}, nil)
		Expect(err).NotTo(HaveOccurred())
		stranger, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(Kube.Delete(ctx, configMap)).To(Succeed())
		for _, as := range []client.Client{Kube, stranger} {
			market := newCatalog(ctx)
			memory := newMemory(market, as)
			Expect(memory.Load(ctx)).To(Succeed())
			controller := learnedcapacity.NewController(Kube, market, memory, nil)
			for i := range 2 {
				_, err := controller.Reconcile(ctx, teacher(ctx, fmt.Sprintf("alone-%t-%d", as == Kube, i), "g6-standard-4", "8140000Ki"))
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(memoryOf(market, "g6-standard-4")).To(Equal("8140000Ki"))
			Expect(memory.Load(ctx)).To(Succeed())
			Expect(memoryOf(market, "g6-standard-4")).To(Equal("8140000Ki"), "forgotten because it could not be read")
		}
	})

	It("needs the right to get and to update one ConfigMap", func(ctx context.Context) {
		user, err := Environment.AddUser(envtest.User{Name: "learner"}, nil)
		Expect(err).NotTo(HaveOccurred())
		learner, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		meta := metav1.ObjectMeta{Namespace: learningConfigMap.Namespace, Name: "learner"}
		for _, o := range []client.Object{
			&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{learningConfigMap.Name},
				Verbs: []string{"get", "update"},
			}}},
			&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "learner"},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "learner"}}},
		} {
			Expect(Kube.Create(ctx, o)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(Kube.Delete(ctx, o)).To(Succeed()) })
		}
		market := newCatalog(ctx)
		memory := newMemory(market, learner)
		market.Learn(map[string]catalog.Figures{"g6-standard-4": {Memory: 8100000 << 10}})
		Eventually(func(g Gomega) { // RBAC is seen by the API server after a moment
			g.Expect(memory.Save(ctx)).To(Succeed())
			g.Expect(held(ctx)).To(HaveKey("g6-standard-4"))
		}).Should(Succeed())
		figures := map[string]string{}
		Expect(json.Unmarshal([]byte(configMap.Data["g6-standard-4"]), &figures)).To(Succeed())
		Expect(figures).To(Equal(map[string]string{"memory": "8100000Ki"}))
	})
})

// meddling is a client that lets another client write right before its first update.
type meddling struct {
	client.Client
	before  func()
	updates int
}

func (m *meddling) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if m.updates++; m.updates == 1 {
		m.before()
	}
	return m.Client.Update(ctx, o, opts...)
}

func TestLearnedCapacity(t *testing.T) {
	Suite(t, "Learned capacity", registerLearning)
}
