package cloudprovider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// Unbuyable returns why a NodePool can get no node now, "" if it can. It does not report a class that is not Ready or does not exist:
// core's own condition shows this.
func (c *CloudProvider) Unbuyable(ctx context.Context, nodePool *karpv1.NodePool) string {
	all, err := c.GetInstanceTypes(ctx, nodePool)
	if err != nil {
		return ""
	}
	if _, missing := c.objects.missing.Load(nodePool.Name); missing {
		return ""
	}
	if err := impossible(all, nodePool, !c.cfg.RelaxMinValues); err != nil {
		return printable.Message(err.Error())
	}
	wanted := requirement.Meeting(nodePool.Spec.Template.Spec.Requirements, all)
	if len(wanted) == 0 {
		return "no plan meets all of its requirements"
	}
	if slices.ContainsFunc(wanted, func(it *cloudprovider.InstanceType) bool { return len(it.Offerings.Available()) > 0 }) {
		return ""
	}
	return printable.Message(fmt.Sprintf("none of the %d plans that meet its requirements can be bought now: %s", len(wanted),
		c.unbought(ctx, nodePool, wanted)))
}

// unbought returns why no plan is bought for the NodePool: one reason that excludes all plans, or the reason for each plan.
func (c *CloudProvider) unbought(ctx context.Context, nodePool *karpv1.NodePool, plans []*cloudprovider.InstanceType) string {
	if err := reservedTaint(nodePool); err != nil {
		return err.Error()
	}
	if refusal, is := c.refusal(nodePool, c.objects.classOf(ctx, nodePool)); is {
		return "its launches are refused until a user changes the NodePool or its LinodeNodeClass: " + refusal.Message
	}
	byReason := map[string][]string{}
	for _, it := range plans {
		reason := c.planReason(nodePool.Name, it.Name)
		byReason[reason] = append(byReason[reason], it.Name)
	}
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		texts = append(texts, fmt.Sprintf("%s: %s", reason, requirement.List(byReason[reason])))
	}
	return strings.Join(texts, "; ")
}

// Overdue returns which plans of a NodePool rest because LKE accepted a purchase and made no Linode, with the possible causes. It returns
// "" if no plan rests for this cause.
func (c *CloudProvider) Overdue(nodePool *karpv1.NodePool) string {
	var plans []string
	for _, it := range requirement.Meeting(nodePool.Spec.Template.Spec.Requirements, c.market.InstanceTypes(nil)) {
		if cause, is := c.launches.Resting(it.Name); is && cause == launches.Overdue {
			plans = append(plans, it.Name)
		}
	}
	if len(plans) == 0 {
		return ""
	}
	return printable.Message(fmt.Sprintf("LKE has accepted purchases of %s and made no Linode, so the operator tries other plans for now: %s",
		requirement.List(plans), launches.Silence))
}

// planReason returns why one plan is not bought for a NodePool whose launches are not refused.
func (c *CloudProvider) planReason(nodePool, plan string) string {
	if cause, is := c.launches.Resting(plan); is {
		return cause.Text()
	}
	switch {
	case c.launches.Pausing(nodePool, plan):
		return "earlier launches failed: see the condition NodesJoining and the events"
	case slices.Contains(c.market.Unpriced(), plan):
		return "the Linode API lists no price, and settings.plans.prices has none"
	}
	return "the region does not offer the plan, or its disk is too small for the LinodeNodeClass"
}
