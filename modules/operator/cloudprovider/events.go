package cloudprovider

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Reasons of events on a NodePool. Core reports the same on the NodeClaim, which is gone soon afterwards.
const (
	EventTokenRefused              = "TokenRefused"              // on pods and NodeClaims, too
	EventInsufficientCapacity      = "InsufficientCapacity"      // the region has no more of a plan
	EventPurchaseOverdue           = "PurchaseOverdue"           // LKE has accepted a purchase of a plan, and no Linode came
	EventPlanRefused               = "PlanRefused"               // LKE does not take a plan
	EventAccountLimit              = "AccountLimitReached"       // the account, or the cluster, may not have more
	EventCeilingReached            = "CeilingReached"            // the settings allow no more nodes, or none that cost as much
	EventNoCompatibleInstanceTypes = "NoCompatibleInstanceTypes" // no plan meets the NodePool or its NodeClaim, or no such plan can be bought
	EventPlanWithoutPrice          = "PlanWithoutPrice"          // the API lists no price of a plan that the NodePool would take
	EventNodeTooSmall              = "NodeTooSmall"              // a node has less than the pods need that it was made for
	EventNodesNeverJoin            = "NodesNeverJoin"            // nodes of a plan were launched and never joined
)

// How long an event of the same text on the same NodePool is left out, where nothing else sets the time.
const (
	eventSilence    = 30 * time.Minute
	unpricedSilence = 6 * time.Hour // it changes with a setting or with the price list alone
)

// publishRefusal reports on the NodePool what could not be bought: once for as long as the mark lasts, however many
// NodeClaims were refused.
func (c *CloudProvider) publishRefusal(nodePool *karpv1.NodePool, r catalog.Refusal, err error) {
	reason, message := EventInsufficientCapacity, fmt.Sprintf("Linode has no capacity for %s in %s", r.InstanceType, r.Region)
	if nodePool != nil && (r.Cause == catalog.AccountLimit || r.Cause == catalog.Ceiling) {
		c.limited.Set(nodePool.Name, true, limitMemory)
	}
	switch r.Cause {
	case catalog.Overdue:
		reason, message = EventPurchaseOverdue, fmt.Sprintf("LKE has accepted the purchase of a %s in %s and made no Linode; %s: %s",
			r.InstanceType, r.Region, silentCauses, silentCure)
	case catalog.PlanRefused:
		reason, message = EventPlanRefused, fmt.Sprintf("Linode does not take the plan %s in %s", r.InstanceType, r.Region)
	case catalog.AccountLimit:
		reason, message = EventAccountLimit,
			fmt.Sprintf("Linode refuses one more %s because a limit of the account or of the cluster is reached, "+
				"and %d instance types at least as large are not tried either: ask Linode's support for a higher limit, or remove Linodes",
				r.InstanceType, r.Others)
	case catalog.Ceiling:
		reason, message = EventCeilingReached,
			fmt.Sprintf("%s allows no %s more, nor %d instance types at least as large: %s", ceilingSetting(err), r.InstanceType, r.Others,
				ceilingReason(err))
	}
	c.events.publish(nodePool, events.Event{
		Reason: reason, Message: fmt.Sprintf("%s; not tried again for %s", message, r.Lasts),
		DedupeValues: []string{r.InstanceType}, DedupeTimeout: r.Lasts,
	})
}

// ceilingSetting names the setting that refused a node, as the chart and the environment have it.
func ceilingSetting(err error) string {
	if e, ok := errors.AsType[*claims.Error](err); ok && e.Field == claims.FieldMaxHourlyPrice {
		return "The setting settings.maxHourlyPrice (MAX_HOURLY_PRICE)"
	}
	return "The setting settings.maxNodes (MAX_NODES)"
}

// ceilingReason returns the present and the allowed figure, without the engine's own words around it.
func ceilingReason(err error) string {
	if e, ok := errors.AsType[*claims.Error](err); ok && e.Err != nil {
		return claims.Reason(e.Err)
	}
	return err.Error()
}

// publisher publishes events on NodePools; without a recorder it publishes none.
type publisher struct{ recorder events.Recorder }

// nothingToBuy reports on the NodePool why there is nothing to buy.
func (p publisher) nothingToBuy(nodePool *karpv1.NodePool, err error) {
	p.publish(nodePool, events.Event{Reason: EventNoCompatibleInstanceTypes, Message: err.Error(), DedupeTimeout: eventSilence})
}

func (p publisher) publish(nodePool *karpv1.NodePool, e events.Event) {
	if nodePool == nil || p.recorder == nil {
		return
	}
	e.InvolvedObject, e.Type, e.Message = nodePool, corev1.EventTypeWarning, bounded(e.Message)
	e.DedupeValues = append([]string{string(nodePool.UID), nodePool.Name}, e.DedupeValues...)
	p.recorder.Publish(e)
}
