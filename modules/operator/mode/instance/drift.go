package instance

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/imageversion"
)

// Drift reasons of a Linode, in addition to the reasons of every mode.
const (
	DriftNetwork core.DriftReason = "NetworkDrifted" // the Linode was taken out of the class's VPC
	// new nodes get another image, and the class replaces for that
	DriftImage          core.DriftReason = "ImageDrifted"
	DriftPlacementGroup core.DriftReason = "PlacementGroupDrifted" // the Linode is in none of the class's placement groups
	DriftRegion         core.DriftReason = "RegionDrifted"         // new nodes are made in another region
)

// Drift compares a Linode with a new Linode. An unknown value is no difference. A change of the class is found by its hash.
func (b *Backend) Drift(ctx context.Context, node cloudprovider.Node, l cloudprovider.Launch) core.DriftReason {
	switch node.Health {
	case claims.Deleting:
		return cloudprovider.DriftInstanceGone
	case claims.Stopped:
		return cloudprovider.DriftInstanceStopped
	}
	is, known := node.Own.(instances.Instance)
	groups := l.NodeClass.Spec.Groups()
	switch {
	case !known:
		return ""
	case is.Region != "" && is.Region != b.cfg.Cluster.Region:
		return DriftRegion
	case l.NodeClass.Spec.ImageDriftPolicy == v1alpha1.ImageDriftReplace && len(l.NodeClass.Status.Images) > 0 && is.Image != "" &&
		is.Image != imageOf(l.NodeClass):
		return DriftImage
	case len(groups) > 0 && !slices.ContainsFunc(groups, func(g v1alpha1.PlacementGroup) bool { return g.ID == is.PlacementGroup }):
		return DriftPlacementGroup
	}
	return b.detached(ctx, node.InstanceID, l)
}

// Outdated returns whether a node's Kubernetes is older than a new node's would be. It returns true in two cases only: the operator
// installs Kubernetes on the node, or the class has ClusterMinor and no node proves that its image has another version. In all other
// cases the version comes with the image: a replacement would have the same version, and would be replaced again.
func (b *Backend) Outdated(ctx context.Context, kubelet string, l cloudprovider.Launch) bool {
	settings := ptr.Deref(l.NodeClass.Spec.Bootstrap, v1alpha1.Bootstrap{})
	how, err := bootstrap.TypeOf(string(l.NodeClass.Spec.BootstrapType()))
	if err != nil {
		return false
	}
	if l.NodeClass.Spec.FollowsCluster() {
		if !cloudprovider.OlderMinor(kubelet, b.controlPlaneVersion(ctx)) {
			return false
		}
		differs, err := b.imageDiffers(ctx, l.NodeClass)
		return err == nil && differs == nil
	}
	if !how.Installs(settings.InstallerURL) {
		return false
	}
	wanted := settings.KubernetesVersion
	if wanted == "" {
		wanted = b.controlPlaneVersion(ctx)
	}
	return cloudprovider.OlderMinor(kubelet, wanted)
}

// controlPlaneVersion returns the version of the API server. If the version cannot be read now, it returns the last version that was
// read, or "".
func (b *Backend) controlPlaneVersion(ctx context.Context) string {
	found, _ := b.cfg.Joined.Cluster(ctx)
	return found.Version
}

// ImageVersions finds a node that proves that the image of a class has another version than the control plane. *imageversion.Reader
// implements it.
type ImageVersions interface {
	Differs(ctx context.Context, class *v1alpha1.LinodeNodeClass, wanted imageversion.Wanted) (*imageversion.Differs, error)
}

var _ cloudprovider.Versions = (*Backend)(nil)

// VersionDiffers returns a message if the class has ClusterMinor and its new nodes join with another minor version than the control plane
// has. Otherwise it returns "".
func (b *Backend) VersionDiffers(ctx context.Context, class *v1alpha1.LinodeNodeClass) (string, error) {
	differs, err := b.imageDiffers(ctx, class)
	if err != nil || differs == nil {
		return "", err
	}
	return fmt.Sprintf("spec.bootstrap.kubernetesVersion is %s and the control plane has %s, but the newer node %s of image %s "+
		"joined with kubelet %s; Karpenter replaces no node for its version until the class has an image or preJoinCommands with a kubelet of %s",
		v1alpha1.ClusterMinor, differs.Want, differs.Node, differs.Image, differs.Have, differs.Want), nil
}

func (b *Backend) imageDiffers(ctx context.Context, class *v1alpha1.LinodeNodeClass) (*imageversion.Differs, error) {
	wanted := b.controlPlaneVersion(ctx)
	if b.cfg.ImageVersions == nil || !class.Spec.FollowsCluster() || wanted == "" {
		return nil, nil
	}
	return b.cfg.ImageVersions.Differs(ctx, class,
		imageversion.Wanted{Version: wanted, Image: imageOf(class), Hash: class.Hash(v1alpha1.ModeInstance)})
}
