package cloudprovider

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Reboot starts the NodeClaim's instance again. It reads first that the instance is the NodeClaim's: a provider ID alone would let a
// NodeClaim reboot any Linode of the account.
func (c *CloudProvider) Reboot(ctx context.Context, nodeClaim *karpv1.NodeClaim, operationID string) error {
	if c.cfg.Reboot == nil {
		return cloudprovider.NewNodeRebootNotImplementedError()
	}
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil {
		return cloudprovider.NewNodeClaimNotFoundError(err)
	}
	node, err := c.backend.Get(ctx, id)
	if err != nil {
		return lookupError(err)
	}
	if node.Claim != (claims.Tags{}).Value(nodeClaim.Name) {
		return cloudprovider.NewNodeRebootFailedError(fmt.Errorf("instance %d does not belong to NodeClaim %s by its tags", id, nodeClaim.Name))
	}
	return c.cfg.Reboot(ctx, id, operationID)
}

// Conditions that node-problem-detector sets, True for a node that is broken.
const (
	kernelDeadlock            corev1.NodeConditionType = "KernelDeadlock"
	readonlyFilesystem        corev1.NodeConditionType = "ReadonlyFilesystem"
	containerRuntimeUnhealthy corev1.NodeConditionType = "ContainerRuntimeUnhealthy"
)

// anyReason limits a policy to its condition: core uses the policy without a reason as the fallback for all conditions.
const anyReason = ".*"

// defaultToleration is longer than the time in which LKE reboots a Linode without Karpenter.
const defaultToleration = 10 * time.Minute

// RepairPolicies returns when a node counts as broken, and the repair. Core reboots a node at most twice in 24 hours and then replaces it.
// Core does not wait for pods that a silent kubelet cannot evict. For core a condition is at most as old as its Node, and its age begins
// anew after a reboot.
func (c *CloudProvider) RepairPolicies() []cloudprovider.RepairPolicy {
	patient, hasty := c.cfg.Toleration, c.cfg.Toleration/2
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, ReasonRegex: anyReason, Priority: 100,
			TolerationDuration: patient, TerminationGracePeriod: new(time.Duration(0)), Action: cloudprovider.RebootNode},
		{ConditionType: kernelDeadlock, ConditionStatus: corev1.ConditionTrue, ReasonRegex: anyReason, Priority: 80,
			TolerationDuration: hasty, TerminationGracePeriod: new(time.Duration(0)), Action: cloudprovider.RebootNode},
		{ConditionType: readonlyFilesystem, ConditionStatus: corev1.ConditionTrue, ReasonRegex: anyReason, Priority: 60,
			TolerationDuration: hasty, TerminationGracePeriod: new(5 * time.Minute), Action: cloudprovider.RebootNode},
		{ConditionType: containerRuntimeUnhealthy, ConditionStatus: corev1.ConditionTrue, ReasonRegex: anyReason, Priority: 40,
			TolerationDuration: patient, TerminationGracePeriod: new(5 * time.Minute), Action: cloudprovider.RebootNode},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, Priority: 20, // the fallback
			TolerationDuration: patient, TerminationGracePeriod: new(10 * time.Minute), Action: cloudprovider.ReplaceNode},
	}
}
