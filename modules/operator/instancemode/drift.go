package instancemode

import (
	"context"
	"slices"

	"k8s.io/utils/ptr"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Drift compares a Linode, as it was last read, with one that would be made now. What is not known of it is no difference; a change of
// the class is found by its hash.
func (b *Backend) Drift(ctx context.Context, node lkepool.Node, l cloudprovider.Launch) core.DriftReason {
	switch node.Health {
	case lkepool.Deleting:
		return cloudprovider.DriftInstanceGone
	case lkepool.Stopped:
		return cloudprovider.DriftInstanceStopped
	}
	is, known := b.seen.get(node.InstanceID)
	groups := l.NodeClass.Spec.Groups()
	switch {
	case !known:
		return ""
	case is.Region != "" && is.Region != b.cfg.Region:
		return cloudprovider.DriftRegion
	case l.NodeClass.Spec.ImageDriftPolicy == v1alpha1.ImageDriftReplace && len(l.NodeClass.Status.Images) > 0 && is.Image != "" &&
		is.Image != imageOf(l.NodeClass):
		return cloudprovider.DriftImage
	case len(groups) > 0 && !slices.ContainsFunc(groups, func(g v1alpha1.PlacementGroup) bool { return g.ID == is.PlacementGroup }):
		return cloudprovider.DriftPlacementGroup
	}
	return b.detached(ctx, node.InstanceID, l)
}

var _ cloudprovider.Images = (*Backend)(nil)

// Image returns the image of a Linode as it was last read, "" for an unknown one.
func (b *Backend) Image(instanceID int) string {
	is, _ := b.seen.get(instanceID)
	return is.Image
}

// Outdated is about nodes whose Kubernetes the operator installs. With the other ways to join it comes with the image: a replacement of
// the same image would be as old, and be replaced as well.
func (b *Backend) Outdated(kubelet, controlPlane string, l cloudprovider.Launch) bool {
	settings := ptr.Deref(l.NodeClass.Spec.Bootstrap, v1alpha1.Bootstrap{})
	if !typeOf(l.NodeClass.Spec).Installs(settings.InstallerURL) {
		return false
	}
	wanted := controlPlane
	if settings.KubernetesVersion != "" {
		wanted = settings.KubernetesVersion
	}
	return cloudprovider.OlderMinor(kubelet, wanted)
}
