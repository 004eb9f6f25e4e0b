package garbagecollection_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	pools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	. "github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/controllertest"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

var _ = Describe("Nodes whose Linode is gone", func() {
	It("are deleted when they are silent and a NodeClaim's, and no others are", func(ctx context.Context) {
		info, err := Sim.AddCluster(linodesim.ClusterSpec{Label: "gone-nodes", Region: "us-ord", Settled: true,
			Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
		Expect(err).NotTo(HaveOccurred())
		cluster := lke.Cluster{Cluster: pools.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier}, Region: "us-ord"}
		api, err := pools.New(NewLinode(), cluster.Cluster)
		Expect(err).NotTo(HaveOccurred())
		engine, err := allocator.New(api, lkepool.Config{
			Records: &claims.RecordMap{}, RetryDelay: 10 * time.Millisecond, SettleTime: time.Millisecond,
		})
		Expect(err).NotTo(HaveOccurred())
		linode := func(claim string) int {
			made, err := engine.Claim(ctx, lkepool.Request{Claimant: claims.Claimant{Name: claim},
				Key: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}, PoolTags: []string{"lke-cluster-name=" + info.Label}})
			Expect(err).NotTo(HaveOccurred())
			return made.InstanceID
		}
		lives, gone := linode("lives"), linode("gone")
		Expect(engine.Release(ctx, gone, claims.Claimant{})).To(Succeed())

		on := func(id int, change func(*corev1.Node)) *corev1.Node {
			return NewNode(ctx, func(node *corev1.Node) {
				node.Spec.ProviderID = nodeclaim.ProviderID(id)
				node.Labels[karpv1.NodePoolLabelKey] = "default"
				change(node)
			})
		}
		unchanged := func(*corev1.Node) {}
		owned := func(node *corev1.Node) {
			delete(node.Labels, karpv1.NodePoolLabelKey)
			node.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "gone", UID: "1"}}
		}
		lost := []*corev1.Node{on(gone, unchanged), on(gone, owned)}
		ready := on(gone, unchanged)
		ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		Expect(Kube.Status().Update(ctx, ready)).To(Succeed())
		kept := []*corev1.Node{ready, on(lives, unchanged), on(gone, func(node *corev1.Node) { delete(node.Labels, karpv1.NodePoolLabelKey) })}

		nodes := garbagecollection.NewNodes(Kube, lke.NewBackend(lke.Config{Cluster: cluster, Pools: engine}))
		Eventually(func(g Gomega) {
			_, err := nodes.Reconcile(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			for _, node := range lost {
				g.Expect(apierrors.IsNotFound(Kube.Get(ctx, client.ObjectKeyFromObject(node), &corev1.Node{}))).To(BeTrue(), node.Name)
			}
		}).WithPolling(poll).Should(Succeed())
		for _, node := range kept {
			Expect(Kube.Get(ctx, client.ObjectKeyFromObject(node), &corev1.Node{})).To(Succeed())
		}
	})
})

// counting is a Linodes whose instances live, unless an error is given for their ID.
type counting struct {
	errs        map[int]error
	ids         []int
	gets, lists int
}

func (c *counting) Get(_ context.Context, id int) (cloudprovider.Node, error) {
	c.gets++
	return listed(id), c.errs[id]
}

func listed(id int) cloudprovider.Node { return cloudprovider.Node{Node: claims.Node{InstanceID: id}} }

func (c *counting) List(context.Context) (all []cloudprovider.Node, err error) {
	c.lists++
	for _, id := range c.ids {
		if c.errs[id] == nil {
			all = append(all, listed(id))
		}
	}
	return all, nil
}

func silentNodes(n int) (objects []client.Object, ids []int) {
	for i := range n {
		node := k8sNode(fmt.Sprintf("silent-%d", i), nodeclaim.ProviderID(i+1))
		node.UID, node.Labels = types.UID(node.Name), map[string]string{karpv1.NodePoolLabelKey: "default"}
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(time.Now())}}
		objects, ids = append(objects, node), append(ids, i+1)
	}
	return objects, ids
}

// Requests for silent nodes whose Linodes exist: four times a minute one request for each node, or one list for many nodes. Nodes that
// have been silent for a long time cost one request a minute.
func TestSilentNodesCostFewRequests(t *testing.T) {
	for n, want := range map[int]counting{1: {gets: 4 * 10}, 3: {gets: 3 * 4 * 10}, 100: {lists: 4 * 10}} {
		t.Run(fmt.Sprintf("%d nodes", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects, ids := silentNodes(n)
				linodes := &counting{ids: ids}
				nodes := garbagecollection.NewNodes(kubeWith(objects...), linodes)
				until := func(end time.Duration) {
					for start := time.Now(); time.Since(start) < end; {
						result, err := nodes.Reconcile(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						time.Sleep(result.RequeueAfter)
					}
				}
				until(10 * time.Minute)
				if linodes.gets != want.gets || linodes.lists != want.lists {
					t.Errorf("in ten minutes %d single reads and %d lists, want %d and %d", linodes.gets, linodes.lists, want.gets, want.lists)
				}
				before := linodes.gets + linodes.lists
				until(10 * time.Minute)
				if got, most := linodes.gets+linodes.lists-before, max(1, (want.gets+want.lists)/4); got > most || got == 0 {
					t.Errorf("in the next ten minutes %d requests, want at most %d", got, most)
				}
			})
		})
	}
}

// No answer, a foreign Linode and a refusal prove nothing.
func TestOnlyProofDeletesANode(t *testing.T) {
	for kind, goes := range map[claims.Kind]bool{claims.KindNotFound: true, claims.KindConflict: false, claims.KindUnavailable: false,
		claims.KindForbidden: false, claims.KindRateLimited: false} {
		t.Run(string(kind), func(t *testing.T) {
			for _, n := range []int{1, 10} { // read one by one, and by a list that lacks it
				objects, ids := silentNodes(n)
				kube := kubeWith(objects...)
				linodes := &counting{ids: ids, errs: map[int]error{1: &claims.Error{Kind: kind, Op: "get", Err: errors.New("no")}}}
				if _, err := garbagecollection.NewNodes(kube, linodes).Reconcile(t.Context()); (err != nil) != (!goes && kind != claims.KindConflict) {
					t.Errorf("the error is %v", err)
				}
				left := &corev1.NodeList{}
				if err := kube.List(t.Context(), left); err != nil {
					t.Fatal(err)
				}
				if got := len(left.Items) < n; got != goes {
					t.Errorf("of %d nodes %d are left", n, len(left.Items))
				}
			}
		})
	}
}
