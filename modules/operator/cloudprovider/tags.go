package cloudprovider

import (
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// OwnerTags returns the tags with the cluster, class and NodePool that an instance is for, in every mode.
func OwnerTags(cluster string, nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) []string {
	tags := []string{clusterTag(cluster), claims.Tag(v1alpha1.TagNodeClass, nodeClass.Name)}
	if nodePool := nodeClaim.Labels[karpv1.NodePoolLabelKey]; nodePool != "" {
		tags = append(tags, claims.Tag(v1alpha1.TagNodePool, nodePool))
	}
	return tags
}

// clusterTag returns kubernetes.io/cluster/<cluster>=owned. Here the key carries the name, so the key is
// shortened: a tag has at most 50 characters, and 22 + 32 + 6 would be too many for the longest label.
func clusterTag(cluster string) string {
	room := claims.MaxTagLength - len(v1alpha1.TagClusterPrefix) - len("="+v1alpha1.TagClusterOwned)
	return v1alpha1.TagClusterPrefix + claims.Shorten(cluster, room) + "=" + v1alpha1.TagClusterOwned
}
