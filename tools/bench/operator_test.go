package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/drain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// The intervals of what an operator does at rest.
const (
	coreCollects = 2 * time.Minute // core v1.15.0, nodeclaim.garbagecollection
	coreDrift    = 5 * time.Minute // core v1.15.0, nodeclaim.disruption, for each NodeClaim
	sweepOrphans = 2 * time.Minute // GARBAGE_COLLECTION_INTERVAL
	checkClasses = 5 * time.Minute // linodenodeclass
	answersLast  = 4 * time.Minute // the age up to which readings of cluster and firewalls serve
)

// operator is the provider's own parts over the lab, as cmd/controller wires
// them, with NodeClaims in memory instead of a Kubernetes API server. Core's
// controllers are simulated by rest.
type operator struct {
	t        *testing.T
	lab      *lab
	kube     client.Client
	class    *v1alpha1.LinodeNodeClass
	provider *cloudprovider.CloudProvider
	sweeper  *garbagecollection.Controller
	tagger   *upkeep.Controller
	market   *catalog.Catalog
	tracker  *lke.Tracker
	lookup   *nodeclass.Lookup
	claims   []*karpv1.NodeClaim
}

func newOperator(t *testing.T, l *lab, createDeadline time.Duration) *operator {
	t.Helper()
	o := &operator{t: t, lab: l, class: nodeClass(l)}
	o.market = catalog.NewCatalog(l.client, catalog.Config{Region: l.cluster.Region})
	if err := o.market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(o.class, nodePool(poolName)).Build()
	cluster := lke.Cluster{Cluster: lkepools.Cluster{ID: l.cluster.ID, Name: l.cluster.Label, Tier: l.cluster.Tier}, Region: l.cluster.Region,
		Version: l.cluster.K8sVersion}
	o.provider = cloudprovider.New(o.kube, lke.NewBackend(lke.Config{Cluster: cluster, Pools: l.pools}), o.market, cloudprovider.Config{
		Region: cluster.Region, CreateDeadline: createDeadline,
	})
	o.sweeper = garbagecollection.NewController(o.kube, o.kube, l.pools, drain.New(o.kube, o.kube, nil),
		garbagecollection.Config{OnCollected: func(c claims.Collected) {
			if len(c.Removed) > 0 || len(c.Pools) > 0 {
				t.Errorf("at rest %d nodes and %d pools were collected", len(c.Removed), len(c.Pools))
			}
		}})
	o.tagger = upkeep.NewController(o.kube, l.pools, o.provider, nil)
	o.tracker = lke.NewTracker(l.client, cluster, answersLast)
	o.lookup = nodeclass.NewLookup(l.client, answersLast)
	return o
}

// nodeClass is one for LKE that has been checked, with a firewall where pools have one.
func nodeClass(l *lab) *v1alpha1.LinodeNodeClass {
	spec := v1alpha1.LinodeNodeClassSpec{}
	if l.firewall != 0 {
		spec.FirewallID = &l.firewall
	}
	return checkedClass(v1alpha1.ModeLKE, l.cluster.K8sVersion, spec)
}

// checkedClass is a class with tags as the operator leaves it in its status.
func checkedClass(mode v1alpha1.Mode, version string, spec v1alpha1.LinodeNodeClassSpec) *v1alpha1.LinodeNodeClass {
	c := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: spec}
	c.Spec.Tags = []string{"team=a"}
	for _, kind := range v1alpha1.ConditionTypes(mode) {
		c.StatusConditionsFor(mode).SetTrue(kind)
	}
	c.Status.KubernetesVersion = version
	c.Annotations = map[string]string{v1alpha1.AnnotationHash: c.Hash(mode), v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion}
	return c
}

func classRef() *karpv1.NodeClassReference {
	return &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"}
}

// poolName is the NodePool of claimants that share one.
const poolName = "default"

func nodePool(name string) *karpv1.NodePool {
	return &karpv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: karpv1.NodePoolSpec{Template: karpv1.NodeClaimTemplate{
			ObjectMeta: karpv1.ObjectMeta{Labels: map[string]string{"example.com/team": "a"}},
			Spec:       karpv1.NodeClaimTemplateSpec{NodeClassRef: classRef()},
		}},
	}
}

// nodeClaim is the i-th of a NodePool.
func nodeClaim(pool string, i int) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%05d", pool, i), UID: types.UID(fmt.Sprint("uid-", pool, "-", i)),
			Labels: map[string]string{karpv1.NodePoolLabelKey: pool, v1alpha1.LabelNodeClass: "default", "example.com/team": "a"},
		},
		Spec: karpv1.NodeClaimSpec{
			NodeClassRef: classRef(),
			Resources:    karpv1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}},
			Requirements: []karpv1.NodeSelectorRequirementWithMinValues{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{plan},
			}},
		},
	}
}

// fill makes n NodeClaims and gives each its instance, as core's launch does.
func (o *operator) fill(n int) {
	o.t.Helper()
	var group sync.WaitGroup
	o.claims = make([]*karpv1.NodeClaim, n)
	for i := range n {
		group.Go(func() {
			claim := nodeClaim(poolName, i)
			o.claims[i] = claim
			if err := o.kube.Create(o.t.Context(), claim); err != nil {
				o.t.Errorf("storing %s: %v", claim.Name, err)
				return
			}
			created, err := o.provider.Create(o.t.Context(), claim)
			if err != nil {
				o.t.Errorf("launching %s: %v", claim.Name, err)
				return
			}
			claim.Annotations = created.Annotations
			claim.Status.ProviderID = created.Status.ProviderID
			if err := o.kube.Update(o.t.Context(), claim); err != nil {
				o.t.Errorf("storing %s: %v", claim.Name, err)
			}
		})
	}
	group.Wait()
}

// rest does the work of an idle operator for a time.
func (o *operator) rest(length time.Duration) {
	ctx, cancel := context.WithTimeout(o.t.Context(), length)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		if err := o.market.Start(ctx); err != nil {
			o.t.Errorf("refreshing instance types: %v", err)
		}
	})
	group.Go(func() { every(ctx, coreCollects, o.list) })
	group.Go(func() { every(ctx, sweepOrphans, o.sweep) })
	group.Go(func() { every(ctx, checkClasses, o.check) })
	for i, claim := range o.claims {
		group.Go(func() {
			pause(ctx, coreDrift*time.Duration(i)/time.Duration(len(o.claims)))
			every(ctx, coreDrift, func(ctx context.Context) { o.look(ctx, claim) })
		})
	}
	group.Wait()
}

func (o *operator) list(ctx context.Context) {
	nodes, err := o.provider.List(ctx)
	if ctx.Err() == nil && (err != nil || len(nodes) != len(o.claims)) {
		o.t.Errorf("%d of %d nodes are listed: %v", len(nodes), len(o.claims), err)
	}
}

func (o *operator) sweep(ctx context.Context) {
	if _, err := o.sweeper.Reconcile(ctx); err != nil && ctx.Err() == nil {
		o.t.Errorf("sweeping: %v", err)
	}
}

func (o *operator) check(ctx context.Context) {
	o.tracker.Cluster(ctx)
	if o.class.Spec.FirewallID == nil {
		return
	}
	if _, err := o.lookup.Firewall(ctx, *o.class.Spec.FirewallID); err != nil && ctx.Err() == nil {
		o.t.Errorf("looking the firewall up: %v", err)
	}
}

// look is drift, and the check of the tags, which an event may cause any time.
func (o *operator) look(ctx context.Context, claim *karpv1.NodeClaim) {
	if reason, err := o.provider.IsDrifted(ctx, claim); ctx.Err() == nil && (err != nil || reason != "") {
		o.t.Errorf("%s drifted: %q, %v", claim.Name, reason, err)
	}
	if _, err := o.tagger.Reconcile(ctx, claim.DeepCopy()); err != nil && ctx.Err() == nil {
		o.t.Errorf("checking the tags of %s: %v", claim.Name, err)
	}
}

// every does something at once and again after each interval.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	for ctx.Err() == nil {
		do(ctx)
		pause(ctx, interval)
	}
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
