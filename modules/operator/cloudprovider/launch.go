package cloudprovider

import (
	"context"
	"fmt"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Launch describes the node to make: for which NodeClaim, from which class, of which instance type. NodePool is nil if the NodePool no
// longer exists. InstanceType and Labels are nil if no instance type is chosen.
type Launch struct {
	NodeClaim    *karpv1.NodeClaim
	NodePool     *karpv1.NodePool
	NodeClass    *v1alpha1.LinodeNodeClass
	InstanceType *cloudprovider.InstanceType
	Labels       map[string]string // of every node of the instance type, in addition to the NodeClaim's labels
}

// claim claims a node within the deadline of one Create. It refuses an instance that another NodeClaim's status names: otherwise the
// removal of either NodeClaim would remove the node of both.
func (c *CloudProvider) claim(ctx context.Context, l Launch) (Node, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CreateDeadline)
	defer cancel()
	start := time.Now()
	node, err := c.backend.Claim(ctx, l)
	c.cfg.OnClaim(l.NodeClaim.Labels[karpv1.NodePoolLabelKey], launches.Outcome(err, c.lke()), time.Since(start))
	if err != nil || c.cfg.Holder == nil {
		return node, err
	}
	if holder, ok := c.cfg.Holder(node.InstanceID); ok && holder != nodeclaim.Claimant(l.NodeClaim) {
		return node, &claims.Error{Kind: claims.KindConflict, Op: "claim", Effect: claims.EffectUnknown,
			Err: fmt.Errorf("instance %d belongs to NodeClaim %s by its status", node.InstanceID, holder.Name)}
	}
	return node, nil
}
