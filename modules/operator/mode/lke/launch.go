package lke

import (
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
)

// fieldIsolation is the name of a pool's field in the Linode API. A class sets this field.
const fieldIsolation = "isolation"

// Claim returns the NodeClaim's node: the node that it has, or a new node.
func (b *Backend) Claim(ctx context.Context, l cloudprovider.Launch) (cloudprovider.Node, error) {
	if err := b.unsupported(l.NodeClass); err != nil {
		return cloudprovider.Node{}, err
	}
	wanted := b.Request(l.NodeClaim, l.NodePool, l.NodeClass, l.InstanceType.Name)
	if b.cfg.UnregisteredTaint != nil && b.cfg.UnregisteredTaint() {
		wanted.Key.Template.Taints = append(wanted.Key.Template.Taints, unregistered)
	}
	return read(b.cfg.Pools.Claim(ctx, wanted))
}

// unsupported returns an error for a class that LKE Standard does not support. A class that was Ready before an upgrade of the operator
// may have isolation until it is checked again.
func (b *Backend) unsupported(class *v1alpha1.LinodeNodeClass) error {
	if class.Spec.Isolation == nil || b.cfg.Cluster.Tier != lke.Standard {
		return nil
	}
	return claims.Invalid("claim", fieldIsolation, "only nodes of an LKE Enterprise cluster can be without public addresses; "+
		"remove spec.isolation from LinodeNodeClass %s", class.Name)
}

// Request returns the request with which Claim makes a node of a type for a NodeClaim, without the taint for unregistered nodes.
func (b *Backend) Request(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool, nodeClass *v1alpha1.LinodeNodeClass,
	instanceType string) lkepool.Request {
	return lkepool.Request{
		Claimant: nodeclaim.Claimant(nodeClaim),
		Key: lkepool.Key{
			NodePool:     nodeClaim.Labels[karpv1.NodePoolLabelKey],
			InstanceType: instanceType,
			Template:     template(b.cfg.Cluster, nodeClaim, nodePool, nodeClass),
		},
		PoolTags: identityTags(b.cfg.Cluster.Name, nodeClaim, nodeClass),
		Tags:     slices.Clone(nodeClass.Spec.Tags),
	}
}

// template returns the settings that all nodes of an LKE pool share. Startup taints are not in it, because LKE would put them back after
// their removal. Karpenter puts all other labels and taints of the NodeClaim on the Node when the Node registers.
func template(cluster Cluster, nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool,
	nodeClass *v1alpha1.LinodeNodeClass) lkepool.Template {
	t := lkepool.Template{
		Labels:         poolLabels(nodeClaim, nodePool),
		Taints:         poolTaints(nodeClaim.Spec.Taints),
		DiskEncryption: string(nodeClass.Spec.DiskEncryption),
	}
	if isolation := nodeClass.Spec.Isolation; isolation != nil {
		t.Isolation = lkepool.Isolation{PublicIPv4: choice(isolation.PublicIPv4), PublicIPv6: choice(isolation.PublicIPv6)}
	}
	if nodeClass.Spec.FirewallID != nil {
		t.FirewallID = *nodeClass.Spec.FirewallID
	}
	if cluster.Tier == lke.Enterprise { // pools of the Standard tier have no version of their own
		t.KubernetesVersion = nodeClass.Status.KubernetesVersion
	}
	return t
}

// choice returns the text of a setting, "" if the class leaves it to LKE.
func choice(wanted *bool) string {
	if wanted == nil {
		return ""
	}
	return strconv.FormatBool(*wanted)
}

// unregistered is Karpenter's taint for nodes that are not registered, in the form of a pool's taint. It is not in the template, because
// it is no reason to replace a node: whether a pool has it depends on a setting, and on whether LKE has put the taint back before.
var unregistered = lkepool.Taint{Key: karpv1.UnregisteredTaintKey, Effect: string(karpv1.UnregisteredNoExecuteTaint.Effect)}

// poolLabels returns the labels of the NodePool's template that the NodeClaim has and that LKE accepts.
func poolLabels(nodeClaim *karpv1.NodeClaim, nodePool *karpv1.NodePool) map[string]string {
	labels := map[string]string{}
	if nodePool == nil {
		return labels
	}
	for key := range nodePool.Spec.Template.Labels {
		if value, ok := nodeClaim.Labels[key]; ok && lke.CheckLabel(key, value) == nil {
			labels[key] = value
		}
	}
	return labels
}

// poolTaints returns the taints that LKE accepts. It is not known whether LKE accepts reserved words in a taint's key, so Karpenter puts
// such a taint on the Node instead. Karpenter's own taints come and go during a node's life and never belong on a pool.
func poolTaints(taints []corev1.Taint) []lkepool.Taint {
	var result []lkepool.Taint
	for _, t := range taints {
		taint := lkepool.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
		if !strings.HasPrefix(t.Key, apis.Group+"/") && lke.CheckTaint(taint) == nil && !strings.Contains(t.Key, "kubernetes.io") &&
			!strings.Contains(t.Key, "linode.com") {
			result = append(result, taint)
		}
	}
	return result
}

// identityTags returns the tags that name the owner of a pool or an instance. lkepool adds the NodeClaim's tag to instances.
func identityTags(cluster string, nodeClaim *karpv1.NodeClaim, nodeClass *v1alpha1.LinodeNodeClass) []string {
	return append(cloudprovider.OwnerTags(cluster, nodeClaim, nodeClass),
		claims.Tag(v1alpha1.TagLKEManaged, "true"), claims.Tag(v1alpha1.TagLKEClusterName, cluster))
}
