package cloudprovider

import (
	"fmt"
	"slices"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
)

// withOverlaidPrices makes a plan without a list price available if a NodeOverlay of the NodePool sets its price. It publishes an event
// about the other plans without a price that the NodePool would take. These plans stay unavailable, because a plan without a price would
// count as the cheapest plan.
func (c *CloudProvider) withOverlaidPrices(nodePool *karpv1.NodePool, all []*cloudprovider.InstanceType) []*cloudprovider.InstanceType {
	var missing []*cloudprovider.InstanceType
	unpriced := c.market.Unpriced()
	for i, it := range all {
		switch {
		case !slices.Contains(unpriced, it.Name):
		case c.overlaidPrice(nodePool, it) > 0:
			all[i] = it.DeepCopy()
			for _, offering := range all[i].Offerings {
				offering.Available = true
			}
		default:
			missing = append(missing, it)
		}
	}
	if wanted := requirement.Meeting(nodePool.Spec.Template.Spec.Requirements, missing); len(wanted) > 0 && c.cfg.Events != nil {
		var names []string
		for _, it := range wanted {
			names = append(names, it.Name)
		}
		c.events.publish(nodePool, events.Event{Reason: EventPlanWithoutPrice, DedupeValues: names, DedupeTimeout: unpricedSilence,
			Message: fmt.Sprintf("The Linode API lists no price in %s for %s, so the operator does not buy them: set settings.plans.prices "+
				"(PLANS_PRICES), or give them a price by a NodeOverlay", c.cfg.Region, requirement.List(names))})
	}
	return all
}

// overlaidPrice returns the price that NodeOverlays set for the instance type in the NodePool, 0 if they set no price.
func (c *CloudProvider) overlaidPrice(nodePool *karpv1.NodePool, it *cloudprovider.InstanceType) float64 {
	if c.cfg.Overlays == nil {
		return 0
	}
	overlaid, err := c.cfg.Overlays.ApplyAll(nodePool.Name, []*cloudprovider.InstanceType{it})
	if err != nil || len(overlaid) != 1 || len(overlaid[0].Offerings) == 0 || !overlaid[0].Offerings[0].IsPriceOverlaid() {
		return 0
	}
	return overlaid[0].Offerings[0].Price
}
