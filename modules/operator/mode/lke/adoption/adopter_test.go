package adoption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke/adoption"
)

// scene is a cluster with pools of the alpha provider.
type scene struct {
	t       *testing.T
	sim     *linodesim.Sim
	cluster linodesim.ClusterInfo
	objects []client.Object
	events  recorded
}

type recorded []events.Event

func (r *recorded) Publish(all ...events.Event) { *r = append(*r, all...) }

func newScene(t *testing.T, tier string) *scene {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, condition := range v1alpha1.ConditionTypes(v1alpha1.ModeLKE) {
		class.StatusConditions().SetTrue(condition)
	}
	nodePool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	return &scene{t: t, sim: sim, cluster: cluster, objects: []client.Object{class, nodePool}}
}

// pool makes a pool as the alpha provider does, with tags joined by separator, and a NodeClaim for each name. A node for
// which there is no name has no owner.
func (s *scene) pool(separator string, nodes int, names ...string) linodesim.Pool {
	s.t.Helper()
	tags := []string{
		"karpenter.k8s.linode/lke-managed" + separator + "true", "karpenter.sh/nodepool" + separator + "default",
		"lke-cluster-name" + separator + "demo",
	}
	pool, err := s.sim.AddPool(s.cluster.ID, linodesim.PoolSpec{
		Type: "g6-standard-2", Count: nodes, Tags: tags, Labels: map[string]string{"theirs": "stays"},
		Taints: []linodesim.Taint{{Key: "startup", Value: "x", Effect: "NoSchedule"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	pool = s.poolNow(pool.ID)
	for i, name := range names {
		id := pool.Nodes[i].InstanceID
		claimTags := append(slices.Clone(s.instance(id).Tags), append(tags, "karpenter.sh/nodeclaim"+separator+name)...)
		if err := s.sim.EditInstanceTags(id, slices.Compact(claimTags)); err != nil {
			s.t.Fatal(err)
		}
		s.objects = append(s.objects, &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{karpv1.NodePoolLabelKey: "default"},
				CreationTimestamp: metav1.Time{Time: time.Unix(int64(i), 0)}},
			Spec:   karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}},
			Status: karpv1.NodeClaimStatus{ProviderID: fmt.Sprintf("linode://%d", id)},
		})
	}
	return pool
}

func (s *scene) poolNow(id int) linodesim.Pool {
	s.t.Helper()
	for _, pool := range s.sim.Snapshot().Clusters[0].Pools {
		if pool.ID == id {
			return pool
		}
	}
	s.t.Fatalf("no pool %d", id)
	return linodesim.Pool{}
}

func (s *scene) instance(id int) linodesim.Instance {
	s.t.Helper()
	for _, instance := range s.sim.Snapshot().Instances {
		if instance.ID == id {
			return instance
		}
	}
	s.t.Fatalf("no instance %d", id)
	return linodesim.Instance{}
}

func (s *scene) adopt() (int, error) {
	s.t.Helper()
	api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: s.sim.Transport()})
	if err != nil {
		s.t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(s.objects...).WithStatusSubresource().Build()
	return adoption.New(adoption.Config{
		API: api, Kube: kube, ClusterID: s.cluster.ID, Events: &s.events,
		Wanted: func(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, _ *v1alpha1.LinodeNodeClass, instanceType string) lkepool.Request {
			return lkepool.Request{
				Key: lkepool.Key{NodePool: nodePool.Name, InstanceType: instanceType,
					Template: lkepool.Template{Labels: map[string]string{"team": "a"}}},
				PoolTags: []string{"karpenter.sh/nodepool=default"},
			}
		},
	}).Adopt(s.t.Context())
}

// reasons of the events on a NodeClaim.
func (s *scene) reasons(name string) (reasons []string) {
	for _, e := range s.events {
		if e.InvolvedObject.(*karpv1.NodeClaim).Name == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func TestAPoolOfTheAlphaProviderBecomesOurs(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		for name, separator := range map[string]string{"newer tags": "=", "older tags": ":"} {
			t.Run(tier+", "+name, func(t *testing.T) {
				s := newScene(t, tier)
				pool := s.pool(separator, 3, "one", "two")
				if left, err := s.adopt(); left != 0 || err != nil {
					t.Fatalf("%d pools are left, %v", left, err)
				}
				adopted := s.poolNow(pool.ID)
				key := lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2",
					Template: lkepool.Template{Labels: map[string]string{"team": "a"}}}
				if !slices.Contains(adopted.Tags, key.Tag(claims.Tags{})) || !slices.Contains(adopted.Tags, lkepool.ManagedTag) {
					t.Errorf("the pool's tags are %v", adopted.Tags)
				}
				if adopted.Labels["theirs"] != "stays" || adopted.Labels["team"] != "a" || len(adopted.Taints) != 0 || adopted.Count != 3 {
					t.Errorf("labels %v, taints %v, %d nodes", adopted.Labels, adopted.Taints, adopted.Count)
				}
				for i, want := range []string{"karpenter.sh/nodeclaim=one", "karpenter.sh/nodeclaim=two"} {
					if tags := s.instance(pool.Nodes[i].InstanceID).Tags; !slices.Contains(tags, want) || !slices.Contains(tags, lkepool.ManagedTag) {
						t.Errorf("instance %d has tags %v", i, tags)
					}
				}
				if tags := s.instance(pool.Nodes[2].InstanceID).Tags; slices.ContainsFunc(tags,
					func(tag string) bool { return strings.HasPrefix(tag, "karpenter.sh/nodeclaim") }) {
					t.Errorf("the instance of no NodeClaim has tags %v", tags)
				}
				if !slices.Equal(s.reasons("one"), []string{adoption.EventAdopted}) {
					t.Errorf("events %v", s.reasons("one"))
				}
				before := len(s.sim.Audit())
				if left, err := s.adopt(); left != 0 || err != nil || len(s.sim.Audit()) != before {
					t.Errorf("a second time: %d left, %v, %d changes", left, err, len(s.sim.Audit())-before)
				}
			})
		}
	}
}

func TestWhatCannotBeAdoptedIsNamedAndLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(*scene)
		events []string
	}{
		"no NodeClaim": {func(s *scene) { s.objects = s.objects[:2] }, nil},
		"no NodePool":  {func(s *scene) { s.objects = slices.Delete(s.objects, 1, 2) }, []string{adoption.EventNotAdopted}},
		"no class":     {func(s *scene) { s.objects = slices.Delete(s.objects, 0, 1) }, []string{adoption.EventNotAdopted}},
		"a class that is not ready": {func(s *scene) {
			s.objects[0].(*v1alpha1.LinodeNodeClass).StatusConditions().SetFalse(v1alpha1.ConditionFirewallReady, "FirewallNotFound", "gone")
		}, []string{adoption.EventNotAdopted}},
		"several NodePools": {func(s *scene) { s.objects[3].GetLabels()[karpv1.NodePoolLabelKey] = "other" }, []string{adoption.EventNotAdopted}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, linodesim.Standard)
			pool := s.pool("=", 2, "one", "two")
			test.spoil(s)
			before := len(s.sim.Audit())
			if left, err := s.adopt(); left != 1 || err != nil {
				t.Errorf("%d pools are left, %v", left, err)
			}
			if got := s.reasons("one"); !slices.Equal(got, test.events) {
				t.Errorf("events %v, want %v", got, test.events)
			}
			if len(s.sim.Audit()) != before ||
				slices.ContainsFunc(s.poolNow(pool.ID).Tags, func(tag string) bool { return strings.Contains(tag, "pool-key") }) {
				t.Errorf("%d changes were made; the pool's tags are %v", len(s.sim.Audit())-before, s.poolNow(pool.ID).Tags)
			}
		})
	}
}

// If a Linode cannot be tagged, its pool is not adopted. Otherwise the Linode would count as a free node.
func TestAPoolIsAdoptedAfterItsLinodesOnly(t *testing.T) {
	s := newScene(t, linodesim.Standard)
	pool := s.pool(":", 2, "one", "two")
	s.sim.Fail(linodesim.Rule{Method: "PUT", Route: "/linode/instances/{linodeId}", Answer: linodesim.Answer{Status: 400}})
	if left, err := s.adopt(); left != 1 || err == nil {
		t.Errorf("%d pools are left, %v", left, err)
	}
	if tags := s.poolNow(pool.ID).Tags; slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(tag, "pool-key") }) {
		t.Errorf("the pool's tags are %v", tags)
	}
	s.sim.HealAll()
	if left, err := s.adopt(); left != 0 || err != nil {
		t.Errorf("afterwards %d pools are left, %v", left, err)
	}
}
