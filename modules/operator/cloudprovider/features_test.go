package cloudprovider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

func overlay(name string, spec karpv1alpha1.NodeOverlaySpec) *karpv1alpha1.NodeOverlay {
	return &karpv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

func on(key string, values ...string) []karpv1alpha1.NodeSelectorRequirement {
	return []karpv1alpha1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}
}

// overlaidProvider is a provider whose overlays core's own controller evaluates, when evaluate is called.
func overlaidProvider(t *testing.T, pools lke.Pools, objects ...client.Object) (p core.CloudProvider, evaluate func()) {
	t.Helper()
	kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&karpv1alpha1.NodeOverlay{}).Build()
	store := nodeoverlay.NewInstanceTypeStore()
	p = cloudprovider.New(kube, over(pools), market(t), cloudprovider.Config{
		Region: "us-ord", Overlays: store,
	})
	now := clock.NewFakeClock(metav1.Now().Time)
	controller := nodeoverlay.NewController(now, kube, p, store, state.NewCluster(now, kube, p))
	return p, func() {
		t.Helper()
		if _, err := controller.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A NodeOverlay's price decides which type is the cheapest, and its capacity which holds the pods.
func TestNodeOverlaysDecideWhatIsBought(t *testing.T) {
	price, dearer := "0.001", "+0.1"
	small := nodeClaim(requests(corev1.ResourceCPU, "500m"))
	device := corev1.ResourceName("example.com/device")
	tests := []struct {
		name     string
		overlays []client.Object
		claim    *karpv1.NodeClaim
		want     string
	}{
		{"none", nil, small, "g6-standard-1"},
		{"a dear type made cheap", []client.Object{overlay("a", karpv1alpha1.NodeOverlaySpec{
			Requirements: on(corev1.LabelInstanceTypeStable, "g6-standard-4"), Price: &price})}, small, "g6-standard-4"},
		{"the cheapest made dear", []client.Object{overlay("a", karpv1alpha1.NodeOverlaySpec{
			Requirements: on(v1alpha1.LabelInstanceClass, "standard"), PriceAdjustment: &dearer})}, small, "g6-dedicated-2"},
		{"for another NodePool", []client.Object{overlay("a", karpv1alpha1.NodeOverlaySpec{
			Requirements: on(karpv1.NodePoolLabelKey, "other"), PriceAdjustment: &dearer})}, small, "g6-standard-1"},
		{"a resource that the plan has not", []client.Object{overlay("a", karpv1alpha1.NodeOverlaySpec{
			Requirements: on(corev1.LabelInstanceTypeStable, "g6-standard-4"), Capacity: corev1.ResourceList{device: resource.MustParse("2")}})},
			nodeClaim(requests(device, "1")), "g6-standard-4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t, claim: grant}
			p, evaluate := overlaidProvider(t, pools, append(tt.overlays, readyClass(), nodePool(nil))...)
			_, err := p.Create(t.Context(), tt.claim)
			var createErr *core.CreateError
			if !errors.As(err, &createErr) || createErr.ConditionReason != "NodeOverlaysNotEvaluated" || len(pools.requests) != 0 {
				t.Fatalf("before the overlays are evaluated: %v, and %d requests", err, len(pools.requests))
			}
			evaluate()
			created, err := p.Create(t.Context(), tt.claim)
			if err != nil {
				t.Fatal(err)
			}
			if got := pools.requests[0].Key.InstanceType; got != tt.want {
				t.Errorf("asked for %s, want %s", got, tt.want)
			}
			// While the node is on its way, core relies on the resources in the NodeClaim's status.
			for name := range tt.claim.Spec.Resources.Requests {
				if has := created.Status.Allocatable[name]; has.IsZero() {
					t.Errorf("the NodeClaim will have no %s", name)
				}
			}
		})
	}
}

// A NodePool that was deleted has no overlays any more; the NodeClaims that it leaves are launched all the same.
func TestOverlaysOfANodePoolThatIsGone(t *testing.T) {
	pools := &scripted{t: t, claim: grant}
	p, evaluate := overlaidProvider(t, pools, readyClass())
	evaluate()
	if _, err := p.Create(t.Context(), nodeClaim()); err != nil {
		t.Error(err)
	}
}

func choice(key string, least int, values ...string) func(*karpv1.NodeClaim) {
	return func(c *karpv1.NodeClaim) {
		c.Spec.Requirements = append(c.Spec.Requirements, karpv1.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: values, MinValues: &least,
		})
	}
}

func TestMinValues(t *testing.T) {
	three := []string{"g6-standard-1", "g6-standard-2", "g6-dedicated-2"}
	tests := []struct {
		name  string
		claim *karpv1.NodeClaim
		relax bool
		want  string // "" = InsufficientCapacity
	}{
		{"choice enough", nodeClaim(choice(corev1.LabelInstanceTypeStable, 3, three...), requests(corev1.ResourceCPU, "500m")), false,
			"g6-standard-1"},
		{"one is too small", nodeClaim(choice(corev1.LabelInstanceTypeStable, 3, three...), requests(corev1.ResourceCPU, "1500m")), false, ""},
		{"one is too small, and the policy lets it be",
			nodeClaim(choice(corev1.LabelInstanceTypeStable, 3, three...), requests(corev1.ResourceCPU, "1500m")), true, "g6-dedicated-2"},
		{"two classes", nodeClaim(choice(v1alpha1.LabelInstanceClass, 2, "standard", "dedicated")), false, "g6-standard-1"},
		{"three classes, one of them of no use", nodeClaim(choice(v1alpha1.LabelInstanceClass, 3, "standard", "dedicated", "highmem")), false,
			""},
		{"none left, whatever the policy", nodeClaim(choice(corev1.LabelInstanceTypeStable, 2, "g9-a", "g9-b")), true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pools := &scripted{t: t, claim: grant}
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass(), nodePool(nil)).Build()
			p := cloudprovider.New(kube, over(pools), market(t), cloudprovider.Config{
				Region: "us-ord", RelaxMinValues: tt.relax,
			})
			_, err := p.Create(t.Context(), tt.claim)
			if tt.want == "" {
				if !core.IsInsufficientCapacityError(err) || len(pools.requests) != 0 {
					t.Errorf("got %v and %d requests", err, len(pools.requests))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pools.requests[0].Key.InstanceType; got != tt.want {
				t.Errorf("asked for %s, want %s", got, tt.want)
			}
		})
	}
}

// Only on-demand exists; a claim that requires another capacity type gets an error that names it.
func TestSpotAndReservedGetNothing(t *testing.T) {
	for _, capacityTypes := range [][]string{{"spot"}, {"reserved"}, {"spot", "reserved"}} {
		pools := &scripted{t: t}
		claim := nodeClaim(requires(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...))
		_, err := provider(t, "standard", pools, readyClass(), nodePool(nil)).Create(t.Context(), claim)
		if !core.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "only on-demand capacity") ||
			!strings.Contains(err.Error(), capacityTypes[0]) {
			t.Errorf("%v: got %v", capacityTypes, err)
		}
	}
}

// Core leaves out a NodePool that can get nothing, without a report. The event on the NodePool names the reason.
func TestANodePoolThatCanGetNothingSaysWhy(t *testing.T) {
	least := 3
	tests := []struct {
		name        string
		requirement karpv1.NodeSelectorRequirementWithMinValues
		relax       bool
		says        []string // nil = nothing
	}{
		{"spot", karpv1.NodeSelectorRequirementWithMinValues{Key: karpv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn,
			Values: []string{"spot"}}, false,
			[]string{"Warning NoCompatibleInstanceTypes", "Linode sells only on-demand capacity, no spot capacity"}},
		{"spot or on-demand", karpv1.NodeSelectorRequirementWithMinValues{Key: karpv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn,
			Values: []string{"spot", "on-demand"}}, false, nil},
		{"arm64", karpv1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn,
			Values: []string{"arm64"}}, false,
			[]string{"Warning NoCompatibleInstanceTypes", "no plan has kubernetes.io/arch = arm64. Existing values: amd64"}},
		{"more classes than two", karpv1.NodeSelectorRequirementWithMinValues{Key: v1alpha1.LabelInstanceGeneration,
			Operator: corev1.NodeSelectorOpExists, MinValues: &least}, false,
			[]string{"Warning NoCompatibleInstanceTypes", "minValues", v1alpha1.LabelInstanceGeneration}},
		{"the same with BestEffort", karpv1.NodeSelectorRequirementWithMinValues{Key: v1alpha1.LabelInstanceGeneration,
			Operator: corev1.NodeSelectorOpExists, MinValues: &least}, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := record.NewFakeRecorder(10)
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(readyClass()).Build()
			p := cloudprovider.New(kube, over(&scripted{t: t}), market(t), cloudprovider.Config{
				Region: "us-ord", RelaxMinValues: tt.relax,
				Events: quietly(told),
			})
			pool := nodePool(nil)
			pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{tt.requirement}
			for range 3 { // core calls all the time
				if all, err := p.GetInstanceTypes(t.Context(), pool); err != nil || len(all) != len(somePlans) {
					t.Fatalf("got %d types, %v", len(all), err)
				}
			}
			expect(t, told, tt.says)
		})
	}
}

// Core replaces a static NodePool's NodeClaim the moment it is given up, whether anything can be bought or not, and plans nothing for
// any pod while it has no instance.
func TestAStaticNodePoolThatGetsNoNodesMakesNoNodeClaimsForAWhile(t *testing.T) {
	static := nodePool(nil)
	replicas := int64(2)
	static.Spec.Replicas = &replicas
	other := nodeClaim(func(c *karpv1.NodeClaim) { c.Labels[karpv1.NodePoolLabelKey] = "other" })
	for kind, attempts := range map[string]int{"QuotaExceeded": 1, "InsufficientCapacity": 1, "Forbidden": 4} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pools := &scripted{t: t, claim: func(context.Context, request) (node, error) { return node{}, failing(claims.Kind(kind), "") }}
				p := provider(t, "standard", pools, readyClass(), static)
				made := 0
				for p.Held(nodeClaim()) == nil && made <= len(somePlans) {
					made++
					claim := nodeClaim(func(c *karpv1.NodeClaim) { c.UID = types.UID(fmt.Sprint(made)) })
					for attempt := 1; attempt <= attempts; attempt++ {
						if _, err := p.Create(t.Context(), claim); core.IsInsufficientCapacityError(err) != (attempt == attempts) {
							t.Fatalf("NodeClaim %d, attempt %d: %v", made, attempt, err)
						}
					}
				}
				if err := p.Held(nodeClaim()); err == nil || !strings.Contains(err.Error(), "static NodePool default makes no NodeClaim for") ||
					len(pools.requests) > len(somePlans) {
					t.Errorf("after %d NodeClaims and %d requests: %v", made, len(pools.requests), err)
				}
				if err := p.Held(other); err != nil {
					t.Errorf("another NodePool: %v", err)
				}
				time.Sleep(time.Minute)
				if err := p.Held(nodeClaim()); err != nil {
					t.Errorf("after a minute: %v", err)
				}
			})
		})
	}
}

func TestAStaticNodePoolTakesTheNextTypeAtOnce(t *testing.T) {
	static := nodePool(nil)
	replicas := int64(2)
	static.Spec.Replicas = &replicas
	p := provider(t, "standard", &scripted{t: t, claim: func(ctx context.Context, r request) (node, error) {
		if r.Key.InstanceType == "g6-dedicated-2" {
			return node{}, failing("InsufficientCapacity", "")
		}
		return grant(ctx, r)
	}}, readyClass(), static)
	claim := nodeClaim(requests(corev1.ResourceCPU, "1500m"))
	if _, err := p.Create(t.Context(), claim); !core.IsInsufficientCapacityError(err) {
		t.Errorf("got %v", err)
	}
	if err := p.Held(claim); err != nil {
		t.Errorf("held although another type can be bought: %v", err)
	}
	created, err := p.Create(t.Context(), nodeClaim(requests(corev1.ResourceCPU, "1500m"), func(c *karpv1.NodeClaim) { c.UID = "next" }))
	if err != nil || created.Labels[corev1.LabelInstanceTypeStable] != "g6-standard-2" {
		t.Errorf("the next NodeClaim: %v, %v", created, err)
	}
}

// A NodeClaim that fits nowhere is refused with the resource or the plans that are the reason.
func TestWhyANodeClaimGetsNoPlan(t *testing.T) {
	for words, claim := range map[string]*karpv1.NodeClaim{
		"none of these has cpu 64 (the largest has 4)":             nodeClaim(requests(corev1.ResourceCPU, "64")),
		"none of these has example.com/fpga 1 (the largest has 0)": nodeClaim(requests("example.com/fpga", "1")),
		"no plan has node.kubernetes.io/instance-type = g6-standard-3. Similar: g6-standard-2, g6-standard-4": nodeClaim(
			requires(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "g6-standard-3")),
	} {
		_, err := provider(t, "standard", &scripted{t: t}, readyClass(), nodePool(nil)).Create(t.Context(), claim)
		if !core.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
}
