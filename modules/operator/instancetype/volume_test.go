package instancetype_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
)

func TestAVolumeOfTheRegionFitsEveryInstanceType(t *testing.T) {
	plan := instancetype.Plan{ID: "g6-standard-2", Class: v1alpha1.InstanceClassStandard, VCPUs: 2, Memory: 4096, Disk: 81920,
		Price: api.Price{Hourly: 0.036}}
	it := instancetype.Convert(plan, true, instancetype.Settings{Region: "us-ord"})
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
