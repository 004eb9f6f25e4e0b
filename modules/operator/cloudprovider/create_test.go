package cloudprovider_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

func TestCreateChoosesTheCheapestThatFits(t *testing.T) {
	tests := []struct {
		name  string
		claim *karpv1.NodeClaim
		want  string // "" = InsufficientCapacity
	}{
		{"one cpu with room to spare", nodeClaim(requests(corev1.ResourceCPU, "500m")), "g6-standard-1"},
		{"more cpu", nodeClaim(requests(corev1.ResourceCPU, "1500m")), "g6-dedicated-2"}, // same price as g6-standard-2: first by name
		{"more memory", nodeClaim(requests(corev1.ResourceMemory, "5Gi")), "g6-standard-4"},
		{"class", nodeClaim(requires(v1alpha1.LabelInstanceClass, corev1.NodeSelectorOpIn, "standard"), requests(corev1.ResourceCPU, "1500m")),
			"g6-standard-2"},
		{"type", nodeClaim(requires(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "g6-standard-4")), "g6-standard-4"},
		{"more than a number of cpus", nodeClaim(requires(v1alpha1.LabelInstanceCPU, corev1.NodeSelectorOpGt, "2")), "g6-standard-4"},
		{"GPU by resource", nodeClaim(requests(v1alpha1.ResourceNvidiaGPU, "1")), "g1-gpu-rtx4000a-1"},
		{"GPU by name", nodeClaim(requires(v1alpha1.LabelInstanceGPUName, corev1.NodeSelectorOpIn, "rtx4000a")), "g1-gpu-rtx4000a-1"},
		{"zone is the region", nodeClaim(requires(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "us-ord")), "g6-standard-1"},
		{"another zone", nodeClaim(requires(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "us-east")), ""},
		{"spot", nodeClaim(requires(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot")), ""},
		{"spot or on-demand", nodeClaim(requires(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot", "on-demand")), "g6-standard-1"},
		{"arm64", nodeClaim(requires(corev1.LabelArchStable, corev1.NodeSelectorOpIn, "arm64")), ""},
		{"a type that does not exist", nodeClaim(requires(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "g9-huge-1")), ""},
		{"too large", nodeClaim(requests(corev1.ResourceCPU, "64")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t, claim: grant}
			created, err := provider(t, "standard", pools, readyClass(), nodePool(nil)).Create(t.Context(), tt.claim)
			if tt.want == "" {
				if !core.IsInsufficientCapacityError(err) || len(pools.requests) != 0 {
					t.Fatalf("got %v and %d claims, want an InsufficientCapacityError and none", err, len(pools.requests))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pools.requests[0].Key.InstanceType; got != tt.want || created.Labels[corev1.LabelInstanceTypeStable] != tt.want {
				t.Errorf("asked for %s, returned %s, want %s", got, created.Labels[corev1.LabelInstanceTypeStable], tt.want)
			}
		})
	}
}

// Core must not see an instance under a NodeClaim while its Node is still closed by a drain: it would plan another node for the pods.
func TestCreateReturnsNoInstanceThatIsStillBeingDrained(t *testing.T) {
	var kept []int
	failing := errors.New("the API server does not answer")
	pools := &scripted{t: t, claim: grant}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
	linodes := cloudprovider.New(kube, over(pools, tier("standard")), market(t), cloudprovider.Config{Region: "us-ord",
		Keep: func(_ context.Context, node claims.Node) error {
			kept = append(kept, node.InstanceID)
			if len(kept) == 1 {
				return failing
			}
			return nil
		}})
	claim := nodeClaim(requests(corev1.ResourceCPU, "500m"))
	if created, err := linodes.Create(t.Context(), claim); !errors.Is(err, failing) || created != nil {
		t.Fatalf("got %v and %v, want no NodeClaim and the error", created, err)
	}
	created, err := linodes.Create(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept, []int{4711, 4711}) || created.Status.ProviderID != "linode://4711" {
		t.Errorf("got %s after Keep of %v, want that of 4711, kept twice", created.Status.ProviderID, kept)
	}
}

// launches records what Create hands to a mode.
type rejected struct {
	*lke.Backend
	all []cloudprovider.Launch
}

func (l *rejected) Claim(ctx context.Context, launch cloudprovider.Launch) (cloudprovider.Node, error) {
	l.all = append(l.all, launch)
	return l.Backend.Claim(ctx, launch)
}

func TestALaunchHasTheLabelsOfItsType(t *testing.T) {
	backend := &rejected{Backend: over(&scripted{t: t, claim: grant})}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
	p := cloudprovider.New(kube, backend, market(t), cloudprovider.Config{Region: "us-ord"})
	if _, err := p.Create(t.Context(), nodeClaim()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-1", corev1.LabelTopologyZone: "us-ord",
		v1alpha1.LabelInstanceClass: "standard"} {
		if got := backend.all[0].Labels[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func TestCreateReturnsWhatTheNodeWillBe(t *testing.T) {
	pools := &scripted{t: t, claim: grant}
	class := readyClass(func(c *v1alpha1.LinodeNodeClass) { c.Spec.Tags = []string{"team=b", "cost=a"} })
	created, err := provider(t, "standard", pools, class, nodePool(nil)).Create(t.Context(), nodeClaim(requests(corev1.ResourceCPU, "500m")))
	if err != nil {
		t.Fatal(err)
	}
	if created.Status.ProviderID != "linode://4711" {
		t.Errorf("got provider ID %q", created.Status.ProviderID)
	}
	for label, want := range map[string]string{
		corev1.LabelInstanceTypeStable: "g6-standard-1", corev1.LabelTopologyRegion: "us-ord", corev1.LabelTopologyZone: "us-ord",
		karpv1.CapacityTypeLabelKey: "on-demand", corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		v1alpha1.LabelInstanceCPU: "1", v1alpha1.LabelInstanceClass: "standard", karpv1.NodePoolLabelKey: "default",
	} {
		if got := created.Labels[label]; got != want {
			t.Errorf("label %s: got %q, want %q", label, got, want)
		}
	}
	if _, ok := created.Labels[v1alpha1.LabelInstanceGPUName]; ok {
		t.Error("a plan without a GPU has a GPU label")
	}
	for annotation, want := range map[string]string{
		v1alpha1.AnnotationHash: class.Hash(v1alpha1.ModeLKE), v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion,
		v1alpha1.AnnotationLastAppliedUserTags: `["cost=a","team=b"]`,
	} {
		if got := created.Annotations[annotation]; got != want {
			t.Errorf("annotation %s: got %q, want %q", annotation, got, want)
		}
	}
	if created.Status.Capacity.Cpu().Value() != 1 || created.Status.Allocatable.Memory().Value() >= created.Status.Capacity.Memory().Value() {
		t.Errorf("got capacity %v, allocatable %v", created.Status.Capacity, created.Status.Allocatable)
	}
}

// Startup taints stay off the pool, because LKE would restore them after their removal. Labels of the Node that are
// not the template's, and labels and taints that LKE refuses, stay off it too.
func TestOnlyWhatLKETakesGoesOnThePool(t *testing.T) {
	pool := nodePool(map[string]string{
		"team": "a", "example.com/tier": "web", "node.kubernetes.io/exclude": "x", "lke.linode.com/mine": "x",
		strings.Repeat("k", 64): "x", "example.com/" + strings.Repeat("n", 63): "x", "changed": "new", "absent": "x",
	})
	claim := nodeClaim(func(c *karpv1.NodeClaim) {
		for key, value := range pool.Spec.Template.Labels {
			c.Labels[key] = value
		}
		c.Labels["changed"] = "old" // the NodePool changed after the NodeClaim was made
		delete(c.Labels, "absent")
		c.Labels["resolved-from-a-requirement"] = "random"
		c.Spec.Taints = []corev1.Taint{
			{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule},
			{Key: "no-value", Effect: corev1.TaintEffectNoExecute},
			{Key: "node.kubernetes.io/reserved", Value: "x", Effect: corev1.TaintEffectNoSchedule},
			{Key: strings.Repeat("k", 64), Effect: corev1.TaintEffectNoSchedule},
		}
		c.Spec.StartupTaints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
	})
	pools := &scripted{t: t, claim: grant}
	if _, err := provider(t, "standard", pools, readyClass(), pool).Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	got := pools.requests[0].Key.Template
	want := map[string]string{"team": "a", "example.com/tier": "web", "changed": "old"}
	if len(got.Labels) != len(want) {
		t.Errorf("got labels %v, want %v", got.Labels, want)
	}
	for key, value := range want {
		if got.Labels[key] != value {
			t.Errorf("label %s: got %q, want %q", key, got.Labels[key], value)
		}
	}
	wantTaints := []lkepool.Taint{{Key: "dedicated", Value: "db", Effect: "NoSchedule"}, {Key: "no-value", Effect: "NoExecute"}}
	if !slices.Equal(got.Taints, wantTaints) {
		t.Errorf("got taints %v, want %v", got.Taints, wantTaints)
	}
}

// Nodes join without Karpenter's unregistered taint unless the setting is on, which puts it on new pools.
func TestUnregisteredTaintFollowsTheSetting(t *testing.T) {
	pools := &scripted{t: t, claim: grant, list: func() ([]lkepool.Node, error) { return nil, nil }}
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
	on := true
	tainting := func(c *lke.Config) { c.UnregisteredTaint = func() bool { return on } }
	p := cloudprovider.New(kube, over(pools, tainting), market(t), cloudprovider.Config{Region: "us-ord"})
	own := lkepool.Taint{Key: "dedicated", Value: "db", Effect: "NoSchedule"}
	claim := nodeClaim(func(c *karpv1.NodeClaim) {
		c.Spec.Taints = []corev1.Taint{{Key: own.Key, Value: own.Value, Effect: corev1.TaintEffectNoSchedule}}
	})
	for _, want := range [][]lkepool.Taint{{own, {Key: "karpenter.sh/unregistered", Effect: "NoExecute"}}, {own}} {
		if _, err := p.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		request := pools.requests[len(pools.requests)-1]
		if !slices.Equal(request.Key.Template.Taints, want) {
			t.Errorf("on=%t: taints %v, want %v", on, request.Key.Template.Taints, want)
		}
		if err := lkepools.CheckTaint(request.Key.Template.Taints[len(want)-1]); err != nil {
			t.Error(err)
		}
		// With the setting on or off, a node of either kind is as it should be.
		made := claimed(5, claim.Name, func(n *lkepool.Node) { n.Taints = request.Key.Template.Taints })
		pools.list = func() ([]lkepool.Node, error) { return []lkepool.Node{made}, nil }
		launched := nodeClaim(func(c *karpv1.NodeClaim) { c.Spec.Taints, c.Status.ProviderID = claim.Spec.Taints, "linode://5" })
		for _, now := range []bool{true, false} {
			on = now
			if reason, err := cloudprovider.New(kube, over(pools, tainting), market(t),
				cloudprovider.Config{Region: "us-ord"}).IsDrifted(t.Context(), launched); reason != "" || err != nil {
				t.Errorf("taints %v, on=%t: drifted %q, %v", made.Taints, now, reason, err)
			}
		}
	}
}

func TestTemplateFollowsTheClassAndTheTier(t *testing.T) {
	firewall := 99
	class := readyClass(func(c *v1alpha1.LinodeNodeClass) {
		c.Spec.DiskEncryption = v1alpha1.DiskEncryptionEnabled
		c.Spec.FirewallID = &firewall
		c.Status.KubernetesVersion = "v1.33.6+lke7"
	})
	for tier, version := range map[string]string{"standard": "", "enterprise": "v1.33.6+lke7"} {
		pools, isolation := &scripted{t: t, claim: grant}, lkepool.Isolation{}
		if tier == "enterprise" {
			class.Spec.Isolation, isolation = &v1alpha1.Isolation{PublicIPv4: new(bool)}, lkepool.Isolation{PublicIPv4: "false"}
		}
		if _, err := provider(t, tier, pools, class, nodePool(nil)).Create(t.Context(), nodeClaim()); err != nil {
			t.Fatal(err)
		}
		got := pools.requests[0].Key.Template
		if got.KubernetesVersion != version || got.FirewallID != 99 || got.DiskEncryption != "enabled" ||
			got.Isolation != isolation {
			t.Errorf("%s: got %+v", tier, got)
		}
		class.Spec.Isolation = nil
	}
}

// A class that was Ready before the rule existed is not checked again in the moment of an upgrade: nothing is requested all the same, for
// no NodePool of the class, until it is changed.
func TestIsolationIsRefusedOnStandardWithoutARequest(t *testing.T) {
	class := readyClass(func(c *v1alpha1.LinodeNodeClass) { c.Spec.Isolation = &v1alpha1.Isolation{PublicIPv4: new(bool)} })
	pools := &scripted{t: t, claim: grant}
	p := provider(t, "standard", pools, class, nodePool(nil))
	_, err := p.Create(t.Context(), nodeClaim())
	if !core.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "remove spec.isolation from LinodeNodeClass default") {
		t.Errorf("got %v", err)
	}
	if len(pools.requests) > 0 {
		t.Errorf("a node was requested: %+v", pools.requests)
	}
	if got := p.ClassRefused(class); !strings.Contains(got, "LKE Enterprise") {
		t.Errorf("the class shows %q", got)
	}
}

// A value that is too long for the API's limit is cut and ends in a hash of the whole.
func TestTagsFitWhateverTheNames(t *testing.T) {
	long := strings.Repeat("name-", 12)
	class := readyClass(func(c *v1alpha1.LinodeNodeClass) { c.Name = long + "class"; c.Spec.Tags = []string{"team=a"} })
	claim := nodeClaim(func(c *karpv1.NodeClaim) {
		c.Labels[karpv1.NodePoolLabelKey] = long + "pool"
		c.Spec.NodeClassRef.Name = long + "class"
	})
	pools := &scripted{t: t, claim: grant}
	if _, err := provider(t, "standard", pools, class).Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	r := pools.requests[0]
	if !slices.Equal(r.Tags, []string{"team=a"}) {
		t.Errorf("got user tags %v", r.Tags)
	}
	if !slices.Contains(r.PoolTags, "kubernetes.io/cluster/demo=owned") || !slices.Contains(r.PoolTags, "lke-cluster-name=demo") ||
		!slices.Contains(r.PoolTags, "karpenter.k8s.linode/lke-managed=true") {
		t.Errorf("got %v", r.PoolTags)
	}
	for _, prefix := range []string{"karpenter.sh/nodepool=name", "karpenter.k8s.linode/linodenodeclass=name"} {
		if cut := regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + "[name-]*_[0-9a-f]{8}$"); !slices.ContainsFunc(r.PoolTags,
			cut.MatchString) {
			t.Errorf("no tag that matches %s in %v", cut, r.PoolTags)
		}
	}
	for _, tag := range r.PoolTags {
		if len(tag) > 50 {
			t.Errorf("tag %q has %d characters", tag, len(tag))
		}
	}
}

func TestNothingIsMadeFromAClassThatIsNotReady(t *testing.T) {
	deleting := readyClass(func(c *v1alpha1.LinodeNodeClass) {
		c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{v1alpha1.Finalizer}
	})
	unchecked := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	isCreateError := func(err error) bool {
		var createErr *core.CreateError
		return errors.As(err, &createErr)
	}
	tests := []struct {
		name  string
		class *v1alpha1.LinodeNodeClass
		is    func(error) bool
		says  string
	}{
		{"not ready", notReady(v1alpha1.ReasonTagValidationFailed, "tag x has a restricted key"), core.IsNodeClassNotReadyError,
			"restricted key"},
		{"being deleted", deleting, core.IsNodeClassNotReadyError, "being deleted"},
		{"missing", nil, core.IsNodeClassNotReadyError, "does not exist"},
		{"not checked yet", unchecked, isCreateError, "not checked yet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t}
			p := provider(t, "standard", pools, nodePool(nil))
			if tt.class != nil {
				p = provider(t, "standard", pools, nodePool(nil), tt.class)
			}
			_, err := p.Create(t.Context(), nodeClaim())
			if !tt.is(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A launch has a bound, and the engine waits with its context.
func TestCreateWaitsNoLongerThanItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pools := &scripted{t: t, claim: func(ctx context.Context, _ lkepool.Request) (lkepool.Node, error) {
			<-ctx.Done()
			return lkepool.Node{}, &claims.Error{Kind: claims.KindProvisioning, Op: "claim", Err: ctx.Err()}
		}}
		start := time.Now()
		_, err := provider(t, "standard", pools, readyClass(), nodePool(nil)).Create(t.Context(), nodeClaim())
		var createErr *core.CreateError
		if !errors.As(err, &createErr) || createErr.ConditionReason != "Provisioning" {
			t.Errorf("got %v", err)
		}
		if elapsed := time.Since(start); elapsed != 10*time.Second {
			t.Errorf("waited %s, want 10s", elapsed)
		}
	})
}

// A second attempt requests the same plan although a cheaper one has become available: the node of the first attempt is on its way.
func TestARepeatedCreateAsksForTheSamePlan(t *testing.T) {
	granted := false
	pools := &scripted{t: t, claim: func(ctx context.Context, r lkepool.Request) (lkepool.Node, error) {
		if granted {
			return grant(ctx, r)
		}
		return lkepool.Node{}, &claims.Error{Kind: claims.KindProvisioning, Op: "claim"}
	}}
	p := provider(t, "standard", pools, readyClass(), nodePool(nil))
	first := nodeClaim(requests(corev1.ResourceCPU, "1500m"))
	if _, err := p.Create(t.Context(), first); err == nil {
		t.Fatal("want an error")
	}
	granted = true
	cheaper := nodeClaim(requests(corev1.ResourceCPU, "500m")) // as if prices had changed: alone it would get g6-standard-1
	if _, err := p.Create(t.Context(), cheaper); err != nil {
		t.Fatal(err)
	}
	if a, b := pools.requests[0].Key, pools.requests[1].Key; a.InstanceType != b.InstanceType {
		t.Errorf("asked for %s, then for %s", a.InstanceType, b.InstanceType)
	}
}

// The claim of an earlier process is found on a node of another plan than would be chosen now: that one counts.
func TestCreateDescribesTheNodeItGot(t *testing.T) {
	pools := &scripted{t: t, claim: func(ctx context.Context, r lkepool.Request) (lkepool.Node, error) {
		node, err := grant(ctx, r)
		node.InstanceType = "g6-standard-4"
		return node, err
	}}
	created, err := provider(t, "standard", pools, readyClass(), nodePool(nil)).Create(t.Context(),
		nodeClaim(requests(corev1.ResourceCPU, "500m")))
	if err != nil {
		t.Fatal(err)
	}
	if created.Labels[corev1.LabelInstanceTypeStable] != "g6-standard-4" || created.Labels[v1alpha1.LabelInstanceCPU] != "4" ||
		created.Status.Capacity.Cpu().Value() != 4 {
		t.Errorf("got labels %v, capacity %v", created.Labels, created.Status.Capacity)
	}
}
