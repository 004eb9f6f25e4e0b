package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func disk(size string) *v1alpha1.Disk { return &v1alpha1.Disk{Size: resource.MustParse(size)} }

func TestTheRootDiskFollowsFromPlanAndClass(t *testing.T) {
	plan := catalog.Plan{ID: "g6-standard-1", Disk: 51200}
	for _, test := range []struct {
		name  string
		class *v1alpha1.LinodeNodeClassSpec
		size  int
		fits  bool
	}{
		{"no class", nil, 51200, true},
		{"a class without disks", &v1alpha1.LinodeNodeClassSpec{}, 51200, true},
		{"swap", &v1alpha1.LinodeNodeClassSpec{SwapSize: new(512)}, 50688, true},
		{"swap by its other name", &v1alpha1.LinodeNodeClassSpec{SwapSizeAlpha: new(512)}, 50688, true},
		{"a root disk", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("25Gi")}, 25600, true},
		{"a root disk of all", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("50Gi")}, 51200, true},
		{"a root disk of all, and swap", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("50Gi"), SwapSize: new(1)}, 51200, false},
		{"a root disk larger than the plan's", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("51Gi")}, 52224, false},
		{"a root disk in decimal units", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("25G")}, 23841, true},
		{"a root disk that Linode refuses", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("8191Mi")}, 8191, false},
		{"data disks", &v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{SDB: disk("20Gi"), SDH: disk("10Gi")}}, 20480, true},
		{"root and data disks", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("20Gi"),
			DataDisks: &v1alpha1.DataDisks{SDB: disk("20Gi"), SDC: disk("10Gi")}}, 20480, true},
		{"root and data disks of more than all", &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("20Gi"),
			DataDisks: &v1alpha1.DataDisks{SDB: disk("20Gi"), SDC: disk("11Gi")}}, 20480, false},
		{"data disks that leave too little", &v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{SDB: disk("43Gi")}}, 7168, false},
		{"data disks that leave nothing", &v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{SDB: disk("60Gi")}}, -10240, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if size, fits := catalog.RootDisk(plan, test.class); size != test.size || fits != test.fits {
				t.Errorf("the root disk has %d MiB and fits: %t; expected %d and %t", size, fits, test.size, test.fits)
			}
		})
	}
}

// A class's disks decide the planned sizes in instance mode. In lke mode they have no effect.
func TestDisksOfAClassAreInTheCapacity(t *testing.T) {
	class := &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("60Gi"), DataDisks: &v1alpha1.DataDisks{SDB: disk("15Gi")}}
	const rootDisk = 61440 << 20
	for mode, want := range map[v1alpha1.Mode]struct {
		storage int64
		small   bool // a g6-standard-1 can be bought
	}{
		v1alpha1.ModeInstance: {rootDisk / 100 * 98 / ki * ki, false},
		v1alpha1.ModeLKE:      {163840 << 20 / 100 * 98 / ki * ki, true},
	} {
		_, c := simulated(t, catalog.Config{Region: "us-ord", Mode: mode})
		it := named(t, c.InstanceTypes(class), "g6-standard-4")
		if got := it.Capacity[corev1.ResourceEphemeralStorage]; got.Value()/(1<<30) != want.storage/(1<<30) {
			t.Errorf("in %s mode a g6-standard-4 has %d, want %d", mode, got.Value(), want.storage)
		}
		if !it.Offerings[0].Available {
			t.Errorf("in %s mode a g6-standard-4 cannot be bought", mode)
		}
		small := named(t, c.InstanceTypes(class), "g6-standard-1") // 50 GiB
		if got := small.Offerings[0].Available; got != want.small {
			t.Errorf("in %s mode a g6-standard-1 can be bought: %t", mode, got)
		}
		if !named(t, c.InstanceTypes(nil), "g6-standard-1").Offerings[0].Available {
			t.Errorf("in %s mode another class cannot buy a g6-standard-1", mode)
		}
	}
}

// A pod that does not fit on the root disk gets no plan, however large the plan's disk is: the pod could not run on the node.
func TestAPodLargerThanTheRootDiskFitsNoPlan(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord", Mode: v1alpha1.ModeInstance})
	wanted := resource.MustParse("30Gi")
	for _, it := range c.InstanceTypes(&v1alpha1.LinodeNodeClassSpec{OSDisk: disk("25Gi")}) {
		if has := it.Allocatable()[corev1.ResourceEphemeralStorage]; has.Cmp(wanted) >= 0 {
			t.Errorf("%s would have %s for a root disk of 25Gi", it.Name, has.String())
		}
	}
}

// The figures of a node whose class sets the root disk's size teach nothing about other nodes of the plan, and the figures of other nodes
// teach nothing about such a node.
func TestARootDiskOfAClassIsNotLearned(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord", Mode: v1alpha1.ModeInstance})
	storage := func(class *v1alpha1.LinodeNodeClassSpec) int64 {
		return named(t, c.InstanceTypes(class), "g6-standard-4").Capacity.StorageEphemeral().Value()
	}
	own := &v1alpha1.LinodeNodeClassSpec{OSDisk: disk("100Gi")}
	whole, part := storage(nil), storage(own)
	c.Learn(map[string]catalog.Figures{"g6-standard-4": {EphemeralStorage: 103000 << 20}})
	if storage(nil) != whole || storage(own) != part {
		t.Errorf("a root disk of 100Gi changed %d and %d to %d and %d", whole, part, storage(nil), storage(own))
	}
	c.Learn(map[string]catalog.Figures{"g6-standard-4": {EphemeralStorage: 160000 << 20}})
	if storage(nil) != 160000<<20 || storage(own) != part {
		t.Errorf("the plan's whole disk is %d, of which a root disk is %d", storage(nil), storage(own))
	}
}
