package clusterapi

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// check returns the condition MachineDeploymentsReady of a class: which deployments it selects, and why some cannot be used.
func (v *view) check(ctx context.Context, class *v1alpha1.LinodeNodeClass) status.Finding {
	if !v.young() {
		if err := v.refresh(ctx); err != nil {
			return status.Finding{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCheckFailed,
				Message: fmt.Sprintf("the management cluster could not be read: %s", err)}
		}
	}
	return judge(v.selected(&class.Spec), v.machinePools())
}

// judge is the finding about the deployments of a class.
func judge(selected []deployment, machinePools []string) status.Finding {
	var unusable []string
	for _, d := range selected {
		if why := d.unusable(); why != "" {
			unusable = append(unusable, fmt.Sprintf("MachineDeployment %s: %s", d.Name, why))
		}
	}
	pools := ""
	if len(machinePools) > 0 {
		pools = fmt.Sprintf("the MachinePools %s have the label %s, and are not used: a MachinePool cannot remove a chosen machine; "+
			"use MachineDeployments", strings.Join(machinePools, ", "), clusterapi.EnabledLabel)
	}
	found := status.Finding{Status: metav1.ConditionFalse}
	switch {
	case len(selected) == 0 && pools != "":
		found.Reason, found.Message = v1alpha1.ReasonMachinePoolsUnsupported, pools
	case len(selected) == 0:
		found.Reason = v1alpha1.ReasonNoMachineDeployments
		found.Message = fmt.Sprintf("no MachineDeployment of the cluster has the label %s: \"true\" and matches spec.machineDeploymentSelector",
			clusterapi.EnabledLabel)
	case len(unusable) == len(selected):
		found.Reason, found.Message = v1alpha1.ReasonMachineDeploymentsUnusable, strings.Join(unusable, "; ")
	case len(unusable) > 0 || pools != "":
		found.Status, found.Reason = metav1.ConditionTrue, v1alpha1.ReasonSomeMachineDeploymentsUnusable
		if pools != "" {
			unusable = append(unusable, pools)
		}
		found.Message = strings.Join(unusable, "; ")
	default:
		return status.Finding{}
	}
	return found
}
