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

// Reboot starts the NodeClaim's instance again. First it reads the instance and checks the NodeClaim's name in its tag: with the provider
// ID alone, a forged status could reboot any Linode of the account.
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

// Conditions that node-problem-detector sets. True means that the node is broken.
const (
	kernelDeadlock            corev1.NodeConditionType = "KernelDeadlock"
	readonlyFilesystem        corev1.NodeConditionType = "ReadonlyFilesystem"
	containerRuntimeUnhealthy corev1.NodeConditionType = "ContainerRuntimeUnhealthy"
)

// anyReason limits a policy to its condition: core uses the policy without a reason as the fallback for all conditions.
const anyReason = ".*"

// defaultToleration is longer than the time in which LKE itself reboots a broken Linode.
const defaultToleration = 10 * time.Minute

// RepairPolicies returns the conditions of a broken node, with the time that core waits and the repair. Core reboots a node at most twice
// in 24 hours and then replaces it. A grace period of 0 means that core does not wait for pods, because a silent kubelet cannot end them.
// For core a condition is never older than its Node, and its age begins anew after a reboot.
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
