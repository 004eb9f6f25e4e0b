package garbagecollection_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
)

// A short life of orphans, so that real time suffices.
const orphanTTL = 300 * time.Millisecond

// The client keeps to the API's limit of 200 reads of collections a minute, also in a test.
const poll = 500 * time.Millisecond

var _ = Describe("Garbage collection", func() {
	var (
		info   linodesim.ClusterInfo
		pools  *allocator.Allocator
		number int
		names  []string
	)

	BeforeEach(func(ctx context.Context) {
		number++
		var err error
		info, err = Sim.AddCluster(linodesim.ClusterSpec{Label: fmt.Sprintf("gc-%d", number), Region: "us-ord", Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 2}}})
		Expect(err).NotTo(HaveOccurred())
		backend, err := lke.New(NewLinode(), lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
		Expect(err).NotTo(HaveOccurred())
		// The claim's time is written in whole seconds, and is up to one second too old.
		pools, err = allocator.New(backend, lkepool.Config{
			Records: &claims.RecordMap{}, OrphanTTL: orphanTTL, RetryDelay: 10 * time.Millisecond, SettleTime: time.Millisecond,
		})
		Expect(err).NotTo(HaveOccurred())
		names = nil
		for i := range 3 {
			name := fmt.Sprintf("gc-%d-%d", number, i)
			names = append(names, name)
			_, err := pools.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: name},
				Key:      lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"},
				PoolTags: []string{"lke-cluster-name=" + info.Label}})
			Expect(err).NotTo(HaveOccurred())
		}
	})

	claimed := func(ctx context.Context) []string {
		GinkgoHelper()
		nodes, err := pools.List(ctx)
		Expect(err).NotTo(HaveOccurred())
		var claims []string
		for _, node := range nodes {
			claims = append(claims, node.Claim)
		}
		return claims
	}
	createClaims := func(ctx context.Context, names ...string) {
		GinkgoHelper()
		for _, name := range names {
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: karpv1.NodeClaimSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "none"},
				Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
			}}
			Expect(Kube.Create(ctx, claim)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(Kube.Delete(ctx, claim)).To(Succeed()) })
		}
	}
	ownersNodes := func() int {
		for _, cluster := range Sim.Snapshot().Clusters {
			if cluster.ID == info.ID {
				return cluster.Pools[0].Count
			}
		}
		return -1
	}

	It("releases instances without NodeClaim and nothing else, and counts them", func(ctx context.Context) {
		createClaims(ctx, names[0], names[2])
		var released []string
		collector := garbagecollection.NewController(Kube, Manager.GetClient(), pools, undrained{},
			garbagecollection.Config{OnCollected: func(c claims.Collected) {
				for _, node := range c.Removed {
					released = append(released, node.Claim)
				}
			}})
		Eventually(func(g Gomega) {
			result, err := collector.Reconcile(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(2 * time.Minute))
			g.Expect(claimed(ctx)).To(ConsistOf(names[0], names[2]))
		}).WithPolling(poll).Should(Succeed())
		Expect(released).To(ConsistOf(names[1]))
		Expect(ownersNodes()).To(Equal(2), "the owner's own pool was touched")
	})

	It("keeps the instance of a NodeClaim that no cache holds yet", func(ctx context.Context) {
		createClaims(ctx, names...)
		// No status, no provider ID: as after a minute of throttling. The reader is the API server's.
		collector := garbagecollection.NewController(Manager.GetAPIReader(), Manager.GetClient(), pools, undrained{}, garbagecollection.Config{})
		Consistently(func(g Gomega) {
			_, err := collector.Reconcile(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(claimed(ctx)).To(ConsistOf(names))
		}).WithTimeout(2 * time.Second).WithPolling(poll).Should(Succeed())
	})

	It("measures the orphan TTL from the claim, not from the instance's age", func(ctx context.Context) {
		backend, err := lke.New(NewLinode(), lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier})
		Expect(err).NotTo(HaveOccurred())
		patient, err := allocator.New(backend, lkepool.Config{Records: &claims.RecordMap{}, OrphanTTL: time.Hour})
		Expect(err).NotTo(HaveOccurred())
		// The NodeClaims are not stored yet; their claims are young.
		_, err = garbagecollection.NewController(Kube, Manager.GetClient(), patient, undrained{}, garbagecollection.Config{}).Reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(claimed(ctx)).To(ConsistOf(names))
	})

	It("collects nothing while NodeClaims cannot be read", func(ctx context.Context) {
		broken := interceptor.NewClient(Kube, interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("the API server is away")
			},
		})
		collector := garbagecollection.NewController(broken, Manager.GetClient(), pools, undrained{}, garbagecollection.Config{})
		Consistently(func(g Gomega) {
			_, err := collector.Reconcile(ctx)
			g.Expect(err).To(MatchError(ContainSubstring("the API server is away")))
			g.Expect(claimed(ctx)).To(ConsistOf(names))
		}).WithTimeout(2 * time.Second).WithPolling(poll).Should(Succeed())
	})

	It("removes the pool with its last node", func(ctx context.Context) {
		collector := garbagecollection.NewController(Kube, Manager.GetClient(), pools, undrained{}, garbagecollection.Config{})
		Eventually(func(g Gomega) {
			_, err := collector.Reconcile(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			for _, cluster := range Sim.Snapshot().Clusters {
				if cluster.ID == info.ID {
					g.Expect(cluster.Pools).To(HaveLen(1))
				}
			}
		}).WithPolling(poll).Should(Succeed())
		Expect(ownersNodes()).To(Equal(2))
	})
})

// undrained fails a test in which an instance has a Node.
type undrained struct{}

func (undrained) Vacate(_ context.Context, node *corev1.Node, _ time.Duration) (bool, error) {
	return false, fmt.Errorf("unexpected node %s", node.Name)
}

func TestGarbageCollection(t *testing.T) {
	Suite(t, "Garbage collection", nil)
}
