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

// Drift reasons of every mode. The package of a mode has the reasons that only this mode uses.
const (
	DriftNodeClass       cloudprovider.DriftReason = "NodeClassDrifted"     // the LinodeNodeClass changed
	DriftInstanceGone    cloudprovider.DriftReason = "InstanceGoneFromPool" // the platform has removed or recycled the node
	DriftInstanceStopped cloudprovider.DriftReason = "InstanceStopped"      // the Linode is off
	// the pool has another firewall than its class, or the API refuses to put the Linode behind the firewall of its class
	DriftFirewall          cloudprovider.DriftReason = "FirewallDrifted"
	DriftKubernetesVersion cloudprovider.DriftReason = "KubernetesVersionDrifted" // the version of the pool, or of the kubelet, differs
	DriftHostMaintenance   cloudprovider.DriftReason = "HostMaintenancePending"   // Linode is going to interrupt the node
)

// IsDrifted returns why the NodeClaim's node differs from the node that Create would make now, "" if it does not. Unknown values never
// count as drift.
func (c *CloudProvider) IsDrifted(ctx context.Context, nodeClaim *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if nodeClaim.Spec.NodeClassRef == nil {
		return "", nil
	}
	nodeClass := &v1alpha1.LinodeNodeClass{}
	if exists, err := c.objects.read(ctx, v1alpha1.Kind, nodeClaim.Spec.NodeClassRef.Name, nodeClass); err != nil || !exists {
		return "", err // without the class there is nothing to compare with; a class that is in use cannot be deleted
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

// confirm returns the suspected drift if a read of the node itself shows the same drift: a list may lag or lack fields. It remembers a
// confirmed drift for an hour, so a drifted node costs one request an hour.
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

// versionGrace is the time after registration from which a node can drift by its kubelet version: LKE may still make nodes of the old
// version shortly after an upgrade.
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

// OlderMinor returns whether a kubelet has an earlier minor version than the control plane. It returns false if a version is unknown.
func OlderMinor(kubelet, controlPlane string) bool {
	node, err := version.ParseGeneric(kubelet)
	if err != nil {
		return false
	}
	cluster, err := version.ParseGeneric(controlPlane)
	return err == nil && node.LessThan(version.MajorMinor(cluster.Major(), cluster.Minor()))
}

// staticallyDrifted returns whether the hash on the NodeClaim differs from the hash on its class. Hashes of different versions, and a
// missing hash, prove nothing.
func staticallyDrifted(nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) bool {
	made, is := nodeClaim.Annotations, nodeClass.Annotations
	const hash, version = v1alpha1.AnnotationHash, v1alpha1.AnnotationHashVersion
	return made[hash] != "" && is[hash] != "" && made[version] == is[version] && made[hash] != is[hash]
}
