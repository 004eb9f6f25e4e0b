package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func TestAVolumeOfTheRegionFitsEveryInstanceType(t *testing.T) {
	plan := catalog.Plan{ID: "g6-standard-2", Class: v1alpha1.InstanceClassStandard, VCPUs: 2, Memory: 4096, Disk: 81920,
		Price: api.Price{Hourly: 0.036}}
	it := catalog.Convert(plan, true, catalog.Settings{Region: "us-ord"})
	for region, fits := range map[string]bool{"us-ord": true, "eu-west": false} {
		volume := scheduling.NewNodeSelectorRequirements(corev1.NodeSelectorRequirement{
			Key: "topology.linode.com/region", Operator: corev1.NodeSelectorOpIn, Values: []string{region},
		})
		err := it.Requirements.Compatible(volume, scheduling.AllowUndefinedWellKnownLabels)
		if (err == nil) != fits {
			t.Errorf("a volume in %s on an instance type in us-ord: %v", region, err)
		}
		if err := it.Offerings[0].Requirements.Compatible(volume, scheduling.AllowUndefinedWellKnownLabels); (err == nil) != fits {
			t.Errorf("a volume in %s on an offering in us-ord: %v", region, err)
		}
	}
}

func TestVolumesThatANodeTakes(t *testing.T) {
	swap := v1alpha1.LinodeNodeClassSpec{SwapSize: new(512)}
	data := v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{SDB: disk("10Gi"), SDC: disk("10Gi")}, SwapSizeAlpha: new(512)}
	all := v1alpha1.LinodeNodeClassSpec{SwapSize: new(512), DataDisks: &v1alpha1.DataDisks{
		SDB: disk("1Gi"), SDC: disk("1Gi"), SDD: disk("1Gi"), SDE: disk("1Gi"), SDF: disk("1Gi"), SDG: disk("1Gi"), SDH: disk("1Gi"),
	}}
	for _, c := range []struct {
		name, plan string
		mode       v1alpha1.Mode
		class      *v1alpha1.LinodeNodeClassSpec
		want       int
	}{
		{"2 GiB", "g6-standard-1", v1alpha1.ModeLKE, nil, 7},
		{"8 GiB", "g6-standard-4", v1alpha1.ModeLKE, nil, 7},
		{"16 GiB", "g6-standard-6", v1alpha1.ModeLKE, nil, 15},
		{"64 GiB", "g6-standard-16", v1alpha1.ModeLKE, nil, 63},
		{"192 GiB", "g6-standard-32", v1alpha1.ModeLKE, nil, 63},
		{"instance mode, one disk", "g6-standard-2", v1alpha1.ModeInstance, nil, 7},
		{"swap", "g6-standard-2", v1alpha1.ModeInstance, &swap, 6},
		{"swap has no effect in lke mode", "g6-standard-2", v1alpha1.ModeLKE, &swap, 7},
		{"data disks and swap", "g6-standard-6", v1alpha1.ModeInstance, &data, 12},
		{"data disks have no effect in lke mode", "g6-standard-6", v1alpha1.ModeLKE, &data, 15},
		{"more disks than volumes", "g6-standard-4", v1alpha1.ModeInstance, &all, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, market := simulated(t, catalog.Config{Region: "us-ord", Mode: c.mode})
			limits := named(t, market.InstanceTypes(c.class), c.plan).VolumeAttachmentLimits
			if len(limits) != 1 || limits["linodebs.csi.linode.com"] != c.want {
				t.Errorf("%v, want %d", limits, c.want)
			}
		})
	}
}
