package cloudprovider

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// Why a node is to be replaced, in every mode. Packages of modes have the reasons of one mode alone.
const (
	DriftNodeClass       cloudprovider.DriftReason = "NodeClassDrifted"     // the LinodeNodeClass changed
	DriftInstanceGone    cloudprovider.DriftReason = "InstanceGoneFromPool" // the platform has removed or recycled the node
	DriftInstanceStopped cloudprovider.DriftReason = "InstanceStopped"      // the Linode is off
	// the pool's firewall differs, or the Linode was taken out of it
	DriftFirewall          cloudprovider.DriftReason = "FirewallDrifted"
	DriftKubernetesVersion cloudprovider.DriftReason = "KubernetesVersionDrifted" // the version of the pool, or of the kubelet, differs
	DriftHostMaintenance   cloudprovider.DriftReason = "HostMaintenancePending"   // Linode is going to interrupt the node
)

// IsDrifted returns why the NodeClaim's node differs from what would be made now; empty if it does not. Unknown values never count as
// drift.
func (c *CloudProvider) IsDrifted(ctx context.Context, nodeClaim *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if nodeClaim.Spec.NodeClassRef == nil {
		return "", nil
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	if exists, err := c.objects.read(ctx, v1alpha1.Kind, nodeClaim.Spec.NodeClassRef.Name, nodeClass); err != nil || !exists {
		return "", err // without it there is nothing to compare with; a class that is in use cannot be deleted
	}
	if staticallyDrifted(nodeClaim, nodeClass) {
		return DriftNodeClass, nil
	}
	id, err := nodeclaim.InstanceID(nodeClaim.Status.ProviderID)
	if err != nil {
		return "", cloudprovider.NewNodeClaimNotFoundError(err)
	}
	if c.cfg.HostMaintenance != nil && c.cfg.HostMaintenance(id) {
		return DriftHostMaintenance, nil
	}
	node, err := c.nodes.node(ctx, id)
	if err != nil {
		return "", lookupError(err)
	}
	nodePool, err := c.objects.nodePoolOf(ctx, nodeClaim)
	if err != nil {
		return "", err
	}
	wanted := Launch{NodeClaim: nodeClaim, NodePool: nodePool, NodeClass: nodeClass}
	reason, err := c.confirm(ctx, id, c.backend.Drift(ctx, node, wanted), wanted)
	if err != nil || reason != "" {
		return reason, err
	}
	return c.outdated(ctx, wanted)
}

// confirm accepts a difference when a second reading, of the node itself, shows it too: a list may lag or lack fields. One confirmed
// difference costs one request.
func (c *CloudProvider) confirm(ctx context.Context, id int, suspected cloudprovider.DriftReason, wanted Launch) (cloudprovider.DriftReason,
	error) {
	uid := wanted.NodeClaim.UID
	if suspected == "" {
		c.confirmed.Delete(uid)
		return "", nil
	}
	if known, _ := c.confirmed.Get(uid); known == suspected {
		return suspected, nil
	}
	node, err := c.backend.Get(ctx, id)
	if err != nil {
		return "", lookupError(err)
	}
	if c.backend.Drift(ctx, node, wanted) != suspected {
		return "", nil
	}
	c.confirmed.Set(uid, suspected, time.Hour)
	return suspected, nil
}

// versionGrace is the age from which a node can drift by its version: LKE may still make nodes of the old version shortly after an upgrade.
const versionGrace = time.Hour

// outdated returns DriftKubernetesVersion for a node whose kubelet is older than the kubelet of a new node.
func (c *CloudProvider) outdated(ctx context.Context, wanted Launch) (cloudprovider.DriftReason, error) {
	nodeClaim := wanted.NodeClaim
	registered := nodeClaim.StatusConditions().Get(karpv1.ConditionTypeRegistered)
	if nodeClaim.Status.NodeName == "" || !registered.IsTrue() || time.Since(registered.LastTransitionTime.Time) < versionGrace {
		return "", nil
	}
	node := &corev1.Node{}
	if exists, err := c.objects.read(ctx, "Node", nodeClaim.Status.NodeName, node); err != nil || !exists {
		return "", err
	}
	if node.Spec.ProviderID == nodeClaim.Status.ProviderID &&
		c.backend.Outdated(ctx, node.Status.NodeInfo.KubeletVersion, wanted) {
		return DriftKubernetesVersion, nil
	}
	return "", nil
}

// OlderMinor returns whether a kubelet is of an earlier minor version than the control plane; false when either is unknown.
func OlderMinor(kubelet, controlPlane string) bool {
	node, err := version.ParseGeneric(kubelet)
	if err != nil {
		return false
	}
	cluster, err := version.ParseGeneric(controlPlane)
	return err == nil && node.LessThan(version.MajorMinor(cluster.Major(), cluster.Minor()))
}

// staticallyDrifted compares the hash a NodeClaim was made with to the class's. Hashes of different versions,
// and a missing hash, prove nothing.
func staticallyDrifted(nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) bool {
	made, is := nodeClaim.Annotations, nodeClass.Annotations
	const hash, version = v1alpha1.AnnotationHash, v1alpha1.AnnotationHashVersion
	return made[hash] != "" && is[hash] != "" && made[version] == is[version] && made[hash] != is[hash]
}
