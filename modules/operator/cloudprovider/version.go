package cloudprovider

import (
	"context"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Versions is an optional interface of a Backend whose nodes have the Kubernetes version of their image.
type Versions interface {
	// VersionDiffers returns a message if new nodes of a class join with another version than the control plane's. It returns "" if the
	// versions are equal or the class does not follow the cluster's version. It reads from memory.
	VersionDiffers(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (string, error)
}

// VersionDiffers implements Versions. It returns "" in modes whose images have no Kubernetes version.
func (c *CloudProvider) VersionDiffers(ctx context.Context, nodeClass *v1alpha1.LinodeNodeClass) (string, error) {
	if of, ok := c.backend.(Versions); ok {
		return of.VersionDiffers(ctx, nodeClass)
	}
	return "", nil
}
