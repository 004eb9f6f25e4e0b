package cloudprovider

import karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

// Images is implemented by a Backend whose nodes are made from an image that a class sets.
type Images interface {
	// Image returns the image of a node as it was last read, "" for an unknown one.
	Image(instanceID int) string
}

// withImage sets status.imageID of a NodeClaim that a node stands for, where the Backend has images.
func (c *CloudProvider) withImage(instanceID int, claim *karpv1.NodeClaim, err error) (*karpv1.NodeClaim, error) {
	if of, ok := c.backend.(Images); ok && err == nil {
		claim.Status.ImageID = of.Image(instanceID)
	}
	return claim, err
}
