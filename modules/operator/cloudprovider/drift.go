package cloudprovider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Why a node is to be replaced.
const (
	DriftNodeClass         cloudprovider.DriftReason = "NodeClassDrifted"         // the LinodeNodeClass changed
	DriftInstanceGone      cloudprovider.DriftReason = "InstanceGoneFromPool"     // LKE has removed or recycled the node
	DriftInstanceStopped   cloudprovider.DriftReason = "InstanceStopped"          // the Linode is off
	DriftPoolLabels        cloudprovider.DriftReason = "PoolLabelsDrifted"        // the pool's labels differ
	DriftPoolTaints        cloudprovider.DriftReason = "PoolTaintsDrifted"        // the pool's taints differ
	DriftFirewall          cloudprovider.DriftReason = "FirewallDrifted"          // the pool's firewall differs
	DriftKubernetesVersion cloudprovider.DriftReason = "KubernetesVersionDrifted" // the pool's version differs
)

// IsDrifted says why the NodeClaim's node differs from what would be made now; empty if it does not.
func (c *CloudProvider) IsDrifted(ctx context.Context, nodeClaim *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if nodeClaim.Spec.NodeClassRef == nil {
		return "", nil
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: nodeClaim.Spec.NodeClassRef.Name}, nodeClass); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil // nothing to compare with; a class that is in use cannot be deleted
		}
		return "", fmt.Errorf("reading LinodeNodeClass %s: %w", nodeClaim.Spec.NodeClassRef.Name, err)
	}
	if staticallyDrifted(nodeClaim, nodeClass) {
		return DriftNodeClass, nil
	}
	node, err := c.nodeOf(ctx, nodeClaim)
	if err != nil {
		return "", lookupError(err)
	}
	nodePool, err := c.nodePoolOf(ctx, nodeClaim)
	if err != nil {
		return "", err
	}
	return drift(node, template(c.cfg.Cluster, nodeClaim, nodePool, nodeClass)), nil
}

// staticallyDrifted compares the hash a NodeClaim was made with to the class's. Hashes of different versions,
// and one that is missing, say nothing.
func staticallyDrifted(nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) bool {
	made, is := nodeClaim.Annotations, nodeClass.Annotations
	if made[v1alpha1.AnnotationHash] == "" || is[v1alpha1.AnnotationHash] == "" {
		return false
	}
	return made[v1alpha1.AnnotationHashVersion] == is[v1alpha1.AnnotationHashVersion] &&
		made[v1alpha1.AnnotationHash] != is[v1alpha1.AnnotationHash]
}

// nodeOf takes the node from the last list, and asks for it alone only if it is not there.
func (c *CloudProvider) nodeOf(ctx context.Context, nodeClaim *karpv1.NodeClaim) (lkepool.Node, error) {
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil {
		return lkepool.Node{}, err
	}
	if node, found, err := c.inventory.find(ctx, id); err != nil || found {
		return node, err
	}
	return c.pools.Get(ctx, id)
}

// drift compares a node, and the pool it is in, with the template it would be made from now.
func drift(node lkepool.Node, wanted lkepool.Template) cloudprovider.DriftReason {
	switch {
	case node.Health == lkepool.Detached || node.Health == lkepool.Deleting:
		return DriftInstanceGone
	case node.Health == lkepool.Stopped:
		return DriftInstanceStopped
	case !maps.Equal(node.Labels, wanted.Labels):
		return DriftPoolLabels
	case !slices.Equal(sortedTaints(withoutUnregistered(node.Taints)), sortedTaints(wanted.Taints)):
		return DriftPoolTaints
	case node.FirewallID != wanted.FirewallID && wanted.FirewallID != 0:
		// Without a firewall in the class LKE Enterprise may choose one; that is no difference.
		return DriftFirewall
	case node.KubernetesVersion != wanted.KubernetesVersion && wanted.KubernetesVersion != "":
		return DriftKubernetesVersion
	}
	return ""
}

// withoutUnregistered leaves out the taint that is there or not by a setting.
func withoutUnregistered(taints []lkepool.Taint) []lkepool.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t lkepool.Taint) bool { return t == unregistered })
}

func sortedTaints(taints []lkepool.Taint) []lkepool.Taint {
	return slices.SortedFunc(slices.Values(taints), func(a, b lkepool.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
}
