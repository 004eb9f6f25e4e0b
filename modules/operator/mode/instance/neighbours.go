package instance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/cloudcontroller"
)

// CloudController reads the flags of the cloud controller manager, nil if it finds none. *cloudcontroller.Reader implements it.
type CloudController interface {
	Flags(ctx context.Context) (*cloudcontroller.Flags, error)
}

// VPCs reads VPCs. *nodeclass.Lookup implements it, and remembers an answer for a while.
type VPCs interface {
	VPC(ctx context.Context, id int) (*status.VPC, error)
}

// Neighbours are the settings with which a class's network is compared.
type Neighbours struct {
	CloudController CloudController // nil = classes are not compared
	VPCs            VPCs            // nil = the labels of VPCs, by which the manager knows them, are not known
}

// beside compares a class's Linodes with the settings of the cloud controller manager. If the settings cannot be read, it finds nothing.
func (b *Backend) beside(ctx context.Context, class *v1alpha1.LinodeNodeClass, generation instances.Generation,
	tags []string) status.Finding {
	linodes := cloudcontroller.Linodes{Private: private(class.Spec, generation), Tags: tags}
	if class.Spec.ConnectsVPC() {
		linodes.VPC, linodes.Subnets = *class.Spec.VPCID, map[int]string{}
		var labels map[int]string
		if b.cfg.Neighbours.VPCs != nil {
			if found, err := b.cfg.Neighbours.VPCs.VPC(ctx, linodes.VPC); err == nil && found != nil {
				linodes.VPCLabel, labels = found.Label, found.SubnetLabels
			}
		}
		for _, i := range network(class.Spec, generation).Interfaces {
			if i.VPC != nil {
				linodes.Subnets[i.VPC.SubnetID] = labels[i.VPC.SubnetID]
			}
		}
	}
	var flags *cloudcontroller.Flags
	if b.cfg.Neighbours.CloudController != nil {
		flags, _ = b.cfg.Neighbours.CloudController.Flags(ctx)
	}
	misfit := flags.Misfit(linodes)
	switch {
	case misfit == nil:
		return status.Finding{}
	case misfit.Fatal:
		return status.Finding{Status: metav1.ConditionFalse, Reason: misfit.Reason, Message: misfit.Text}
	}
	return status.Finding{Status: metav1.ConditionTrue, Reason: misfit.Reason, Message: misfit.Text}
}
