package cloudprovider

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Delete releases the NodeClaim's node. It returns nil when the removal was accepted and NodeClaimNotFound
// when the instance is proven to be gone.
func (c *CloudProvider) Delete(ctx context.Context, nodeClaim *karpv1.NodeClaim) error {
	c.launches.End(nodeClaim.UID)
	c.noteFailure(ctx, nodeClaim)
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil { // no provider ID, or an ID that no Linode can have
		return c.deleteByName(ctx, nodeClaim)
	}
	return c.release(ctx, id, nodeclaim.Claimant(nodeClaim))
}

// noteFailure counts a node that never joined, once for each NodeClaim. It counts a NodeClaim that was launched more than 14 minutes ago
// and never registered: core gives up and deletes such a NodeClaim after 15 minutes. An earlier deletion has another cause.
func (c *CloudProvider) noteFailure(ctx context.Context, nodeClaim *karpv1.NodeClaim) {
	const joins = 14 * time.Minute
	nodePool, plan := nodeClaim.Labels[karpv1.NodePoolLabelKey], nodeClaim.Labels[corev1.LabelInstanceTypeStable]
	launched, registered := nodeClaim.StatusConditions().Get(karpv1.ConditionTypeLaunched),
		nodeClaim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	if nodePool == "" || registered.IsTrue() || !launched.IsTrue() || time.Since(launched.LastTransitionTime.Time) <= joins {
		return
	}
	pause, counted := c.launches.NeverJoined(nodeClaim.UID, launches.Target{NodePool: nodePool, Plan: plan})
	if !counted {
		return
	}
	if c.cfg.OnNeverJoined != nil {
		c.cfg.OnNeverJoined(plan)
	}
	rests := ""
	if pause > 0 {
		rests = fmt.Sprintf("; this NodePool does not buy the plan for %s", pause)
	}
	if found, err := c.objects.nodePoolOf(ctx, nodeClaim); err == nil {
		c.events.publish(found, events.Event{
			Reason: EventNodesNeverJoin, DedupeValues: []string{nodeClaim.Name}, DedupeTimeout: eventSilence,
			Message: fmt.Sprintf("The node of NodeClaim %s (plan %s) was launched and never joined%s", nodeClaim.Name, plan, rests),
		})
	}
}

// release releases an instance, and returns nil if the Backend cannot remove it yet. Example: the node is the last node of its pool, and
// another NodeClaim waits for a node of this pool. Core calls Delete every five seconds until the instance is proven to be gone, and would
// log an error each time.
func (c *CloudProvider) release(ctx context.Context, id int, by claims.Claimant) error {
	err := c.backend.Release(ctx, id, by)
	if err != nil && claims.KindOf(err) == claims.KindProvisioning {
		return nil
	}
	return lookupError(err)
}

// deleteByName releases the instances that carry the NodeClaim's name in their tag. A NodeClaim whose status was lost has no provider ID
// but may have an instance.
func (c *CloudProvider) deleteByName(ctx context.Context, nodeClaim *karpv1.NodeClaim) error {
	nodes, err := c.backend.List(ctx)
	if err != nil {
		return lookupError(err)
	}
	found := false
	for _, node := range nodes {
		if node.Claim != (claims.Tags{}).Value(nodeClaim.Name) {
			continue
		}
		if err := c.release(ctx, node.InstanceID, nodeclaim.Claimant(nodeClaim)); err == nil {
			found = true
		} else if claims.KindOf(err) == claims.KindConflict {
			continue // the instance belongs to another NodeClaim of the same name
		} else if !cloudprovider.IsNodeClaimNotFoundError(err) {
			return err
		}
	}
	if found {
		return nil
	}
	return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("no instance belongs to NodeClaim %s", nodeClaim.Name))
}
