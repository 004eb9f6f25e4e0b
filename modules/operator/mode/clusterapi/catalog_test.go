package clusterapi

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// offered returns the instance types of deployments over the catalogue of the simulator.
func offered(t *testing.T, o *objects) *market {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	of := catalog.NewCatalog(api, catalog.Config{Region: region, Mode: v1alpha1.ModeClusterAPI})
	if err := of.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := newView(o, region, of.HourlyUSD)
	if err := v.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &market{Catalog: of, view: v, region: region}
}

func byName(all []*core.InstanceType) map[string]*core.InstanceType {
	result := map[string]*core.InstanceType{}
	for _, it := range all {
		result[it.Name] = it
	}
	return result
}

// Several deployments of one type are one instance type with several offerings. A type without a deployment is not offered.
func TestDeploymentsOfOneTypeAreOfferingsOfOneInstanceType(t *testing.T) {
	c := offered(t, newObjects(t, of("a", "g6-standard-2"), priced(of("b", "g6-standard-2"), "0.01"), of("c", "g6-standard-4")))
	types := c.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{})
	if len(types) != 2 {
		t.Fatalf("%d instance types", len(types))
	}
	two := byName(types)["g6-standard-2"]
	listed, _ := c.view.hourly("g6-standard-2")
	var prices []float64
	for _, o := range two.Offerings {
		prices = append(prices, o.Price)
		if !o.Available || o.Requirements.Get(corev1.LabelTopologyZone).Any() != region {
			t.Errorf("%+v", o)
		}
	}
	if listed <= 0.01 || !slices.Equal(prices, []float64{0.01, listed}) {
		t.Errorf("prices %v; want the contract's and the catalogue's, %v", prices, listed)
	}
	if two.Capacity.Cpu().Value() != 2 || two.Capacity.Memory().IsZero() || two.Overhead == nil {
		t.Errorf("%+v", two.Capacity)
	}
}

// A deployment that cannot be used is no offering that Karpenter may choose, and neither is a plan that was refused lately.
func TestWhatCannotBeMadeIsNotAvailable(t *testing.T) {
	c := offered(t, newObjects(t, refused(of("a", "g6-standard-2"), "paused"), of("b", "g6-standard-4")))
	types := byName(c.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{}))
	if o := types["g6-standard-2"].Offerings; len(o) != 1 || o[0].Available {
		t.Errorf("a refused deployment: %+v", o)
	}
	if !types["g6-standard-4"].Offerings[0].Available {
		t.Error("the other is not available")
	}
	c.Launches().Failed(launches.Launch{Plan: "g6-standard-4"}, &claims.Error{Kind: claims.KindInsufficientCapacity})
	if byName(c.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{}))["g6-standard-4"].Offerings[0].Available {
		t.Error("a plan without capacity is available")
	}
}

// For other infrastructure, size and price come from the deployment.
func TestATypeThatIsNoPlanHasTheSizeAndPriceOfItsDeployment(t *testing.T) {
	other := of("other", "machines")
	other.Annotations = map[string]string{clusterapi.HourlyPriceAnnotation: "0.3"}
	o := newObjects(t, other)
	o.templates["machines"] = parse(t, withCapacity)
	types := byName(offered(t, o).InstanceTypes(nil))
	it := types["other"]
	if it == nil || it.Capacity.Cpu().Value() != 4 || len(it.Offerings) != 1 || it.Offerings[0].Price != 0.3 || !it.Offerings[0].Available {
		t.Errorf("%+v", it)
	}
	if it.Requirements.Get(corev1.LabelInstanceTypeStable).Any() != "other" {
		t.Errorf("%s", it.Requirements)
	}
}
