package cloudprovider

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
)

// failed records the error of a claim, and turns it into one of core's errors. After an InsufficientCapacityError core deletes the
// NodeClaim and schedules its pods again. After a CreateError core calls Create again, with growing pauses.
func (c *CloudProvider) failed(l Launch, this launches.Attempt, err error) error {
	failed := launches.Launch{LKE: c.lke(), TokenRefused: c.cfg.TokenRefused(), Plan: l.InstanceType.Name, Region: c.cfg.Region,
		Larger: c.market.AtLeastAsLarge(l.InstanceType.Name), NodeClass: l.NodeClass.Name, Attempt: this}
	if l.NodePool != nil {
		failed.NodePool, failed.Static, failed.From = l.NodePool.Name, l.NodePool.Spec.Replicas != nil, sourceOf(l.NodePool, l.NodeClass)
	}
	verdict := c.launches.Failed(failed, err)
	if e := verdict.Event; e.Reason != "" {
		c.events.publish(l.NodePool, events.Event{Reason: e.Reason, Message: e.Message, DedupeValues: e.Values, DedupeTimeout: e.Silence})
	}
	if verdict.GivenUp {
		c.launches.End(l.NodeClaim.UID)
		return cloudprovider.NewInsufficientCapacityError(verdict.Err)
	}
	return cloudprovider.NewCreateError(verdict.Err, verdict.Reason, verdict.Message)
}

// nothingToBuy returns the error after which core deletes a NodeClaim for which no plan can be bought. For a static NodePool core would
// make the next NodeClaim at once, so nothingToBuy holds the NodePool for launches.HeldFor.
func (c *CloudProvider) nothingToBuy(nodePool *karpv1.NodePool, err error) error {
	c.events.nothingToBuy(nodePool, err)
	if nodePool != nil && nodePool.Spec.Replicas != nil {
		c.launches.Hold(nodePool.Name, err.Error())
	}
	return cloudprovider.NewInsufficientCapacityError(err)
}

func (c *CloudProvider) lke() bool { return c.backend.Mode() == v1alpha1.ModeLKE }

// Held returns why no NodeClaim of a static NodePool may be made now, nil if it may.
func (c *CloudProvider) Held(nodeClaim *karpv1.NodeClaim) error {
	name := nodeClaim.Labels[karpv1.NodePoolLabelKey]
	if why, held := c.launches.Held(name); held {
		return fmt.Errorf("static NodePool %s makes no NodeClaim for up to %s, because its last NodeClaim got no node: %s", name,
			launches.HeldFor, why)
	}
	return nil
}

// Failures returns the plans of a NodePool whose launches failed in a row. A node that joins ends the row.
func (c *CloudProvider) Failures(nodePool string) []launches.Pause {
	return c.launches.Pauses(nodePool)
}

// sourceOf returns the versions of the NodePool and the class from which a launch is made.
func sourceOf(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) launches.Source {
	return launches.Source{NodePool: launches.Version{UID: nodePool.UID, Generation: nodePool.Generation},
		NodeClass: launches.Version{UID: nodeClass.UID, Generation: nodeClass.Generation}}
}

// refusal returns why no launch of the NodePool is tried, false if there is no such reason.
func (c *CloudProvider) refusal(nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass) (launches.Refusal, bool) {
	if nodePool == nil || nodeClass == nil {
		return launches.Refusal{}, false
	}
	return c.launches.Refused(sourceOf(nodePool, nodeClass))
}

// ClassRefused returns why no launch from a class is tried, "" if launches are tried.
func (c *CloudProvider) ClassRefused(nodeClass *v1alpha1.LinodeNodeClass) string {
	refusal, _ := c.refusal(&karpv1.NodePool{}, nodeClass)
	return refusal.Message
}

// Limited returns whether a launch of the NodePool was refused lately at a limit of the account or the cluster, or because the
// placement groups of its class are full.
func (c *CloudProvider) Limited(ctx context.Context, nodePool *karpv1.NodePool) bool {
	if c.launches.Limited(nodePool.Name) {
		return true
	}
	refusal, _ := c.refusal(nodePool, c.objects.classOf(ctx, nodePool))
	return refusal.Field == claims.FieldPlacementGroups
}

// TooSmall records a registered node that cannot hold the pods for which its NodeClaim was made. Without the record, core would buy the
// same plan for these pods again and again. With it, the NodePool plans with the resources of this node. Other NodePools keep the figures
// of the catalog, because the report of one kubelet is no proof.
func (c *CloudProvider) TooSmall(ctx context.Context, nodeClaim *karpv1.NodeClaim, node *corev1.Node) {
	plan, name := nodeClaim.Labels[corev1.LabelInstanceTypeStable], nodeClaim.Labels[karpv1.NodePoolLabelKey]
	if name == "" {
		return
	}
	c.launches.TooSmall(launches.Target{NodePool: name, Plan: plan}, node.Status.Allocatable.DeepCopy())
	nodePool, err := c.objects.nodePoolOf(ctx, nodeClaim)
	if err != nil {
		return // the caller calls again with the next change of the NodeClaim
	}
	allocatable := node.Status.Allocatable
	c.events.publish(nodePool, events.Event{
		Reason: EventNodeTooSmall, DedupeValues: []string{nodeClaim.Name}, DedupeTimeout: launches.ShortfallLasts,
		Message: fmt.Sprintf("Node %s, a %s, has allocatable cpu %s, memory %s, ephemeral-storage %s and %s pods, less than the pods "+
			"of NodeClaim %s request; Karpenter now plans with these figures for this NodePool", node.Name, plan, allocatable.Cpu(),
			allocatable.Memory(), allocatable.StorageEphemeral(), allocatable.Pods(), nodeClaim.Name),
	})
}

// lookupError turns the error of a read or a release into core's error. Only claims.KindNotFound becomes NodeClaimNotFound, after which
// core forgets the instance: an engine returns this kind only when the API has proven that the instance is gone.
func lookupError(err error) error {
	if err != nil && claims.KindOf(err) == claims.KindNotFound {
		return cloudprovider.NewNodeClaimNotFoundError(err)
	}
	return err
}
