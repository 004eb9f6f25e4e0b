package cloudprovider_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// On 2026-09-17 the API listed all GPU plans with a base price of 0.
func TestPlansWithoutAListPrice(t *testing.T) {
	const gpu = "g2-gpu-rtx4000a1-s"
	listed := append(slices.Clone(somePlans), api.LinodeType{ID: gpu, Class: "gpu", VCPUs: 4, GPUs: 1, Memory: 16384, Disk: 512000})
	price := "0.4"
	overlaid := overlay("gpu", karpv1alpha1.NodeOverlaySpec{Requirements: on(corev1.LabelInstanceTypeStable, gpu), Price: &price})
	wantsGPUs := func(p *karpv1.NodePool) {
		p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: v1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: []string{"gpu"}},
		}
	}
	wantsNone := func(p *karpv1.NodePool) {
		p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: v1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: []string{"standard"}},
		}
	}
	for name, c := range map[string]struct {
		prices    string
		objects   []client.Object
		change    func(*karpv1.NodePool)
		available bool
		price     float64
		event     bool
	}{
		"no price":                              {change: wantsGPUs, event: true},
		"no price, a NodePool of other plans":   {change: wantsNone},
		"a price by the settings":               {prices: "g2-gpu-*=0.35", change: wantsGPUs, available: true, price: 0.35},
		"a price by a NodeOverlay":              {objects: []client.Object{overlaid}, change: wantsGPUs, available: true, price: 0.4},
		"a list price is not changed by prices": {prices: "g6-standard-1=9,g2-gpu-*=0.35", change: wantsGPUs, available: true, price: 0.35},
	} {
		t.Run(name, func(t *testing.T) {
			prices, err := selection.ParsePrices(c.prices)
			if err != nil {
				t.Fatal(err)
			}
			market := catalog.NewCatalog(listed, catalog.Config{Region: "us-ord", Prices: prices})
			if err := market.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			pool := nodePool(nil)
			c.change(pool)
			kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(c.objects, readyClass(), pool)...).
				WithStatusSubresource(&karpv1alpha1.NodeOverlay{}).Build()
			store, told := nodeoverlay.NewInstanceTypeStore(), record.NewFakeRecorder(10)
			p := cloudprovider.New(kube, over(&scripted{t: t}), market,
				cloudprovider.Config{Region: "us-ord", Overlays: store, Events: quietly(told)})
			now := clock.NewFakeClock(metav1.Now().Time)
			if _, err := nodeoverlay.NewController(now, kube, p, store, state.NewCluster(now, kube, p)).Reconcile(t.Context(),
				reconcile.Request{}); err != nil {
				t.Fatal(err)
			}
			for len(told.Events) > 0 {
				<-told.Events
			}
			p = cloudprovider.New(kube, over(&scripted{t: t}), market,
				cloudprovider.Config{Region: "us-ord", Overlays: store, Events: quietly(told)})
			all, err := p.GetInstanceTypes(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			if all, err = store.ApplyAll(pool.Name, all); err != nil {
				t.Fatal(err)
			}
			it := all[slices.IndexFunc(all, func(it *core.InstanceType) bool { return it.Name == gpu })]
			if o := it.Offerings[0]; o.Available != c.available || o.Price != c.price {
				t.Errorf("available %v for %v, want %v for %v", o.Available, o.Price, c.available, c.price)
			}
			cheap := all[slices.IndexFunc(all, func(it *core.InstanceType) bool { return it.Name == "g6-standard-1" })]
			if got := cheap.Offerings[0].Price; got != 0.018 {
				t.Errorf("g6-standard-1 costs %v", got)
			}
			if (len(told.Events) == 1) != c.event {
				t.Fatalf("%d events", len(told.Events))
			}
			if c.event {
				if text := <-told.Events; !strings.Contains(text, "PlanWithoutPrice") || !strings.Contains(text, "settings.plans.prices") ||
					!strings.Contains(text, gpu) {
					t.Error(text)
				}
			}
		})
	}
}
