package lke

import (
	"maps"

	"github.com/samber/lo"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
)

// Drift reasons of a node of a pool, in addition to the reasons of every mode.
const (
	DriftPoolLabels core.DriftReason = "PoolLabelsDrifted" // the pool's labels differ
	DriftPoolTaints core.DriftReason = "PoolTaintsDrifted" // the pool's taints differ
)

// drift compares a node and its pool with the template from which a new node would be made. It compares only values that the template
// sets and that the API has returned. Labels and taints that LKE or a user adds to the pool are no difference.
func drift(node lkepool.Node, wanted lkepool.Template) core.DriftReason {
	switch {
	case node.Health == claims.Detached || node.Health == claims.Deleting:
		return cloudprovider.DriftInstanceGone
	case node.Health == claims.Stopped:
		return cloudprovider.DriftInstanceStopped
	case node.PoolID == 0:
		return "" // without its pool nothing is known of the template
	case node.Labels != nil && !maps.Equal(lo.PickByKeys(node.Labels, lo.Keys(wanted.Labels)), wanted.Labels):
		return DriftPoolLabels
	case node.Taints != nil && !lo.Every(node.Taints, wanted.Taints):
		return DriftPoolTaints
	case node.FirewallID != wanted.FirewallID && wanted.FirewallID != 0 && node.FirewallID != 0:
		// If the class names no firewall, LKE Enterprise may choose one. This is no difference.
		return cloudprovider.DriftFirewall
	case node.KubernetesVersion != wanted.KubernetesVersion && wanted.KubernetesVersion != "" && node.KubernetesVersion != "":
		return cloudprovider.DriftKubernetesVersion
	}
	return ""
}
