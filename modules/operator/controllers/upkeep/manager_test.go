package upkeep_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

var _ = Describe("Tags", func() {
	var (
		class *v1alpha1.LinodeNodeClass
		claim *karpv1.NodeClaim
		node  lkepool.Node
	)

	BeforeEach(func(ctx context.Context) {
		class = &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "tagged"}}
		class.Spec.Tags = []string{"team=a", "cost=1"}
		Expect(Kube.Create(ctx, class)).To(Succeed())
		claim = &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "tagged-1",
				Annotations: map[string]string{v1alpha1.AnnotationLastAppliedUserTags: `["cost=1","team=a"]`}},
			Spec: karpv1.NodeClaimSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: class.Name},
				Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
			},
		}
		Expect(Kube.Create(ctx, claim)).To(Succeed())
		var err error
		node, err = tagPools.Claim(ctx, lkepool.Request{Claimant: nodeclaim.Claimant(claim), Tags: class.Spec.Tags,
			Key: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-1"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(Sim.EditInstanceTags(node.InstanceID, append(tagsOf(node.InstanceID), "by=hand"))).To(Succeed())
		claim.Status.ProviderID = fmt.Sprint("linode://", node.InstanceID)
		Expect(Kube.Status().Update(ctx, claim)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(Kube.Delete(ctx, claim)).To(Succeed())
			Expect(Kube.Delete(ctx, class)).To(Succeed())
			Expect(tagPools.Release(ctx, node.InstanceID, claims.Claimant{})).To(Succeed())
			Eventually(func() error { return Kube.Get(ctx, client.ObjectKeyFromObject(class), class) }).ShouldNot(Succeed())
		})
	})

	change := func(ctx context.Context, tags ...string) {
		GinkgoHelper()
		Eventually(func() error {
			if err := Kube.Get(ctx, client.ObjectKeyFromObject(class), class); err != nil {
				return err
			}
			class.Spec.Tags = tags
			return Kube.Update(ctx, class)
		}).Should(Succeed())
	}

	It("follow the class in place; others, and the claim, stay", func(ctx context.Context) {
		change(ctx, "team=b", "cost=1")
		Eventually(func() []string { return tagsOf(node.InstanceID) }).Should(And(
			ContainElements("team=b", "cost=1", "by=hand", "karpenter.sh/nodeclaim=tagged-1", lkepool.ManagedTag),
			Not(ContainElement("team=a"))))
		Eventually(func(g Gomega) {
			g.Expect(Kube.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationLastAppliedUserTags, `["cost=1","team=b"]`))
		}).Should(Succeed())
		change(ctx)
		Eventually(func() []string { return tagsOf(node.InstanceID) }).Should(And(
			ContainElements("by=hand", "karpenter.sh/nodeclaim=tagged-1"), Not(ContainElement("team=b")), Not(ContainElement("cost=1"))))
	})

	It("of a class that was refused are not applied", func(ctx context.Context) {
		before := tagsOf(node.InstanceID)
		Eventually(func() error {
			if err := Kube.Get(ctx, client.ObjectKeyFromObject(class), class); err != nil {
				return err
			}
			class.Spec.Tags, class.Spec.LKEK8sVersion = []string{"team=b"}, "v1.33.6+lke7" // which no Standard cluster has
			return Kube.Update(ctx, class)
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(Kube.Get(ctx, client.ObjectKeyFromObject(class), class)).To(Succeed())
			g.Expect(class.StatusConditions().Get(v1alpha1.ConditionValidationSucceeded).IsFalse()).To(BeTrue())
		}).Should(Succeed())
		Consistently(func() []string { return tagsOf(node.InstanceID) }).Should(ConsistOf(before))
	})
})

func tagsOf(id int) []string {
	for _, instance := range Sim.Snapshot().Instances {
		if instance.ID == id {
			return instance.Tags
		}
	}
	return nil
}

var tagPools *allocator.Allocator

func TestWithAManager(t *testing.T) {
	Suite(t, "Tags", func(ctx context.Context) {
		info, err := Sim.AddCluster(linodesim.ClusterSpec{Label: "tags", Region: "us-ord", Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
		Expect(err).NotTo(HaveOccurred())
		backend, err := lke.New(NewLinode(), lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
		Expect(err).NotTo(HaveOccurred())
		tagPools, err = allocator.New(backend, lkepool.Config{Records: &claims.RecordMap{}})
		Expect(err).NotTo(HaveOccurred())
		Expect(upkeep.NewController(Manager.GetClient(), tagPools, inventory{}, nil).Register(ctx, Manager)).To(Succeed())
		// Tags are taken from classes that were checked.
		Expect(nodeclass.NewController(Manager.GetClient(), Recorded,
			nodeclass.Config{Reader: Kube, Cluster: func(context.Context) status.Cluster {
				return status.Cluster{Mode: v1alpha1.ModeLKE, Tier: info.Tier, Region: "us-ord", ControlPlaneVersion: "1.34"}
			}}).Register(ctx, Manager)).To(Succeed())
	})
}
