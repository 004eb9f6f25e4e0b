package cloudprovider

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

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
