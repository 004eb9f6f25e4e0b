package cloudprovider

import (
	"context"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
)

// Unbuyable returns why a NodePool can get no node now, "" if it can. What its LinodeNodeClass lacks is no part of it: core's own
// condition shows that.
func (c *CloudProvider) Unbuyable(ctx context.Context, nodePool *karpv1.NodePool) string {
	all, err := c.GetInstanceTypes(ctx, nodePool)
	if err != nil {
		return ""
	}
	if _, missing := c.missing.Load(nodePool.Name); missing {
		return ""
	}
	if err := impossible(all, nodePool, !c.cfg.RelaxMinValues); err != nil {
		return bounded(err.Error())
	}
	wanted := requirement.Meeting(nodePool.Spec.Template.Spec.Requirements, all)
	var names []string
	for _, it := range wanted {
		if len(it.Offerings.Available()) > 0 {
			return ""
		}
		names = append(names, it.Name)
	}
	if len(names) == 0 {
		return "no plan meets its requirements together"
	}
	return fmt.Sprintf("none of the %d plans that meet its requirements can be bought now; its events contain the reason: %s", len(names),
		bounded(requirement.List(names)))
}
