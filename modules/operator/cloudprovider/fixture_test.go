package cloudprovider_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// scripted is a Pools that returns the results of a test and records its calls. A method without a
// script fails the test.
type scripted struct {
	t        *testing.T
	claim    func(context.Context, lkepool.Request) (lkepool.Node, error)
	release  func(id int) error
	get      func(id int) (lkepool.Node, error)
	list     func() ([]lkepool.Node, error)
	requests []lkepool.Request
	released []int
	lists    int
}

func (s *scripted) Claim(ctx context.Context, r lkepool.Request) (lkepool.Node, error) {
	s.requests = append(s.requests, r)
	if s.claim == nil {
		s.t.Error("unexpected Claim")
		return lkepool.Node{}, nil
	}
	return s.claim(ctx, r)
}

func (s *scripted) Release(_ context.Context, id int, _ claims.Claimant) error {
	s.released = append(s.released, id)
	if s.release == nil {
		return nil
	}
	return s.release(id)
}

func (s *scripted) Get(_ context.Context, id int) (lkepool.Node, error) {
	if s.get == nil {
		s.t.Error("unexpected Get")
		return lkepool.Node{}, nil
	}
	return s.get(id)
}

func (s *scripted) List(context.Context) ([]lkepool.Node, error) {
	s.lists++
	if s.list == nil {
		s.t.Error("unexpected List")
		return nil, nil
	}
	return s.list()
}

// grant is a Claim that succeeds at once.
func grant(_ context.Context, r lkepool.Request) (lkepool.Node, error) {
	return lkepool.Node{PoolID: 7, NodeID: "7-abc", Template: r.Key.Template, Node: claims.Node{InstanceID: 4711, Name: "lke1-7-abc",
		InstanceType: r.Key.InstanceType, Region: "us-ord", Claim: claims.Tags{}.Value(r.Claimant.Name), Tags: r.PoolTags}}, nil
}

// plans are an API that lists them, each available.
type plans []api.LinodeType

func (p plans) ListTypes(context.Context, linode.Filter) iter.Seq2[api.LinodeType, error] {
	return func(yield func(api.LinodeType, error) bool) {
		for _, plan := range p {
			if !yield(plan, nil) {
				return
			}
		}
	}
}

func (p plans) RegionAvailability(context.Context, string) ([]api.RegionAvailability, error) {
	return nil, nil
}

var somePlans = plans{
	{ID: "g6-standard-1", Class: "standard", VCPUs: 1, Memory: 2048, Disk: 51200, Price: api.Price{Hourly: 0.018}},
	{ID: "g6-standard-2", Class: "standard", VCPUs: 2, Memory: 4096, Disk: 81920, Price: api.Price{Hourly: 0.036}},
	{ID: "g6-dedicated-2", Class: "dedicated", VCPUs: 2, Memory: 4096, Disk: 81920, Price: api.Price{Hourly: 0.036}},
	{ID: "g6-standard-4", Class: "standard", VCPUs: 4, Memory: 8192, Disk: 163840, Price: api.Price{Hourly: 0.072}},
	{ID: "g1-gpu-rtx4000a-1", Class: "gpu", VCPUs: 4, GPUs: 1, Memory: 16384, Disk: 512000, Price: api.Price{Hourly: 0.52}},
}

func market(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalog.NewCatalog(somePlans, catalog.Config{Region: "us-ord"})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// provider returns a CloudProvider of a cluster "demo" over scripted pools and the given objects.
func provider(t *testing.T, ofTier string, pools lke.Pools, objects ...client.Object) *cloudprovider.CloudProvider {
	t.Helper()
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build()
	return cloudprovider.New(kube, over(pools, tier(ofTier)), market(t),
		cloudprovider.Config{Region: "us-ord", CreateDeadline: 10 * time.Second})
}

func readyClass(change ...func(*v1alpha1.LinodeNodeClass)) *v1alpha1.LinodeNodeClass {
	c := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1, UID: "class-1"}}
	for _, f := range change {
		f(c)
	}
	conditions := c.StatusConditionsFor(v1alpha1.ModeLKE)
	for _, conditionType := range v1alpha1.ConditionTypes(v1alpha1.ModeLKE) {
		if c.Status.Conditions == nil || conditions.Get(conditionType).IsUnknown() {
			conditions.SetTrue(conditionType)
		}
	}
	c.Annotations = map[string]string{
		v1alpha1.AnnotationHash: c.Hash(v1alpha1.ModeLKE), v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion,
	}
	return c
}

func nodePool(labels map[string]string) *karpv1.NodePool {
	return &karpv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool-1"},
		Spec: karpv1.NodePoolSpec{Template: karpv1.NodeClaimTemplate{
			ObjectMeta: karpv1.ObjectMeta{Labels: labels},
			Spec:       karpv1.NodeClaimTemplateSpec{NodeClassRef: classRef()},
		}},
	}
}

func classRef() *karpv1.NodeClassReference {
	return &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
}

func nodeClaim(change ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: "default-x7k2p", UID: types.UID("uid-1"),
			Labels: map[string]string{karpv1.NodePoolLabelKey: "default", v1alpha1.LabelNodeClass: "default"},
		},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: classRef(),
			Resources: karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"),
				corev1.ResourcePods: resource.MustParse("3")}},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func requires(key string, operator corev1.NodeSelectorOperator, values ...string) func(*karpv1.NodeClaim) {
	return func(c *karpv1.NodeClaim) {
		c.Spec.Requirements = append(c.Spec.Requirements, karpv1.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: operator, Values: values,
		})
	}
}

func requests(name corev1.ResourceName, quantity string) func(*karpv1.NodeClaim) {
	return func(c *karpv1.NodeClaim) { c.Spec.Resources.Requests[name] = resource.MustParse(quantity) }
}

func notReady(reason, message string) *v1alpha1.LinodeNodeClass {
	c := readyClass()
	c.StatusConditionsFor(v1alpha1.ModeLKE).SetFalse(v1alpha1.ConditionValidationSucceeded, reason, message)
	c.StatusConditionsFor(v1alpha1.ModeLKE).SetFalse(status.ConditionReady, reason, message)
	return c
}

// over returns the backend of LKE mode for a Standard cluster "demo" in us-ord.
func over(pools lke.Pools, change ...func(*lke.Config)) *lke.Backend {
	config := lke.Config{Pools: pools,
		Cluster: lke.Cluster{Cluster: lkepools.Cluster{Name: "demo", Tier: lkepools.Standard}, Region: "us-ord"}}
	for _, f := range change {
		f(&config)
	}
	return lke.NewBackend(config)
}

func tier(name string) func(*lke.Config) {
	return func(c *lke.Config) { c.Cluster.Tier = name }
}
