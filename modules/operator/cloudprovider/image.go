package cloudprovider

import (
	"context"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

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

// Versions is implemented by a Backend whose nodes have the version of Kubernetes that is in their image.
type Versions interface {
	// VersionDiffers returns with which version new nodes of a class join instead of the control plane's, "" if they do not, or the class
	// does not follow it. It reads from memory.
	VersionDiffers(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (string, error)
}

// VersionDiffers implements Versions; "" where the version does not come with an image.
func (c *CloudProvider) VersionDiffers(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (string, error) {
	if of, ok := c.backend.(Versions); ok {
		return of.VersionDiffers(ctx, nodeClass)
	}
	return "", nil
}
