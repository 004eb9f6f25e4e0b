package cloudprovider

import (
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Wanted is what Create asks for to make a node of a type for a NodeClaim.
func (c *CloudProvider) Wanted(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass, instanceType string) lkepool.Request {
	return request(c.cfg.Cluster, nodeClaim, nodePool, nodeClass, instanceType)
}
