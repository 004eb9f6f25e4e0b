package cloudprovider

import (
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Cheapest returns the instance type that Create buys for a NodeClaim, for programs that explain or predict it.
func Cheapest(all []*cloudprovider.InstanceType, nodeClaim *karpv1.NodeClaim) (*cloudprovider.InstanceType, error) {
	return cheapest(all, nodeClaim, true)
}
