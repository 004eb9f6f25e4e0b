package clusterapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// check returns the finding for the condition MachineDeploymentsReady of a class: which deployments the class selects, why some cannot be
// used, and which Nodes differ from the templates. nodes reads the Nodes of the cluster.
func (v *view) check(ctx context.Context, nodes client.Reader, class *v1alpha1.LinodeNodeClass) status.Finding {
	if !v.young() {
		if err := v.refresh(ctx); err != nil {
			return status.Finding{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonCheckFailed,
				Message: fmt.Sprintf("the management cluster could not be read: %s", err)}
		}
	}
	selected := v.selected(&class.Spec)
	found := judge(selected, v.machinePools())
	if found.Reason != "" {
		return found
	}
	var all corev1.NodeList
	if err := nodes.List(ctx, &all); err != nil {
		return found // the Nodes are compared at the next check
	}
	if differing := v.differing(selected, all.Items); len(differing) > 0 {
		return status.Finding{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNodesDiffer, Message: strings.Join(differing, "; ")}
	}
	if open := untainted(selected); len(open) > 0 {
		return status.Finding{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnregisteredTaintMissing, Message: fmt.Sprintf(
			"pods may be scheduled on a node before a NodeClaim owns it: add the taint %s:%s to joinConfiguration.nodeRegistration.taints of the "+
				"KubeadmConfigTemplate of MachineDeployment %s", karpv1.UnregisteredTaintKey, corev1.TaintEffectNoExecute, strings.Join(open, ", "))}
	}
	return found
}

// untainted returns the deployments whose KubeadmConfigTemplate lets nodes register without Karpenter's taint.
func untainted(selected []deployment) []string {
	var names []string
	for _, d := range selected {
		tainted := slices.ContainsFunc(d.taints, func(t clusterapi.Taint) bool { return t.Key == karpv1.UnregisteredTaintKey })
		if d.Bootstrap.Kind == "KubeadmConfigTemplate" && d.unusable() == "" && !tainted {
			names = append(names, d.Name)
		}
	}
	return names
}

// differing returns how the labels of initialized Nodes differ from the labels that the current templates of their deployments determine.
func (v *view) differing(selected []deployment, nodes []corev1.Node) []string {
	var differing []string
	for _, node := range nodes {
		m, known := v.machineOf(node.Name)
		i := slices.IndexFunc(selected, func(d deployment) bool { return d.Name == m.Deployment })
		if !known || i < 0 || node.Labels[karpv1.NodeInitializedLabelKey] != "true" || selected[i].outdated(m) {
			continue
		}
		planned := maps.Clone(selected[i].labels)
		planned[corev1.LabelInstanceTypeStable], planned[corev1.LabelTopologyRegion] = selected[i].instanceType, v.region
		for _, key := range slices.Sorted(maps.Keys(planned)) {
			if node.Labels[key] != planned[key] {
				differing = append(differing, fmt.Sprintf("node %s has the label %s=%q, and the templates of MachineDeployment %s determine %q: "+
					"correct the templates", node.Name, key, node.Labels[key], m.Deployment, planned[key]))
			}
		}
	}
	return differing
}

// judge returns the finding about the deployments of a class.
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
